"""The payloads that are measured: the demo's batch of queries, the tests' samples, and larger ones made of them."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from pathlib import Path

from spillcache.demo import sample
from spillcache.scan import scan

_ROOT = Path(__file__).resolve().parent.parent
_DATA = _ROOT / "tests" / "data"
_LEAST = 100_000


@functools.cache
def batch() -> bytes:
    """The 345 KB result of twelve PromQL queries that the demo replays."""
    return sample.payload()


@functools.cache
def samples() -> dict[str, bytes]:
    """The batch and every sample of the tests over 100 KB."""
    others = {path.name: path.read_bytes() for path in sorted(_DATA.iterdir()) if path.stat().st_size > _LEAST}
    return {"prometheus_batch_of_twelve.json": batch(), **others}


def enlarged(payload: bytes, size: int) -> bytes:
    """A document of at most `size` bytes (but at least the payload) that repeats the payload's list of results.

    Chunks are compressed one by one, and what is repeated lies further apart than a chunk is long, so repeating does
    not make them compress better. The inventory, compressed as one, it does: the same names come again and again.
    """
    head, repeated, tail, times = _repeating(payload, size)
    return head + b",".join([repeated] * times) + tail


def blocks(size: int, length: int = 64 << 10) -> Iterator[bytes]:
    """The batch enlarged to at most `size` bytes, in blocks: a document that is nowhere as a whole."""
    head, repeated, tail, times = _repeating(batch(), size)
    for number in range(times):
        begin = b"," if number else head
        end = b"" if number < times - 1 else tail
        piece = begin + repeated + end
        yield from (piece[at : at + length] for at in range(0, len(piece), length))


def _repeating(payload: bytes, size: int) -> tuple[bytes, bytes, bytes, int]:
    """What stands before the list's elements, the elements, what stands after them, and how often they fit."""
    results = scan(payload).inventory.results
    start, end = results[0].start, results[-1].end
    times = max(1, (size - len(payload)) // (end - start + 1) + 1)
    return payload[:start], payload[start:end], payload[end:], times


def noise(size: int) -> bytes:
    """Bytes that do not compress, the same in every run."""
    return random.Random(7).randbytes(size)  # noqa: S311 - no secret
