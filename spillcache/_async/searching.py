"""Searching: reads a spill's chunks in order, drives the sweep, and describes the matches that are shown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from spillcache._async.gate import compute
from spillcache._async.reader import Reader, is_named
from spillcache._async.surroundings import Surroundings, read_texts
from spillcache.cursor import Cursor, WalkKind
from spillcache.cut import MIN_ROOM
from spillcache.errors import ArgumentsInvalid, BudgetTooSmall, PatternInvalid
from spillcache.ids import parse_id
from spillcache.inventory import Contents
from spillcache.manifest import Manifest
from spillcache.search import (
    MOST_COUNTED,
    MOST_NEXT,
    Found,
    Match,
    Matches,
    Next,
    Pattern,
    Stopped,
    Sweep,
    compile_pattern,
)
from spillcache.shown import shown_name
from spillcache.terms import Terms

_MOST_SHOWN, _MOST_CONTEXT = 1000, 4096
#: A search ends after so long, in seconds, and says how far it came: patterns that hosts wait for take a hundredth.
_LONGEST_S = 5.0
#: What is around the matches may take so long beyond that, in seconds: what was found shall be shown.
_DESCRIBING_S = 1.0
#: What a block is worth to a heavy pattern, in bytes of other work: a tenth of a second at worst, so a thread does it.
_HEAVY_WORK = 1 << 30

#: What JSON writes as an escape, in a pattern: ends of lines, quotes and backslashes, also in RE2's spelling, and what
#: is beyond ASCII. `\d` and the like are not.
_ESCAPED = re.compile(r'["\n\r\t]|\\[\\nrtsx]|[^\x00-\x7f]')


@dataclass(frozen=True, slots=True)
class Asked:
    """What to search for, and how much to show: matches, and bytes of context on either side of each."""

    pattern: str
    literal: bool
    ignore_case: bool
    max_matches: int
    context: int

    def __post_init__(self) -> None:
        if not 1 <= self.max_matches <= _MOST_SHOWN:
            raise ArgumentsInvalid(f"max_matches must be 1 to {_MOST_SHOWN}")
        if not 0 <= self.context <= _MOST_CONTEXT:
            raise ArgumentsInvalid(f"context must be 0 to {_MOST_CONTEXT} bytes")

    @property
    def may_be_escaped(self) -> bool:
        """Whether JSON may spell what is searched for in other characters."""
        return bool(_ESCAPED.search(self.pattern)) or (self.literal and "\\" in self.pattern)

    def compiled(self, *, binary: bool) -> Pattern:
        """The pattern, for text or for binary data. Raises `PatternInvalid`."""
        return compile_pattern(self.pattern, literal=self.literal, ignore_case=self.ignore_case, binary=binary)


class Searcher(Reader):
    """A reader that searches."""

    async def grep(
        self, spill_id: str, asked: Asked, result: str | int | None, *, tenant: str, terms: Terms
    ) -> Matches:
        """The first matches, as many as fit the budget, and how many there are in all.

        A named result is searched as a text of its own: nothing before or after it is seen.
        """
        pattern = asked.compiled(binary=False)  # before anything is read: a pattern's faults are its own
        searched = await self._searched(parse_id(spill_id), result, tenant)
        if searched.manifest.kind == "bytes":
            pattern = asked.compiled(binary=True)
        deadline = self._terms.monotonic() + _LONGEST_S
        swept = await self._sweep(searched, pattern, asked.max_matches, deadline)
        try:
            room, least_budget = self._room(terms), 0
        except BudgetTooSmall as error:  # for a page from a cursor; what the answer itself needs is yet to be seen
            room, least_budget = MIN_ROOM * len(terms.wire.copies), error.minimum
        shown = await self._described(searched, swept.found, asked.context, room, terms, deadline)
        return Matches(
            spill_id=searched.spill_id,
            total=swept.total,
            stopped=swept.stopped,
            searched=swept.searched,
            size=searched.end - searched.start,
            matches=tuple(shown),
            result=searched.number,
            overran=swept.overran,
            reach=pattern.reach if not pattern.exact else None,
            escapes=searched.manifest.kind in ("json", "ndjson") and asked.may_be_escaped,
            starts=self._starts(searched, shown),
        ).within(terms.budget_bytes, terms.wire, least_budget=least_budget)

    async def _searched(self, spill_id: str, result: str | int | None, tenant: str) -> _Searched:
        """What is searched: everything, or one result, which then has a number from 1. Its lease is renewed."""
        manifest, contents, _ = await self._contents(spill_id, tenant, None)
        number, start, end = None, 0, manifest.size
        if is_named(result):
            place = await self._place(contents, result)
            found = contents.inventory.results[place]
            number, start, end = place + 1, found.start, found.end
        stamp = await self._lease(spill_id, manifest, None)
        return _Searched(spill_id, tenant, manifest, contents, stamp, number, start, end)

    async def _sweep(self, searched: _Searched, pattern: Pattern, most: int, deadline: float) -> _Swept:
        """Find the first matches, at `most` so many, and count all."""
        spill_id, manifest, start, end = searched.spill_id, searched.manifest, searched.start, searched.end
        sweep, swept = Sweep(pattern, lines=manifest.kind != "json"), _Swept()
        async for text in read_texts(self._store, spill_id, manifest, start, end):
            swept.searched += len(text)
            last = swept.searched == end - start
            found = await compute(_HEAVY_WORK if pattern.heavy else len(text), _feed, sweep, text, last)
            swept.found += [one.shifted(start) for one in found[: most - len(swept.found)]]
            swept.total += len(found)
            if not last and (swept.total >= MOST_COUNTED or self._terms.monotonic() > deadline):
                swept.stopped = "count" if swept.total >= MOST_COUNTED else "time"
                break
            if len(swept.found) == most:
                sweep.stop_counting_lines()
        swept.overran = sweep.overran
        if sweep.empty and not swept.total and not swept.stopped:
            raise PatternInvalid("the pattern matches places between characters, and no characters; add some")
        return swept

    async def _described(
        self,
        searched: _Searched,
        found: Sequence[Found],
        context: int,
        room: int,
        terms: Terms,
        deadline: float,
    ) -> list[Match]:
        """The first matches as they are shown, until the budget is certainly full, or time is up.

        Each costs a command or two. `room` is that of the pages that their cursors lead to.
        """

        def late() -> bool:
            return self._terms.monotonic() > deadline + _DESCRIBING_S

        around = Surroundings(self._store, searched.spill_id, searched.manifest, searched.contents, late)
        scope, wire = (searched.start, searched.end), terms.wire
        shown: list[Match] = []
        spent = 0
        for one in found:
            if spent > terms.budget_bytes or (shown and late()):
                break
            begin = await around.page_start(one.start, scope, room, wire)
            cursor = self._first_cursor(searched, WalkKind.PART, begin, searched.end)
            shown.append(await around.match(one, context, scope, cursor))
            spent += wire.element(shown[-1].as_dict())
        return shown

    def _starts(self, searched: _Searched, shown: Sequence[Match]) -> tuple[Next, ...]:
        """The first cursors of the results that matches lie in."""
        numbers = dict.fromkeys(match.result for match in shown if match.result is not None)
        starts = []
        for number in list(numbers)[:MOST_NEXT]:
            result = searched.contents.inventory.results[number - 1]
            cursor = self._first_cursor(searched, WalkKind.RESULT, result.start, result.end)
            starts.append(Next(number, shown_name(result.name), cursor))
        return tuple(starts)

    def _first_cursor(self, searched: _Searched, kind: WalkKind, start: int, end: int) -> str:
        cursor = Cursor(kind, start, searched.stamp, self._new_walk(), start, end)
        return self._sign(cursor, searched.spill_id, searched.tenant)


@dataclass(frozen=True, slots=True)
class _Searched:
    """A spill, and the range of its bytes that is searched: all, or result `number`."""

    spill_id: str
    tenant: str
    manifest: Manifest
    contents: Contents
    stamp: int
    number: int | None
    start: int
    end: int


@dataclass(slots=True)
class _Swept:
    """What a sweep has brought so far."""

    found: list[Found] = field(default_factory=list)
    total: int = 0
    searched: int = 0
    stopped: Stopped | None = None
    overran: bool = False


def _feed(sweep: Sweep, text: memoryview, last: bool) -> list[Found]:
    return list(sweep.feed(text, last=last))
