"""Walks of the compact view without a store, and what a reader makes of their text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from spillcache.compact import CompactText, write_compact
from spillcache.series import find_series
from spillcache.wire import PLAIN, Wire


def pages(text: bytes, room: int, wire: Wire, reach: int) -> Iterator[CompactText]:
    """A whole walk, each page made of no more than `reach` bytes of the payload."""
    table = find_series(text, whole=True)
    at = 0
    while at < len(text):
        base = max(0, at - 7)
        page = write_compact(text[base : at + reach], base, table, at, (0, len(text)), room, wire)
        assert page.end > at
        assert wire.cost(page.text) <= room
        yield page
        at = page.end
    assert at == len(text)


def walked(text: str | bytes, room: int = 900) -> str:
    """The text of a whole walk."""
    raw = text.encode() if isinstance(text, str) else text
    return "".join(page.text for page in pages(raw, room, PLAIN, 4_200))


def squeezed(text: str) -> str:
    """The text without blanks outside strings, of which the view keeps none within what it writes in short."""
    return "".join(part if part.startswith('"') else "".join(part.split()) for part in re.split(r'("[^"]*")', text))


def values(text: str) -> object:
    """All values of a document in their order and spelling: members as pairs, numbers as text."""
    return json.loads(text, parse_float="f".__add__, parse_int="i".__add__, object_pairs_hook=tuple)
