"""Searching a stored spill: how fast, everything included, and what it holds meanwhile."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass

from benchmarks import caches, corpora
from benchmarks.figure import Figure, Findings, Spread, Table
from benchmarks.place import served
from benchmarks.scale import Scale, mib, say
from benchmarks.timing import interleave
from spillcache.frame import CHUNK_BYTES
from spillcache.search import Matches
from spillcache.sync import SpillCache

#: Bars: MB searched a second (client and server on one core), and chunks held beside the answer.
BAR_MB_S, BAR_CHUNKS = 150.0, 4.0

#: What agents look for: one pattern of each way to be searched. The first has the bar.
PATTERNS = {
    "text that is not there": "cpu_throttled",
    "text that is": "node-a",
    "any case": "(?i)unavailable",
    "repeats": r'"pod":"api-\d+"',
    "digits, which begin everywhere": r"[0-9]+zz",
    "nested repeats": r"(a+)+$",
}

#: What is searched for in the batch, to see what is held meanwhile. Of the last one a match may end anywhere, so all
#: that follows its beginning is kept.
ABSENT, PRESENT, ENDLESS = "no such text", "values", '(?s)"results".*nosuch'

_ROUNDS, _WARM = 3, 1


@dataclass(frozen=True, slots=True)
class Speed:
    """Megabytes a second of one pattern, over the repeats, and how many matches there are."""

    pattern: str
    mb_s: list[float]
    matches: int


def measure(scale: Scale) -> Findings:
    """All of this file's figures."""
    with served() as server, caches.open_sync(server.url) as cache:
        say(f"searches: storing {mib(scale.enlarged * 8)}")
        spill_id, size = _store(cache, scale.enlarged * 8)
        speeds = _speeds(cache, spill_id, size, scale.repeats)
        batch = cache.put(corpora.batch()).spill_id
        assert batch is not None
        held = {
            pattern: [_held(cache, batch, pattern) for _ in range(scale.repeats)]
            for pattern in (ABSENT, PRESENT, ENDLESS)
        }
    return Findings((*_speed_figures(speeds, size), *_held_figures(held)), (_detail(speeds),))


def _store(cache: SpillCache, size: int) -> tuple[str, int]:
    with cache.writer() as writer:
        for block in corpora.blocks(size):
            writer.write(block)
        spill_id = writer.finish().spill_id
    assert spill_id is not None
    return spill_id, cache.stat(spill_id).size


def _speeds(cache: SpillCache, spill_id: str, size: int, repeats: int) -> list[Speed]:
    searches = {name: lambda _, pattern=pattern: cache.grep(spill_id, pattern) for name, pattern in PATTERNS.items()}
    runs = []
    for turn in range(repeats):
        say(f"searches: repeat {turn + 1} of {repeats}")
        runs.append(interleave(searches, _ROUNDS, warm=_WARM))
    return [
        Speed(PATTERNS[name], [size / run[name] for run in runs], cache.grep(spill_id, PATTERNS[name]).total)
        for name in PATTERNS
    ]


def _held(cache: SpillCache, spill_id: str, pattern: str) -> tuple[int, Matches]:
    """Bytes held at the most, by Python and NumPy, and the answer; RE2's own memory is not counted."""
    cache.grep(spill_id, pattern)  # opens connections, and fills what is remembered between calls
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        found = cache.grep(spill_id, pattern)
        return tracemalloc.get_traced_memory()[1] - before, found
    finally:
        tracemalloc.stop()


def _speed_figures(speeds: list[Speed], size: int) -> tuple[Figure, ...]:
    barred = speeds[0]
    return (
        Figure(
            f"searching {mib(size)} of metrics: time a MB, client and server on one core",
            Spread.of(1000 / speed for speed in barred.mb_s),
            unit="ms",
            bar=f"≤ {1000 / BAR_MB_S:.2f} ms ({BAR_MB_S:.0f} MB/s)",
            limit=1000 / BAR_MB_S,
            note=f"{Spread.of(barred.mb_s).median:.0f} MB/s",
        ),
        Figure(
            "the same for the slowest of the patterns below",
            Spread.of(1000 / speed for speed in min(speeds, key=lambda one: Spread.of(one.mb_s).median).mb_s),
            unit="ms",
        ),
    )


def _held_figures(held: dict[str, list[tuple[int, Matches]]]) -> tuple[Figure, ...]:
    chunks = {pattern: Spread.of(peak / CHUNK_BYTES for peak, _ in runs) for pattern, runs in held.items()}
    bar = f"≤ {BAR_CHUNKS:.0f} chunks"
    return (
        Figure(
            "searching the batch, no match: memory held",
            chunks[ABSENT],
            unit="chunks",
            bar=bar,
            limit=BAR_CHUNKS,
            note="the inventory included, which grows with the number of results",
        ),
        Figure(
            "the same with ten matches shown",
            chunks[PRESENT],
            unit="chunks",
            note=f"the answer included; {held[PRESENT][0][1].total} matches in all",
        ),
        Figure(
            f"searching the batch for `{ENDLESS}`, undecided to its end: memory held",
            chunks[ENDLESS],
            unit="chunks",
            bar=bar,
            limit=BAR_CHUNKS,
            note=f"the batch has {len(corpora.batch()) / CHUNK_BYTES:.1f} chunks",
        ),
    )


def _detail(speeds: list[Speed]) -> Table:
    rows = []
    for speed in speeds:
        spread = Spread.of(speed.mb_s)
        rows.append(
            (f"`{speed.pattern}`", f"{speed.matches:,}", f"{spread.median:.0f} ({spread.low:.0f}–{spread.high:.0f})")
        )
    return Table("Searching, by pattern: reading, decompressing and all", ("pattern", "matches", "MB/s"), tuple(rows))
