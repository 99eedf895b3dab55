"""From payload bytes and their scan to frames, in order, holding no more than the part that is not yet settled."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from spillcache.edges import LONGEST_UNIT, ceil_edge
from spillcache.frame import CHUNK_BYTES, SEGMENT_BYTES, Table, encode_frame
from spillcache.scan import SlabTable

_MAX_SLAB = 1024  # two stretches: a recorded cut is never further than this before an offset


class Chunker:
    """Cuts a payload into frames.

    `feed` takes the next bytes, the slabs settled since, and up to which offset they are settled; it yields
    `(chunk index, frame)` for every chunk that is complete. `finish` yields what remains; the frame of an empty payload
    too. Result starts must be known before the chunk that holds them is fed.
    """

    def __init__(self, spill_id: str) -> None:
        self._spill_id = spill_id
        self._index = 0
        self._text: memoryview = memoryview(b"")  # from the first byte of chunk `_index`
        self._slabs = SlabTable.empty()
        self._settled = 0
        self._starts: NDArray[np.int64] = np.empty(0, np.int64)
        self._starts_known_to = 0

    def know_results(self, starts: NDArray[np.int64], known_to: int) -> None:
        """Say where the named results begin. What starts at or beyond `known_to` is not known."""
        self._starts, self._starts_known_to = starts, known_to

    def feed(self, block: bytes | memoryview, slabs: SlabTable, settled: int) -> Iterator[tuple[int, bytes]]:
        """Take a block and the slabs that are now settled, up to byte `settled`; yield the frames that are complete."""
        if len(block):
            self._text = memoryview(block) if not len(self._text) else memoryview(b"".join((self._text, block)))
        self._slabs, self._settled = SlabTable.concatenate([self._slabs, slabs]), settled
        while self._ready():
            yield self._next(CHUNK_BYTES)
        self._text = memoryview(bytes(self._text))  # let go of the caller's block

    def finish(self, slabs: SlabTable) -> Iterator[tuple[int, bytes]]:
        """Yield the remaining frames: at least one, so that even an empty payload is really stored."""
        self._slabs = SlabTable.concatenate([self._slabs, slabs])
        while len(self._text) > CHUNK_BYTES:
            yield self._next(CHUNK_BYTES)
        yield self._next(len(self._text))

    def _ready(self) -> bool:
        needed = CHUNK_BYTES + LONGEST_UNIT
        return len(self._text) >= needed and self._settled >= self._index * CHUNK_BYTES + needed

    def _next(self, length: int) -> tuple[int, bytes]:
        start = self._index * CHUNK_BYTES
        overhang = self._overhang(start + length) if (start + length) % SEGMENT_BYTES == 0 else 0
        count = self._slabs.ends.searchsorted(start + length, "right")
        begins, before = self._starts_within(start, start + length)
        table = Table(_columns(_take(self._slabs, slice(count)), start), begins, before, overhang)
        frame = encode_frame(bytes(self._text[: length + overhang]), table, self._spill_id, self._index)
        self._slabs = _take(self._slabs, slice(count, None))
        self._text = self._text[length:]
        self._index += 1
        return self._index - 1, frame

    def _starts_within(self, start: int, end: int) -> tuple[bytes, int | None]:
        """Where named results begin in a chunk, as stored, and how many begin before it."""
        known = end <= self._starts_known_to
        if not len(self._starts):
            return b"", 0 if known else None
        lo, hi = self._starts.searchsorted(start), self._starts.searchsorted(end)
        return (self._starts[lo:hi] - start).astype("<u2").tobytes(), int(lo) if known else None

    def _overhang(self, edge: int) -> int:
        """How far beyond a segment's edge the next safe edge lies, counted from a recorded cut, which is safe."""
        base = self._index * CHUNK_BYTES
        cuts = self._slabs.ends[: self._slabs.ends.searchsorted(edge, "right")]
        cut = int(cuts[-1]) if len(cuts) else edge  # binary data has no cuts and may be cut anywhere
        around = bytes(self._text[cut - base : edge - base + LONGEST_UNIT])
        if edge - cut > _MAX_SLAB or len(around) == edge - cut:
            return 0
        return ceil_edge(around, edge - cut) - (edge - cut)


def _columns(slabs: SlabTable, start: int) -> bytes:
    """A chunk's part of the slab table as its frame stores it; `start` is the chunk's first byte."""
    ends = (slabs.ends - start).astype("<u2")
    once, twice = slabs.extra_once.astype("<u2", copy=False), slabs.extra_twice.astype("<u2", copy=False)
    return b"".join((ends.tobytes(), slabs.depth.tobytes(), once.tobytes(), twice.tobytes()))


def _take(slabs: SlabTable, part: slice) -> SlabTable:
    return SlabTable(slabs.ends[part], slabs.depth[part], slabs.extra_once[part], slabs.extra_twice[part])
