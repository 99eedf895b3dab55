"""Reading a page by cursor, over a bare GET of the same bytes by the same client; in small and in large spills."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from typing import Any

import orjson
import redis
import redis.asyncio

from benchmarks import caches, corpora
from benchmarks.figure import Figure, Findings, Spread, Table
from benchmarks.place import has_uvloop, served
from benchmarks.scale import Scale, mib, say
from benchmarks.spills import Read, Spills, store
from benchmarks.timing import WARM, Times, interleave, interleave_async
from spillcache import Page
from spillcache.sync import SpillCache
from spillcache.watch import Watcher

BUDGET = 7_500  #: the default, so that no call has to name it
BAR, BAR_LARGE = 2.0, 1.1
_GET, _DEFAULT, _KEPT = "GET, the store's client", "GET, redis-py's default client", "GET, the store's kept connection"
_WALKED, _SENT = "page, in a walk's order", "page, in a walk's order, serialised"
_APART = "page, nothing of its chunks remembered"
_SEGMENT, _LARGE = "the same in one full segment", "the same in the large spill"


def measure(scale: Scale) -> Findings:
    """All of this file's figures."""
    with served() as server:
        with caches.open_sync(server.url) as cache:
            say(f"pages: storing {mib(scale.large)}")
            assert cache._terms.budget_bytes == BUDGET
            spills = store(cache, copies=scale.copies, large=scale.large, reads=scale.page_rounds + WARM)
            runs = {"sync": [_sync(cache, server.url, spills, scale, turn) for turn in range(scale.repeats)]}
        for loop, factory in _loops().items():
            runs[loop] = [_asyncio(server.url, spills, scale, loop, factory, turn) for turn in range(scale.repeats)]
        counts = _commands(server.url), _first_of_result(server.url)
    figures = [
        figure for side, times in runs.items() for figure in _figures(side, times, spills.large_segments, scale.large)
    ]
    return Findings((*figures, *counts), (_detail(runs),))


def _loops() -> dict[str, Callable[[], asyncio.AbstractEventLoop] | None]:
    loops: dict[str, Callable[[], asyncio.AbstractEventLoop] | None] = {"asyncio": None}
    if has_uvloop():
        loops["asyncio on uvloop"] = importlib.import_module("uvloop").new_event_loop
    return loops


def _sync(cache: SpillCache, url: str, spills: Spills, scale: Scale, turn: int) -> Times:
    say(f"pages: sync, repeat {turn + 1} of {scale.repeats}")
    client, kept, keys = caches.client_of(cache), caches.kept_of(cache), spills.plain

    def read(reads: tuple[Read, ...]) -> Callable[[int], Page]:
        def page(at: int) -> Page:
            spill_id, cursor = reads[at % len(reads)]
            return cache.page(spill_id, cursor=cursor)

        return page

    serialised = read(spills.serialised)
    with redis.Redis.from_url(url) as default:
        calls: dict[str, Callable[[int], object]] = {
            _GET: lambda at: client.get(keys[at % len(keys)]),
            _DEFAULT: lambda at: default.get(keys[at % len(keys)]),
            _KEPT: lambda at: kept.execute("GET", keys[at % len(keys)]),
            _WALKED: read(spills.walked),
            _SENT: lambda at: orjson.dumps(serialised(at).as_dict()),
            _APART: read(spills.apart),
            _SEGMENT: read(spills.segment),
            _LARGE: read(spills.large),
        }
        return interleave(calls, scale.page_rounds)


def _asyncio(url: str, spills: Spills, scale: Scale, loop: str, factory: Any, turn: int) -> Times:
    say(f"pages: {loop}, repeat {turn + 1} of {scale.repeats}")
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(_awaited(url, spills, scale.page_rounds))


async def _awaited(url: str, spills: Spills, rounds: int) -> Times:
    keys = spills.plain
    async with caches.open_async(url) as cache, redis.asyncio.Redis.from_url(url) as default:
        client, kept = caches.async_client_of(cache), caches.async_kept_of(cache)

        def read(reads: tuple[Read, ...]) -> Callable[[int], Any]:
            def page(at: int) -> Any:
                spill_id, cursor = reads[at % len(reads)]
                return cache.page(spill_id, cursor=cursor)

            return page

        serialised = read(spills.serialised)

        async def sent(at: int) -> bytes:
            return orjson.dumps((await serialised(at)).as_dict())

        calls: dict[str, Callable[[int], Any]] = {
            _GET: lambda at: client.get(keys[at % len(keys)]),
            _DEFAULT: lambda at: default.get(keys[at % len(keys)]),
            _KEPT: lambda at: kept.execute("GET", keys[at % len(keys)]),
            _WALKED: read(spills.walked),
            _SENT: sent,
            _APART: read(spills.apart),
            _SEGMENT: read(spills.segment),
            _LARGE: read(spills.large),
        }
        return await interleave_async(calls, rounds)


def _commands(url: str) -> Figure:
    """Redis commands of each page of a walk after its first, which renews the lease."""
    say("pages: counting commands")
    with caches.open_sync(url) as cache, redis.Redis.from_url(url) as asking:
        spill_id = cache.put(corpora.batch()).spill_id
        assert spill_id is not None
        start = caches.commands(asking)
        page = cache.page(spill_id)
        first = caches.difference(start, caches.commands(asking))
        counts, names = [], set[str]()
        while page.next_cursor is not None:
            before = caches.commands(asking)
            page = cache.page(spill_id, cursor=page.next_cursor)
            ran = caches.difference(before, caches.commands(asking))
            counts.append(sum(ran.values()))
            names |= ran.keys()
    return Figure(
        "Redis commands of a page by cursor that does not renew",
        Spread.of(counts),
        unit=" ".join(sorted(names)).upper(),
        bar="exactly 1",
        limit=1,
        exact=True,
        digits=0,
        note=f"{len(counts)} pages; page 1, which renews, takes {sum(first.values())} ({_listed(first)})",
    )


class _RoundTrips(Watcher):
    """Counts the operations on Redis, each of which is one round trip."""

    def __init__(self) -> None:
        self.count = 0

    def redis_used(self, operation: str, waited_s: float, took_s: float) -> None:
        """Count it."""
        self.count += 1


def _first_of_result(url: str) -> Figure:
    """Round trips of the first page of a named result, which finds the result and renews the lease."""
    watcher = _RoundTrips()
    with caches.open_sync(url, watcher=watcher) as cache, redis.Redis.from_url(url) as asking:
        spill_id = cache.put(corpora.batch()).spill_id
        assert spill_id is not None
        counts, ran = [], dict[str, int]()
        for number in range(1, 1 + (cache.stat(spill_id).results or 0)):
            before, trips = caches.commands(asking), watcher.count
            cache.page(spill_id, result=number)
            counts.append(watcher.count - trips)
            ran = caches.difference(before, caches.commands(asking))
    return Figure(
        "Redis round trips of the first page of a named result",
        Spread.of(counts),
        unit="round trips",
        bar="≤ 2",
        limit=2,
        digits=0,
        note=f"{len(counts)} results; each {_listed(ran)}: the lease is renewed with the second",
    )


def _listed(ran: dict[str, int]) -> str:
    return ", ".join(f"{calls} {name.upper()}" for name, calls in sorted(ran.items()))


def _figures(side: str, runs: list[Times], segments: int, size: int) -> list[Figure]:
    def over(what: str, base: str) -> Spread:
        return Spread.of(times[what] / times[base] for times in runs)

    def p50(what: str) -> str:
        return f"{Spread.of(times[what] for times in runs).median:.0f} µs"

    def page(call: str, told: str) -> Figure:
        note = (
            f"page {p50(call)}, GET {p50(_GET)}; over redis-py's default client {over(call, _DEFAULT).median:.2f} ×, "
        )
        note += f"over GET on the kept connection that pages use {over(call, _KEPT).median:.2f} ×"
        what = f"page of {BUDGET:,} bytes, {side}, {told}: p50 over bare GET"
        return Figure(what, over(call, _GET), bar=f"≤ {BAR} ×", limit=BAR, note=note)

    return [
        page(_WALKED, "one process walks"),
        page(_APART, "new to the process"),
        Figure(f"one process walks and serialises, {side}", over(_SENT, _GET), note=f"page {p50(_SENT)}"),
        Figure(
            f"page in {mib(size)} over page in 345 KB, {side}, both new to the process",
            over(_LARGE, _APART),
            bar=f"≤ {BAR_LARGE} ×",
            limit=BAR_LARGE,
            note=f"{segments} segments; in one full segment {over(_SEGMENT, _APART).median:.2f} ×",
        ),
    ]


def _detail(runs: dict[str, list[Times]]) -> Table:
    names = (_GET, _DEFAULT, _KEPT, _WALKED, _SENT, _APART, _SEGMENT, _LARGE)
    rows = tuple(
        (name, *(f"{Spread.of(times[name] for times in one).median:.1f}" for one in runs.values())) for name in names
    )
    return Table(f"One read, p50 in µs ({BUDGET:,} bytes, interleaved call by call)", ("call", *runs), rows)
