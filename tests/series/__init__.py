"""Tests of what is told of time series."""
