"""Where a text may be cut: never inside a code point, an escape sequence, or an escaped surrogate pair.

Half a code point is not text, and half a `\\ud83d\\ude00` poisons whoever parses the page. Whether a backslash starts
an escape depends on how many stand before it, so each function takes a text that begins at a safe edge and counts from
there. Pages begin at safe edges, the first one at byte 0, so all agree.
"""

from __future__ import annotations

import re

#: The longest stretch without a safe edge inside: an escaped surrogate pair.
LONGEST_UNIT = 12

_ESCAPE = re.compile(rb"\\u[0-9a-fA-F]{4}|\\.", re.DOTALL)
_HIGH_SURROGATE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}")
_LOW_SURROGATE = re.compile(rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}")


def floor_edge(text: bytes, at: int) -> int:
    """The largest safe edge ≤ `at`, in bytes.

    `text` begins at a safe edge and holds what there is up to 12 bytes past `at`.
    """
    if at >= len(text):
        at = len(text)
    elif text[at] & 0xC0 == 0x80:
        at = _start_of_code_point(text, at)
    if b"\\" not in text[max(0, at - LONGEST_UNIT) : at]:
        return at
    at = _start_of_escape(text, at)
    if (
        at >= 6
        and _LOW_SURROGATE.match(text, at)
        and _HIGH_SURROGATE.match(text, at - 6)
        and _starts_escape(text, at - 6)
    ):
        return at - 6
    return at


def ceil_edge(text: bytes, at: int) -> int:
    """The smallest safe edge ≥ `at`, under the same terms."""
    edge = at
    while floor_edge(text, edge) != edge:
        edge += 1
    return edge


def _start_of_code_point(text: bytes, at: int) -> int:
    for start in range(at - 1, max(-1, at - 4), -1):
        if text[start] & 0xC0 != 0x80:
            return start
    return at  # not UTF-8: any place is as good as another


def _start_of_escape(text: bytes, at: int) -> int:
    for start in range(max(0, at - 5), at):
        if text[start] == 0x5C and _starts_escape(text, start):
            escape = _ESCAPE.match(text, start)
            if escape is not None and start < at < escape.end():
                return start
    return at


def _starts_escape(text: bytes, backslash: int) -> bool:
    """Whether the backslash there is itself unescaped: an even number of them stands before it."""
    before = text[:backslash]
    return (len(before) - len(before.rstrip(b"\\"))) % 2 == 0
