"""The tests mirror the package; tests/servers starts the real servers they talk to."""
