"""What Redis holds for each byte of a payload: by what it says of the keys, and by how much it grew."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import redis

from benchmarks import caches, corpora
from benchmarks.figure import Figure, Findings, Spread
from benchmarks.place import served
from benchmarks.scale import Scale, mib, say

#: Bars, as parts of the payload.
NOISE, METRICS = 1.02, 0.55

#: Said of payloads that repeat their results: the inventory lists at most 20,000, and is compressed as one.
_REPEATED = "; names repeat, so the inventory takes less than a real one would"

_PAUSE_S = 0.02  # a closed connection's buffers are freed by the server's own timer, ten times a second
_STEADY = 10


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes of one spill: the payload's, the sum of MEMORY USAGE over its keys, and the growth of used_memory."""

    payload: int
    keys: int
    grown: int


def measure(scale: Scale) -> Findings:
    """All of this file's figures."""
    return Findings(tuple(_figure(*given) for given in _payloads(scale.stored)))


def _payloads(size: int) -> Iterator[tuple[str, bytes, float, str]]:
    yield f"{mib(size)} that do not compress", corpora.noise(size), NOISE, ""
    for name, sample in corpora.samples().items():
        yield name, sample, METRICS, ""
        yield f"{name}, made {mib(size)}", corpora.enlarged(sample, size), METRICS, _REPEATED


def _figure(name: str, payload: bytes, bar: float, caveat: str) -> Figure:
    say(f"footprint: {name}")
    found = footprint(payload)
    by_keys, by_growth = found.keys / found.payload, found.grown / found.payload
    return Figure(
        f"Redis memory per byte: {name}",
        Spread.of([max(by_keys, by_growth)]),  # the less favourable of the two
        unit="× payload",
        bar=f"≤ {bar} × payload",
        limit=bar,
        digits=3,
        note=f"MEMORY USAGE {by_keys:.3f} ×, used_memory grew by {by_growth:.3f} ×{caveat}",
    )


def footprint(payload: bytes) -> Footprint:
    """Store a payload on a server of its own and ask what it takes there.

    It is stored twice, and removed in between: what the server allocates once, for its first client and first key, does
    not belong to any spill.
    """
    with served() as server, redis.Redis.from_url(server.url) as asking:
        with caches.open_sync(server.url) as cache:
            cache.delete(cache.put(payload).spill_id or "")
        before = _settled(asking)
        with caches.open_sync(server.url) as cache:
            cache.put(payload)
        grown = _settled(asking) - before
        keys = list(asking.scan_iter(count=1_000))
        return Footprint(len(payload), sum(asking.memory_usage(key, samples=0) or 0 for key in keys), grown)


def _settled(client: redis.Redis) -> int:
    """used_memory once it stays the same: what closed connections held is then gone."""
    seen, steady = 0, 0
    while steady < _STEADY:
        now = int(client.info("memory")["used_memory"])
        steady = steady + 1 if now == seen else 0
        seen = now
        time.sleep(_PAUSE_S)
    return seen
