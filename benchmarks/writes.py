"""Storing the 345 KB batch, over what parsing it and one raw SET of it cost; and what its parts take."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import orjson

from benchmarks import caches, corpora
from benchmarks.figure import Figure, Findings, Spread, Table
from benchmarks.place import served
from benchmarks.scale import Scale, say
from benchmarks.timing import Times, interleave, interleave_async
from spillcache._sync.writer import Upload, _known_to, make_envelope, next_batch, scan_payload
from spillcache.chunks import Chunker
from spillcache.scan import SlabTable
from spillcache.sync import SpillCache

#: The bar: 1.5 ms, what 1.3 times `orjson.loads` takes, and six raw SETs of the payload.
FLOOR_US, PARSES, SETS = 1500, 1.3, 6

_PUT, _LOADS, _SET, _STAGED = "put", "orjson.loads", "raw SET", "put, stage by stage"
_WITH = "put, with a table of series"
_STAGES = ("scan, series", "frames: slabs, compression, digests", "SHA-256", "store", "publish", "envelope")


class Stages:
    """What each stage of a write has taken so far, in ns."""

    def __init__(self) -> None:
        self.times: dict[str, list[int]] = {stage: [] for stage in _STAGES}
        self._since = 0

    def begin(self) -> None:
        """A write begins."""
        self._since = time.perf_counter_ns()

    def ended(self, stage: str) -> None:
        """A stage ended, and the next begins."""
        now = time.perf_counter_ns()
        self.times[stage].append(now - self._since)
        self._since = now


def measure(scale: Scale) -> Findings:
    """All of this file's figures."""
    stages = Stages()
    with served() as server:
        sync, awaited = [], []
        for turn in range(scale.repeats):
            say(f"writes: repeat {turn + 1} of {scale.repeats}")
            with caches.open_sync(server.url, series=False) as cache, caches.open_sync(server.url) as full:
                sync.append(_sync(cache, full, stages, scale.write_rounds))
            awaited.append(asyncio.run(_asyncio(server.url, scale.write_rounds)))
    return Findings((_figure("sync", sync), _figure("asyncio", awaited), _with_series(sync)), (_detail(sync, stages),))


def _sync(cache: SpillCache, full: SpillCache, stages: Stages, rounds: int) -> Times:
    payload, client, stored = corpora.batch(), caches.client_of(cache), list[str]()

    def tidy() -> None:
        while stored:
            cache.delete(stored.pop())

    calls: dict[str, Callable[[int], object]] = {
        _PUT: lambda _: stored.append(cache.put(payload).spill_id),
        _WITH: lambda _: stored.append(full.put(payload).spill_id),
        _LOADS: lambda _: orjson.loads(payload),
        _SET: lambda _: client.set("plain", payload, ex=int(caches.TTL_S)),
        _STAGED: lambda _: stored.append(staged_put(full, payload, stages)),
    }
    return interleave(calls, rounds, warm=3, between=tidy)


async def _asyncio(url: str, rounds: int) -> Times:
    payload, stored = corpora.batch(), list[str]()
    async with caches.open_async(url, series=False) as cache:
        client = caches.async_client_of(cache)

        async def put(_: int) -> None:
            spill_id = (await cache.put(payload)).spill_id
            assert spill_id is not None
            stored.append(spill_id)

        async def parse(_: int) -> Any:
            return orjson.loads(payload)

        async def tidy() -> None:
            while stored:
                await cache.delete(stored.pop())

        calls: dict[str, Callable[[int], Any]] = {
            _PUT: put,
            _LOADS: parse,
            _SET: lambda _: client.set("plain", payload, ex=int(caches.TTL_S)),
        }
        return await interleave_async(calls, rounds, warm=3, between=tidy)


def staged_put(cache: SpillCache, payload: bytes, stages: Stages) -> str:
    """Store a payload as `put` does, but one stage after the other, and return its spill id."""
    store, terms, spill_id = cache._store, cache._terms, cache._new_id()
    stages.begin()
    scanned = scan_payload(payload, terms)
    stages.ended("scan, series")
    chunker, inventory = Chunker(spill_id), scanned.contents.inventory
    chunker.know_results(inventory.results.start, _known_to(inventory))
    frames = [*chunker.feed(payload, scanned.slabs, len(payload)), *chunker.finish(SlabTable.empty())]
    stages.ended("frames: slabs, compression, digests")
    sha256 = hashlib.sha256(payload).digest()
    stages.ended("SHA-256")
    upload, waiting = Upload(store, spill_id, terms, cache.watcher), iter(frames)
    for batch in itertools.takewhile(bool, iter(lambda: next_batch(waiting), None)):
        upload.add(batch)
    stages.ended("store")
    told = (scanned.contents, scanned.summary, scanned.series)
    upload.publish(scanned.kind, len(payload), sha256, *told, tool="", tenant="default")
    stages.ended("publish")
    make_envelope(scanned.ends, scanned.contents, scanned.summary, spill_id, terms)
    stages.ended("envelope")
    return spill_id


def _allowed(times: Times) -> float:
    return FLOOR_US + PARSES * times[_LOADS] + SETS * times[_SET]


def _with_series(runs: list[Times]) -> Figure:
    return Figure(
        "write of 345 KB with its table of series, sync: p50 over without",
        Spread.of(times[_WITH] / times[_PUT] for times in runs),
        note=f"put {Spread.of(times[_WITH] / 1000 for times in runs).median:.2f} ms; the default",
    )


def _figure(side: str, runs: list[Times]) -> Figure:
    def ms(value: Callable[[Times], float]) -> str:
        return f"{Spread.of(value(times) / 1000 for times in runs).median:.2f}"

    return Figure(
        f"write of 345 KB without a table of series, {side}: p50 over what it may take",
        Spread.of(times[_PUT] / _allowed(times) for times in runs),
        bar="≤ 1.5 ms + 1.3 × orjson.loads + 6 × raw SET",
        limit=1.0,
        note=f"put {ms(lambda t: t[_PUT])} ms of {ms(_allowed)} ms; orjson.loads {ms(lambda t: t[_LOADS])} ms, "
        f"raw SET {ms(lambda t: t[_SET])} ms",
    )


def _detail(runs: list[Times], stages: Stages) -> Table:
    rows = [(stage, f"{median(times) / 1000:.0f}") for stage, times in stages.times.items()]
    for name, call in (("all of these, one after the other", _STAGED), ("`put`", _WITH)):
        rows.append((name, f"{Spread.of(times[call] for times in runs).median:.0f}"))
    return Table("Write of 345 KB by stages, sync, p50 in µs", ("stage", "µs"), tuple(rows))
