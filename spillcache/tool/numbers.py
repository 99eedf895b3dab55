"""Numbers that JSON has no word for: NaN and the infinities, which its writers make null on the way to the agent.

That would turn "not a number" into "no data". So what holds one is never handed on as a value: as part of a payload it
stays what it is.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import orjson


def travels(value: Any) -> bool:
    """Whether a value arrives as what it is, having no such number anywhere in it."""
    try:
        if b"null" not in orjson.dumps(value):
            return True
    except TypeError:  # integers of more than 64 bits, lone surrogates: they do arrive
        pass
    return _is_finite(value)


def _is_finite(value: Any) -> bool:
    """Walks in small steps, which other threads can run between: values may be large."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, float):
            if not isfinite(found):
                return False
        elif isinstance(found, dict):
            waiting.extend(found.values())
        elif isinstance(found, list | tuple):
            waiting.extend(found)
    return True
