"""The last safe place to cut in a stretch that has no better one.

A place is unsafe inside a UTF-8 code point, between a backslash and what it escapes, inside `\\uXXXX`, and between the
two halves of an escaped surrogate pair. Escapes count everywhere, not only inside JSON strings: a text may hold JSON.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spillcache.scan.bitmaps import Bytes, Ints, Words

#: Bytes that must be known past a place to tell whether it is safe: a `\\uXXXX` that begins there.
LOOKAHEAD = 6
#: The longest unit that is never cut: an escaped surrogate pair.
_LONGEST = 12
_BACKSLASH, _U, _D = 0x5C, 0x75, 0x64
_TO_LOWER = 0x20

Flags = NDArray[np.bool_]


def safe_places(text: Bytes, begins: Words | None, escaped_next: int, wanted: Ints) -> Ints:
    """For each of `wanted` the last safe place that is not after it.

    `begins` marks the backslashes that begin an escape (None: there are none), `escaped_next` is 1 when the byte after
    the bitmap is escaped. `text` goes on for LOOKAHEAD bytes past the bitmap. Each place wanted is at least 18 from the
    start of the text and within the bitmap, or its end.
    """
    place = wanted.copy()
    escapes = None if begins is None else _Escapes(text, begins, escaped_next)
    rest = np.flatnonzero(_inside_code_point(text, place) if escapes is None else escapes.suspect(place))
    for _ in range(_LONGEST):
        unsafe = _inside_code_point(text, place[rest])
        if escapes is not None:
            unsafe |= escapes.inside(place[rest])
        rest = rest[unsafe]
        if not len(rest):
            break
        place[rest] -= 1
    return place


def _inside_code_point(text: Bytes, place: Ints) -> Flags:
    inside: Flags = (text.take(place) & 0xC0) == 0x80
    return inside


class _Escapes:
    """Where escape sequences begin, and what they are."""

    def __init__(self, text: Bytes, begins: Words, escaped_next: int) -> None:
        self._text = text
        after = text[len(begins) * 64] == _BACKSLASH and not escaped_next
        self._begins = np.append(begins.view(np.uint8), np.uint8(after))

    def suspect(self, place: Ints) -> Flags:
        """Places that need a closer look: a continuation byte, or a backslash among the six bytes before."""
        found = _inside_code_point(self._text, place)
        for back in range(1, 7):
            found |= self._text.take(place - back) == _BACKSLASH
        return found

    def inside(self, place: Ints) -> Flags:
        """Places within an escape sequence or an escaped surrogate pair."""
        unsafe = self._begins_at(place - 1)
        hexadecimal = self._is_hex(place)
        for back in range(2, 6):
            if back > 2:
                hexadecimal &= self._is_hex(place - back + 2)
            unsafe |= hexadecimal & self._begins_at(place - back) & (self._text.take(place - back + 1) == _U)
        return unsafe | (self._is_half(place, high=False) & self._is_half(place - 6, high=True))

    def _begins_at(self, place: Ints) -> Flags:
        return (self._begins.take(place >> 3) >> (place & 7).astype(np.uint8) & 1).view(np.bool_)

    def _is_hex(self, place: Ints) -> Flags:
        byte = self._text.take(place)
        found: Flags = (byte - np.uint8(0x30) < 10) | ((byte | _TO_LOWER) - np.uint8(0x61) < 6)
        return found

    def _is_half(self, place: Ints, *, high: bool) -> Flags:
        half: Flags = self._begins_at(place) & (self._text.take(place + 1) == _U)
        half &= (self._text.take(place + 2) | _TO_LOWER) == _D
        third = self._text.take(place + 3)
        if high:
            half &= (third - np.uint8(0x38) < 2) | ((third | _TO_LOWER) - np.uint8(0x61) < 2)
        else:
            half &= (third | _TO_LOWER) - np.uint8(0x63) < 4
        half &= self._is_hex(place + 4) & self._is_hex(place + 5)
        return half
