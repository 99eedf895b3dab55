"""Exit codes: how a command ended, as a number. The table for people is in the package's docstring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

FAILED = 1
PARTIAL = 3
NO_MATCH = 4
INTERRUPTED = 130  # 128 + SIGINT, as shells report it
TERMINATED = 143  # 128 + SIGTERM
CLOSED = 141  # 128 + SIGPIPE

#: What a command returns: the status that it printed. NO_MATCH is PARTIAL too, and tells scripts a little more. None is
#: of commands that print no status, and did what they were asked to.
Ending = Literal["COMPLETE", "PARTIAL", "NO_MATCH", "FAILED"]

_CODES: Mapping[Ending | None, int] = {
    None: 0,
    "COMPLETE": 0,
    "PARTIAL": PARTIAL,
    "NO_MATCH": NO_MATCH,
    "FAILED": FAILED,
}


def code_of(ending: Ending | None) -> int:
    """The exit code of a command that came to its end: decided here for all of them, and 0 for nothing partial."""
    return _CODES[ending]
