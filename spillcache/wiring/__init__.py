"""The composition root: the only place that reads settings, makes clients and starts servers.

Everything below takes keyword arguments, so that a test or another composition can hand it what it likes.
"""
