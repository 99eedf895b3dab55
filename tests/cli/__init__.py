"""Tests of the command line: every one runs the real program as a process."""
