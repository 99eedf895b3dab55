"""The event loop that processes of ours run on."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
from collections.abc import Callable


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's, which is half of what makes a request cheap; asyncio's own where there is none."""
    if importlib.util.find_spec("uvloop") is None:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = importlib.import_module("uvloop").new_event_loop
    return factory
