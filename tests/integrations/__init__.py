"""Tests of the adapters to frameworks."""
