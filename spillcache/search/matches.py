"""Matches: what a search answers. It is never the data, and says so."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from spillcache.errors import BudgetTooSmall
from spillcache.search.place import Role
from spillcache.shown import spelled_text
from spillcache.wire import Wire, most_that_fits

#: Matches after which counting ends. Each costs 2 µs, so this is a fifth of a second.
MOST_COUNTED = 100_000
#: Why a search ended early: too many matches to count them all, or too slow a pattern.
Stopped = Literal["count", "time"]

#: Results that are recommended for reading, at most.
MOST_NEXT = 5

_NOT_THE_DATA = "A match is not the data: read on from its cursor before judging."
_ESCAPES = (
    r"JSON may spell this pattern's characters as escapes: the end of a line as \n, a quote in a string as \", a "
    r"backslash as \\, é as \u00e9. Search for that spelling with literal, or for a part without them."
)


@dataclass(frozen=True, slots=True)
class Match:
    """One match: bytes `start` to `end` of the payload.

    `role` says what was matched, `path` the innermost value it begins in, None where the payload is not JSON; then
    `line` (from 1) may be known. `text` is the match with its context, `span` the characters of it that were matched
    (start and end), `cut` when the match is longer than what is shown of it. `cursor` begins a walk there. `result` is
    the number (from 1) of the named result it lies in.
    """

    start: int
    end: int
    role: Role
    text: str
    span: tuple[int, int]
    cut: bool
    cursor: str
    path: str | None = None
    line: int | None = None
    result: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """The match as it is sent."""
        answer: dict[str, Any] = {"bytes": f"{self.start}-{self.end}"}
        if self.path is not None:
            answer["path"] = self.path
        if self.line is not None:
            answer["line"] = self.line
        answer |= {"in": self.role, "text": self.text}
        if self.cut:
            answer["cut"] = True
        return answer | {"cursor": self.cursor}


@dataclass(frozen=True, slots=True)
class Next:
    """A result whose values were not shown, and the cursor of its first page."""

    result: int
    name: str
    cursor: str

    def as_dict(self) -> dict[str, Any]:
        """The recommendation as it is sent."""
        return {"result": self.result, "name": self.name, "cursor": self.cursor}


@dataclass(frozen=True, slots=True)
class Matches:
    """The first matches of a pattern, in the order of the payload.

    `total` counts all of them, unless `stopped`: then there are at least so many. `searched` are the bytes looked at,
    `size` those there were to look at: all of the payload, or of result number `result`. `overran`: a possible match
    that is very long was given up; `reach`: matches of more bytes may be missing. `starts` are the first cursors of
    the results that the matches lie in. `escapes`: the payload is JSON, which may spell the pattern's characters so.
    """

    spill_id: str
    total: int
    searched: int
    size: int
    matches: tuple[Match, ...]
    result: int | None = None
    stopped: Stopped | None = None
    overran: bool = False
    reach: int | None = None
    escapes: bool = False
    starts: tuple[Next, ...] = field(default=(), repr=False)

    @property
    def no_values(self) -> bool:
        """Whether there are matches, and all that are shown are keys or labels."""
        return bool(self.matches) and all(match.role in ("key", "label") for match in self.matches)

    @property
    def read_next(self) -> tuple[Next, ...]:
        """Where to read the values of what was only named: the first cursors of these results, at most five."""
        if not self.no_values:
            return ()
        return tuple(start for start in self.starts if start.result in self._named)[:MOST_NEXT]

    @property
    def note(self) -> str:
        """What this is and what it is not, in words."""
        return " ".join(self._notes())

    def as_dict(self) -> dict[str, Any]:
        """The answer as it is sent. `status` speaks of the data, of which this is never all."""
        answer: dict[str, Any] = {"status": "PARTIAL", "matches_total": self.total}
        if self.stopped:
            answer["search_incomplete"] = True
        answer |= {"shown": len(self.matches), "searched": self.searched, "note": self.note}
        answer["matches"] = [match.as_dict() for match in self.matches]
        if self.read_next:
            answer["read_next"] = [start.as_dict() for start in self.read_next]
        return answer

    def within(self, budget: int, wire: Wire, *, least_budget: int = 0) -> Matches:
        """The same with as many matches as fit into `budget` bytes on the wire, one without its text if need be.

        Raises `BudgetTooSmall`, also for less than `least_budget`, which the pages need that the cursors lead to.
        """

        def size(shown: int) -> int:
            return wire.size(self._only(shown).as_dict())

        shown = most_that_fits(len(self.matches), lambda shown: size(shown) <= budget)
        while shown and size(shown) > budget:  # words differ a little with the number, so the search may be one off
            shown -= 1
        if shown or not self.matches:
            least = self._only(shown)
        else:
            least = replace(
                self, matches=(replace(self.matches[0], text="", span=(0, 0), cut=True),), starts=self.starts[:1]
            )
        needed = max(wire.size(least.as_dict()), least_budget)
        if needed > budget:
            raise BudgetTooSmall(f"the answer of a search cannot be made within {budget} bytes", minimum=needed)
        return least

    def _only(self, shown: int) -> Matches:
        return replace(self, matches=self.matches[:shown])

    @property
    def _named(self) -> set[int]:
        """The results that the matches shown lie in."""
        return {match.result for match in self.matches if match.result is not None}

    def _notes(self) -> Iterator[str]:
        where = "of the payload" if self.result is None else f"of result {self.result} alone"
        if self.stopped:
            why = (
                "there were too many matches to count"
                if self.stopped == "count"
                else "this pattern is slow to search for"
            )
            yield (
                f"The search ended after {self.searched} of {self.size} bytes, because {why}; the rest was not "
                "searched. Ask for a narrower or simpler pattern, or for one result."
            )
        if not self.total:
            yield (
                f"No match in {self.searched} bytes {where}. No match is not the absence of data: it may be written "
                "otherwise. Read the pages before saying that there is none."
            )
            if self.escapes:
                yield _ESCAPES
        elif self.no_values:
            yield (
                f"{self._shown_of_all()} keys or labels; no value was matched. A name that was found says nothing of "
                "its values: read them" + (", each result from its cursor in read_next." if self.read_next else ".")
            )
            yield from self._unlisted()
        else:
            yield _NOT_THE_DATA
        if self.total > len(self.matches) and not self.stopped:
            yield f"{self.total - len(self.matches)} matches are not shown."
        if self.result is not None and self.total:
            yield f"Only result {self.result} was searched."
        if self.overran:
            yield "A possible match that is very long was not followed to its end, so very long matches may be missing."
        if self.reach is not None:
            yield f"Matches of more than {self.reach} bytes may be missing."

    def _unlisted(self) -> Iterator[str]:
        """That read_next does not name every result there is to read."""
        listed, named = len(self.read_next), len(self._named)
        if listed < named:
            yield f"{listed} of {named} results are listed; the others are in the inventory."
        if listed and self.result is None and (self.total > len(self.matches) or self.stopped):
            yield "Results of matches that are not shown are not listed either; the inventory has all."

    def _shown_of_all(self) -> str:
        count = len(self.matches)
        if count == self.total and not self.stopped:
            return "The only match is one of" if count == 1 else f"All {count} matches are"
        return f"All matches shown ({count} of {'at least ' if self.stopped else ''}{self.total}) are"


class Window(NamedTuple):
    """A match with its context: the `text`, the characters of it that were matched, and whether it shows them `cut`."""

    text: str
    span: tuple[int, int]
    cut: bool


def window(before: bytes, match: bytes, after: bytes, most: int, *, binary: bool) -> Window:
    """The text of a match with its context; of a match of more than `most` bytes so many, and nothing behind it.

    What is not seen is spelled as patterns spell it, such as `\\x00`, so that nothing that was matched is missing. A
    character that a match begins or ends within counts as matched.
    """
    cut = len(match) > most
    # In text, half a code point at either end is left out.
    decoder = codecs.getincrementaldecoder("utf-8")("replace" if binary else "ignore")
    head = decoder.decode(before)
    matched = decoder.decode(match[:most])
    halved = bool(decoder.getstate()[0])
    tail = decoder.decode(b"" if cut else after, True)
    if halved:
        matched, tail = matched + tail[:1], tail[1:]
    parts = [spelled_text(part) for part in (head, matched, tail)]
    start, end = len(parts[0]), len(parts[0]) + len(parts[1])
    return Window("".join(parts), (start, end), cut)
