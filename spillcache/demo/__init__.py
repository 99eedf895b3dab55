"""The demo: an incident replayed on real data, with a real server and real processes.

An agent asked twelve questions in one batch, got 345 KB, was shown a preview, searched the stored text for labels, and
reported series as unavailable whose values were there all the time. `replay` does it again, three ways side by side.
"""
