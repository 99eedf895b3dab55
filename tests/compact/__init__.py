"""Tests of the compact view."""
