"""What stands behind the choices that ARCHITECTURE.md names: each was measured against what it replaced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import zstandard

from benchmarks import caches, corpora
from benchmarks.figure import Findings, Table
from benchmarks.place import served
from benchmarks.scale import Scale
from benchmarks.timing import interleave
from benchmarks.walks import WIRES, fewest
from spillcache import cut
from spillcache.frame import CHUNK_BYTES
from spillcache.sync import SpillCache

CHUNKS = (CHUNK_BYTES // 2, CHUNK_BYTES, 2 * CHUNK_BYTES)
SHARES = (0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2)
BUDGETS = (1_500, 7_500, 48_000)


def measure(scale: Scale) -> Findings:
    """All of this file's tables."""
    with served() as server, caches.open_sync(server.url) as cache:
        return Findings((), (_chunk_sizes(scale), _commands(cache, scale), _tail_shares(cache)))


def _chunk_sizes(scale: Scale) -> Table:
    rows, unpack = [], zstandard.ZstdDecompressor().decompress
    for name, payload in corpora.samples().items():
        packed = {size: _packed(payload, size) for size in CHUNKS}
        calls = {
            str(size): (lambda turn, frames=frames: unpack(frames[turn % len(frames)]))
            for size, frames in packed.items()
        }
        times = interleave(calls, scale.page_rounds)
        for size, frames in packed.items():
            ratio = sum(map(len, frames)) / (size * len(frames))
            rows.append((name, f"{size:,}", f"{ratio:.3f} ×", f"{times[str(size)]:.1f} µs"))
    return Table(
        "Size of a chunk: what compression leaves, and decompressing one",
        ("corpus", "bytes", "left", "p50"),
        tuple(rows),
    )


def _packed(payload: bytes, size: int) -> list[bytes]:
    compress = zstandard.ZstdCompressor(level=1).compress
    return [compress(payload[at : at + size]) for at in range(0, max(len(payload) - size, 1), size)]


def _commands(cache: SpillCache, scale: Scale) -> Table:
    spill_id = cache.put(corpora.batch()).spill_id
    key = cache._store.key(spill_id, 0)
    client = caches.client_of(cache)
    times = interleave(
        {
            "a kept connection, through gate and store": lambda _: cache._store.read(spill_id, 0, ("m", "1")),
            "redis-py's execute_command": lambda _: client.execute_command("HMGET", key, "m", "1"),
        },
        scale.page_rounds,
    )
    rows = tuple((how, f"{took:.1f} µs") for how, took in times.items())
    return Table("The HMGET of a page", ("over", "p50"), rows)


def _tail_shares(cache: SpillCache) -> Table:
    payload = corpora.batch()
    spill_id = cache.put(payload).spill_id
    rows = []
    for share in SHARES:
        with _tail_share(share):
            ratios = [
                sum(1 for _ in cache.walk(spill_id, budget=budget, wire=wire)) / fewest(payload.decode(), budget, wire)
                for wire in WIRES.values()
                for budget in BUDGETS
            ]
        rows.append((f"{share:g}", *(f"{ratio:.3f} ×" for ratio in ratios)))
    header = ("share", *(f"{wire} {budget:,}" for wire in WIRES for budget in BUDGETS))
    return Table("Share of a page in which a better end is looked for: pages over the fewest", header, tuple(rows))


@contextmanager
def _tail_share(share: float) -> Iterator[None]:
    usual = cut._TAIL_SHARE
    cut._TAIL_SHARE = share  # a constant everywhere but here
    try:
        yield
    finally:
        cut._TAIL_SHARE = usual
