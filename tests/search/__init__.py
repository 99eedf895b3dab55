"""Tests of searching without a server."""
