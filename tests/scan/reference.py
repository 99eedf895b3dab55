"""The rules for cuts and costs, one byte at a time: slow, and short enough to be believed."""

from __future__ import annotations

from dataclasses import dataclass

from spillcache.scan import LINE_EDGE, NO_EDGE, STRETCH, Kind

_HEX = frozenset(b"0123456789abcdefABCDEF")


@dataclass(frozen=True, slots=True)
class Slab:
    """One cut, and what escaping adds to the bytes since the one before."""

    end: int
    depth: int
    once: int
    twice: int


def escape_starts(text: bytes) -> set[int]:
    """Where escapes begin: a backslash escapes the byte after it, wherever it stands."""
    found = set()
    at = 0
    while at < len(text):
        if text[at] == 0x5C:
            found.add(at)
            at += 1
        at += 1
    return found


def unsafe_places(text: bytes) -> set[int]:
    """Places inside a code point, an escape, or an escaped surrogate pair."""
    unsafe = {at for at, byte in enumerate(text) if byte & 0xC0 == 0x80}
    starts = escape_starts(text)
    for start in starts:
        unsafe.add(start + 1)
        if text[start + 1 : start + 2] == b"u":
            for at in range(start + 2, start + 6):
                if at >= len(text) or text[at] not in _HEX:
                    break
                unsafe.add(at)
        if start + 6 in starts and _half(text, start) == "high" and _half(text, start + 6) == "low":
            unsafe.add(start + 6)
    return unsafe


def _half(text: bytes, start: int) -> str | None:
    digits = text[start + 2 : start + 6]
    if text[start + 1 : start + 2] != b"u" or len(digits) != 4 or not set(digits) <= _HEX:
        return None
    code = int(digits, 16)
    return "high" if 0xD800 <= code < 0xDC00 else "low" if 0xDC00 <= code < 0xE000 else None


def edges(text: bytes, kind: Kind) -> dict[int, int]:
    """Structural cuts and their depth: after commas outside strings, after the line ends of NDJSON and text."""
    if kind in ("text", "csv"):
        return {at + 1: LINE_EDGE for at, byte in enumerate(text) if byte == 0x0A}
    escaped = {start + 1 for start in escape_starts(text)}
    found: dict[int, int] = {}
    depth, in_string = 0, False
    for at, byte in enumerate(text):
        if byte == 0x0A and kind == "ndjson":
            depth, in_string = 0, False
            found[at + 1] = 0
        elif byte == 0x22 and at not in escaped:
            in_string = not in_string
        elif in_string:
            continue
        elif byte == 0x2C:
            found[at + 1] = depth
        elif byte in b"[{":
            depth += 1
        elif byte in b"]}":
            depth = max(0, depth - 1)
    return found


def cost(text: bytes) -> tuple[int, int]:
    """What escaping adds to these bytes, once and twice."""
    once = twice = 0
    for byte in text:
        if byte in b'"\\':
            once, twice = once + 1, twice + 3
        elif byte in b"\b\t\n\f\r":
            once, twice = once + 1, twice + 2
        elif byte < 0x20:
            once, twice = once + 5, twice + 6
    return once, twice


def slabs(text: bytes, kind: Kind, starts: dict[int, int]) -> list[Slab]:
    """The slab table; `starts` are the starts of named results with their depth."""
    found: list[Slab] = []
    candidates, unsafe = edges(text, kind), unsafe_places(text)
    previous = 0
    for begin in range(0, len(text), STRETCH):
        last = begin + STRETCH >= len(text)
        end, depth = (len(text), 0) if last else _choose(begin, candidates, unsafe, starts)
        found.append(Slab(end, depth, *cost(text[previous:end])))
        previous = end
    return found


def _choose(begin: int, candidates: dict[int, int], unsafe: set[int], starts: dict[int, int]) -> tuple[int, int]:
    places = range(begin + 1, begin + STRETCH + 1)
    named = [place for place in places if place in starts]
    if named:
        return named[-1], min(starts[named[-1]], LINE_EDGE)
    there = [place for place in places if place in candidates]
    if there:
        best = min(candidates[place] for place in there)
        return max(place for place in there if candidates[place] == best), min(best, LINE_EDGE)
    return max(place for place in places if place not in unsafe), NO_EDGE
