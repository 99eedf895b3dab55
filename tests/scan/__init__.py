"""Tests of the scan, against a reference that reads byte by byte."""
