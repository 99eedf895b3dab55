"""A private server where nobody configured one: for a quick start, for notebooks, for the command line."""

from __future__ import annotations

from spillcache.embedded.server import (
    EmbeddedServer,
    find_server_binary,
    find_shared,
    start_shared,
    state_directory,
    stop_shared,
)

__all__ = ["EmbeddedServer", "find_server_binary", "find_shared", "start_shared", "state_directory", "stop_shared"]
