"""Searching: reads a spill's chunks in order, drives the sweep, and describes the matches that are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from spillcache._async.gate import compute
from spillcache._async.reader import Reader
from spillcache._async.surroundings import Surroundings, read_texts
from spillcache.cursor import Cursor, WalkKind
from spillcache.errors import ArgumentsInvalid, PatternInvalid
from spillcache.ids import parse_id
from spillcache.inventory import Contents, find_result
from spillcache.manifest import Manifest
from spillcache.search import MOST_COUNTED, Found, Match, Matches, Next, Pattern, Stopped, Sweep, compile_pattern
from spillcache.shown import shown_name
from spillcache.terms import Terms

_MOST_SHOWN, _MOST_CONTEXT = 1000, 4096
#: First cursors of results that an answer may come to need, at most.
_MOST_STARTS = 5
#: A search ends after so long, in seconds, and says how far it came: patterns that hosts wait for take a hundredth.
_LONGEST_S = 5.0
#: What a block is worth to a heavy pattern, in bytes of other work: a tenth of a second at worst, so a thread does it.
_HEAVY_WORK = 1 << 30


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
        spill_id = parse_id(spill_id)
        pattern = asked.compiled(binary=False)  # before anything is read: a pattern's faults are its own
        manifest, contents = await self._contents(spill_id, tenant, None)
        if manifest.kind == "bytes":
            pattern = asked.compiled(binary=True)
        number, scope = await _scope(contents, manifest, result)
        stamp = await self._lease(spill_id, manifest, None)
        swept = _Swept()
        await self._sweep(spill_id, manifest, pattern, scope, asked.max_matches, swept)
        around = Surroundings(self._store, spill_id, manifest, contents)
        page_room = self._room(terms)
        shown = []
        for found in swept.found:
            begin = await around.page_start(found.start, scope[0], page_room, terms.wire)
            part = Cursor(WalkKind.PART, begin, stamp, self._new_walk(), begin, scope[1])
            shown.append(await around.match(found, asked.context, scope, self._sign(part, spill_id, tenant)))
        return Matches(
            spill_id=spill_id,
            total=swept.total,
            stopped=swept.stopped,
            searched=swept.searched,
            size=scope[1] - scope[0],
            matches=tuple(shown),
            result=number,
            overran=swept.overran,
            reach=pattern.reach if not pattern.exact else None,
            starts=self._starts(shown, contents, spill_id, stamp, tenant),
        ).within(terms.budget_bytes, terms.wire)

    async def _sweep(
        self,
        spill_id: str,
        manifest: Manifest,
        pattern: Pattern,
        scope: tuple[int, int],
        most: int,
        swept: _Swept,
    ) -> None:
        start, end = scope
        sweep = Sweep(pattern, lines=manifest.kind != "json")
        deadline = self._terms.monotonic() + _LONGEST_S
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

    def _starts(
        self, shown: Sequence[Match], contents: Contents, spill_id: str, stamp: int, tenant: str
    ) -> tuple[Next, ...]:
        """The first cursors of the results that matches lie in."""
        numbers = dict.fromkeys(match.result for match in shown if match.result is not None)
        starts = []
        for number in list(numbers)[:_MOST_STARTS]:
            result = contents.inventory.results[number - 1]
            first = Cursor(WalkKind.RESULT, result.start, stamp, self._new_walk(), result.start, result.end)
            starts.append(Next(number, shown_name(result.name), self._sign(first, spill_id, tenant)))
        return tuple(starts)


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


async def _scope(
    contents: Contents, manifest: Manifest, result: str | int | None
) -> tuple[int | None, tuple[int, int]]:
    """What is searched: everything, or one result, which then has a number from 1."""
    if result is None or (isinstance(result, str) and not result.strip()):
        return None, (0, manifest.size)
    results = contents.inventory.results
    # spelling out twenty thousand names takes a tenth of a second: as much as other work over so many bytes
    place = await compute(4096 * len(results), find_result, contents.inventory, result)
    return place + 1, (results[place].start, results[place].end)
