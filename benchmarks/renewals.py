"""A read that renews the lease of a very large spill: one PEXPIRE for each of its segments."""

from __future__ import annotations

import asyncio
import time

import redis

from benchmarks import caches, corpora
from benchmarks.figure import Figure, Findings, Spread
from benchmarks.place import served
from benchmarks.scale import Scale, mib, say
from benchmarks.timing import interleave, interleave_async
from spillcache.sync import SpillCache

BAR_MS = 2.0

_WALK_BUDGET = 48_000  # only to have cursors everywhere; a cursor is not bound to a budget
_CURSORS = 400  # more than a round reads, so that no chunk is remembered


def measure(scale: Scale) -> Findings:
    """All of this file's figures."""
    with served() as server:
        say(f"renewals: streaming {mib(scale.longest)}")
        spill_id, cursors = _store(server.url, scale.longest)
        runs: dict[str, list[float]] = {"sync": [], "asyncio": []}
        for turn in range(scale.repeats):
            say(f"renewals: repeat {turn + 1} of {scale.repeats}")
            runs["sync"].append(_sync(server.url, spill_id, cursors, scale.renew_rounds))
            runs["asyncio"].append(asyncio.run(_asyncio(server.url, spill_id, cursors, scale.renew_rounds)))
        ran = _commands(server.url, spill_id, cursors[0])
    return Findings(tuple(_figure(side, times, scale.longest, ran) for side, times in runs.items()))


def _store(url: str, size: int) -> tuple[str, list[str]]:
    with caches.open_sync(url) as cache:
        with cache.writer() as writer:
            for block in corpora.blocks(size):
                writer.write(block)
            spill_id = writer.finish().spill_id
        assert spill_id is not None
        found = [page.next_cursor for page in cache.walk(spill_id, budget=_WALK_BUDGET) if page.next_cursor is not None]
    return spill_id, found[:: max(1, len(found) // _CURSORS)]


def _late() -> float:
    """The clock of a reader who comes when more than a quarter of the lease is over, so that every read renews."""
    return time.time() + caches.TTL_S / 2


def _sync(url: str, spill_id: str, cursors: list[str], rounds: int) -> float:
    with caches.open_sync(url, clock=_late) as cache:
        read = {"read": lambda at: cache.page(spill_id, cursor=cursors[at % len(cursors)])}
        return interleave(read, rounds)["read"] / 1000


async def _asyncio(url: str, spill_id: str, cursors: list[str], rounds: int) -> float:
    async with caches.open_async(url, clock=_late) as cache:
        read = {"read": lambda at: cache.page(spill_id, cursor=cursors[at % len(cursors)])}
        return (await interleave_async(read, rounds))["read"] / 1000


def _commands(url: str, spill_id: str, cursor: str) -> dict[str, int]:
    with caches.open_sync(url, clock=_late) as cache, redis.Redis.from_url(url) as asking:
        _warm(cache, spill_id, cursor)
        before = caches.commands(asking)
        cache.page(spill_id, cursor=cursor)
        return caches.difference(before, caches.commands(asking))


def _warm(cache: SpillCache, spill_id: str, cursor: str) -> None:
    cache.page(spill_id, cursor=cursor)  # opens the connections, which takes commands of its own


def _figure(side: str, times: list[float], size: int, ran: dict[str, int]) -> Figure:
    listed = ", ".join(f"{calls} {name.upper()}" for name, calls in sorted(ran.items()))
    return Figure(
        f"renewing read of a spill of {mib(size)}, {side}: p50",
        Spread.of(times),
        unit="ms",
        bar=f"≤ {BAR_MS:.0f} ms",
        limit=BAR_MS,
        note=listed,
    )
