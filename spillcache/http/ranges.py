"""Byte ranges of HTTP: which part of a payload a request asks for (RFC 9110, section 14). Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: One range. More digits than any payload needs are no number here: the range counts as invalid.
_ONE_RANGE = re.compile(r"bytes=[ \t]*([0-9]{0,18})-([0-9]{0,18})[ \t]*", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes `start` to `end` (exclusive); never empty."""

    start: int
    end: int


class RangeUnsatisfiableError(Exception):
    """The payload has none of the bytes that were asked for."""


def requested_span(header: str, size: int) -> Span | None:
    """The part of a payload of `size` bytes that a `Range` header, "" for none, asks for; None for all of it.

    What is not one valid range of bytes is ignored, as the RFC allows: several ranges, another unit, an end before its
    start. The answer is then the whole, and says so. Raises `RangeUnsatisfiableError`.
    """
    found = _ONE_RANGE.fullmatch(header)
    if found is None or found.group(1, 2) == ("", ""):
        return None
    first, last = found.group(1, 2)
    return _from(int(first), int(last) if last else None, size) if first else _suffix(int(last), size)


def _from(first: int, last: int | None, size: int) -> Span | None:
    if last is not None and last < first:
        return None
    if first >= size:
        raise RangeUnsatisfiableError
    return Span(first, size if last is None else min(last + 1, size))


def _suffix(length: int, size: int) -> Span | None:
    if not length:
        raise RangeUnsatisfiableError
    return Span(max(0, size - length), size) if size else None  # of nothing, the last bytes are all there is
