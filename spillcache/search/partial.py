r"""What may still become a match: from a pattern, the pattern of its own beginnings.

A text that comes in blocks ends, at each edge, where it does not end. Of the pattern `foo.*bar` the beginnings are
`f`, `fo`, `foo` and `foo` with anything after it; where one of them reaches the edge, what follows decides. So

    beginnings(one character)  =  nothing at all
    beginnings(AB)             =  beginnings(A) | A beginnings(B)
    beginnings(A|B)            =  beginnings(A) | beginnings(B)
    beginnings(A*), (A+), …    =  A* beginnings(A)

and whatever looks around (`^`, `$`, `\b`) is undecided at the edge like a character. Behind all of it comes `\z`, "here
the block ends", once and last: RE2 then reads backwards from the edge, and stops as soon as nothing can begin there.
The parts of the pattern are copied as they stand; nothing needs to be understood of them but where they end. Syntax:
that of RE2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

_ESCAPE = re.compile(
    r"\\(?:x\{[0-9A-Fa-f]+\}|x[0-9A-Fa-f]{2}|[pP]\{[^}]*\}|[pP].|[0-7]{1,3}|.)",
    re.DOTALL,
)
_CLASS = re.compile(r"\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]", re.DOTALL)
_QUANTIFIER = re.compile(r"(?:([*+?])|\{(\d+)(,(\d*))?\})\??")
_GROUP = re.compile(r"\((?:\?(?:P?<\w+>|([a-zA-Z-]*):))?(?!\?)")
_FLAGS = re.compile(r"\(\?[a-zA-Z-]+\)")
_DEEPEST = 50


@dataclass(frozen=True, slots=True)
class Beginnings:
    """What may still become a match: `pattern` matches it, and the `longest` has so many characters, None: any number.

    Characters that only look around are counted too.
    """

    pattern: str
    longest: int | None


class _Part(NamedTuple):
    """A part of a pattern: its beginnings, None when it has none (as what is empty); how long a match is, at most."""

    text: str
    beginnings: str | None
    longest: int | None


class _Unreadable(Exception):
    """A pattern that this reading does not cover."""


def beginnings(pattern: str) -> Beginnings | None:
    """The beginnings of a valid RE2 pattern; None for what is not covered.

    Not covered are flags that change midway, `\\Q…\\E`, and groups nested more than fifty deep.
    """
    flags = _FLAGS.match(pattern)
    head = flags[0] if flags is not None else ""
    reading = _Reading(pattern, len(head))
    try:
        part = reading.alternatives(0)
    except _Unreadable:
        return None
    if reading.at < len(pattern) or part.beginnings is None:
        return None
    return Beginnings(rf"{head}(?:{part.beginnings})\z", part.longest)


class _Reading:
    def __init__(self, pattern: str, at: int) -> None:
        self._pattern = pattern
        self.at = at

    def alternatives(self, depth: int) -> _Part:
        branches = [self._sequence(depth)]
        while self._next() == "|":
            self.at += 1
            branches.append(self._sequence(depth))
        text = "|".join(branch.text for branch in branches)
        found = _any_of(*(branch.beginnings for branch in branches))
        return _Part(text, found, _largest([branch.longest for branch in branches]))

    def _sequence(self, depth: int) -> _Part:
        parts = []
        while self._next() not in ("", "|", ")"):
            parts.append(self._repeated(self._atom(depth)))
        return _joined(parts)

    def _atom(self, depth: int) -> _Part:
        match self._next():
            case "(":
                return self._group(depth)
            case "[":
                return _Part(self._take(_CLASS), "", 1)
            case "\\":
                escape = self._take(_ESCAPE)
                if escape in (r"\Q", r"\E"):
                    raise _Unreadable
                return _Part(escape, "", 1)
            case one:
                self.at += 1
                return _Part(one, "", 1)

    def _group(self, depth: int) -> _Part:
        opening = _GROUP.match(self._pattern, self.at)
        if opening is None or depth == _DEEPEST:
            raise _Unreadable
        self.at = opening.end()
        inner = self.alternatives(depth + 1)
        self.at += 1
        head = f"(?{opening[1] or ''}:"  # without its name, because it is written more than once
        begun = None if inner.beginnings is None else f"{head}{inner.beginnings})"
        return _Part(f"{head}{inner.text})", begun, inner.longest)

    def _repeated(self, part: _Part) -> _Part:
        quantifier = _QUANTIFIER.match(self._pattern, self.at)
        if quantifier is None:
            return part
        self.at = quantifier.end()
        text = part.text + quantifier[0]
        most = _most_repeats(quantifier)
        longest = None if most is None or part.longest is None else most * part.longest
        if part.beginnings is None or most == 0:
            return _Part(text, None, longest)
        before = "*" if most is None else f"{{0,{most - 1}}}"
        return _Part(text, f"(?:{part.text}){before}(?:{part.beginnings})", longest)

    def _take(self, form: re.Pattern[str]) -> str:
        found = form.match(self._pattern, self.at)
        if found is None:
            raise _Unreadable
        self.at = found.end()
        return found[0]

    def _next(self) -> str:
        return self._pattern[self.at : self.at + 1]


def _joined(parts: list[_Part]) -> _Part:
    """Parts one after the other; halved, so that brackets nest no deeper than the logarithm of their number."""
    if len(parts) < 2:
        return parts[0] if parts else _Part("", None, 0)
    first, second = _joined(parts[: len(parts) // 2]), _joined(parts[len(parts) // 2 :])
    behind = None if second.beginnings is None else f"{first.text}(?:{second.beginnings})"
    longest = None if first.longest is None or second.longest is None else first.longest + second.longest
    return _Part(first.text + second.text, _any_of(first.beginnings, behind), longest)


def _any_of(*beginnings: str | None) -> str | None:
    found = [one for one in beginnings if one is not None]
    return "|".join(found) if found else None


def _largest(lengths: list[int | None]) -> int | None:
    known = [length for length in lengths if length is not None]
    return max(known) if len(known) == len(lengths) else None


def _most_repeats(quantifier: re.Match[str]) -> int | None:
    """How often at most; None for any number of times."""
    sign, exactly, ranged, most = quantifier.groups()
    if sign:
        return 1 if sign == "?" else None
    if ranged:
        return int(most) if most else None
    return int(exactly)
