"""Exit codes. The table for people is in the package's docstring."""

from __future__ import annotations

FAILED = 1
PARTIAL = 3
NO_MATCH = 4
INTERRUPTED = 130  # 128 + SIGINT, as shells report it
TERMINATED = 143  # 128 + SIGTERM
CLOSED = 141  # 128 + SIGPIPE
