"""Tests of the MCP proxy."""
