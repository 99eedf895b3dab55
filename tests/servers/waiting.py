"""Waiting for something to become true, for as long as it takes and not a fixed time."""

from __future__ import annotations

import time
from collections.abc import Callable

_POLL_S = 0.005


class NeverHappenedError(AssertionError):
    """What was waited for did not come true within its deadline."""


def until(condition: Callable[[], bool], what: str, *, deadline_s: float = 15.0) -> None:
    """Return as soon as `condition()` is true. Raises NeverHappenedError naming `what` after `deadline_s`."""
    deadline = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > deadline:
            raise NeverHappenedError(f"within {deadline_s} s: {what}")
        time.sleep(_POLL_S)
