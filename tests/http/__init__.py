"""Tests of the REST face: every one speaks to a real server over a real socket."""
