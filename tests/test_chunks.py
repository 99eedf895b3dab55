"""Chunks: from a payload, at hand or streamed, to the same frames; and the edges of segments."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from spillcache.chunks import Chunker
from spillcache.cursor import LEASE_EPOCH, Cursor, WalkKind
from spillcache.edges import LONGEST_UNIT
from spillcache.frame import CHUNK_BYTES, SEGMENT_BYTES, SEGMENT_CHUNKS, decode_frame
from spillcache.scan import Inventory, Scanner, SlabTable
from spillcache.wire import MCP, PLAIN, Wire
from tests.memory import SPILL_ID, MemorySpill, spill
from tests.strategies import payloads

UNITS = ("😀", "漢", "é", "\\ud83d\\ude00", "\\ud83d\\ud83d\\ude00", "\\u00e9", '\\"', "\\\\", "x,", "\n")


def streamed(payload: bytes, cuts: list[int]) -> list[bytes]:
    """The frames of a payload that comes in blocks, cut at these places."""
    scanner, chunker = Scanner(), Chunker(SPILL_ID)
    frames: list[tuple[int, bytes]] = []
    places = [0, *sorted(cut % (len(payload) + 1) for cut in cuts), len(payload)]
    for start, end in itertools.pairwise(places):
        slabs = scanner.feed(payload[start:end])
        if scanner.inventory is not None:
            chunker.know_results(starts_of(scanner.inventory), len(payload))
        frames += chunker.feed(payload[start:end], slabs, scanner.settled)
    slabs, _, inventory = scanner.finish()
    chunker.know_results(starts_of(inventory), len(payload))
    frames += [*chunker.feed(b"", slabs, len(payload)), *chunker.finish(SlabTable.empty())]
    assert [index for index, _ in frames] == list(range(len(frames)))
    return [frame for _, frame in frames]


def starts_of(inventory: Inventory) -> NDArray[np.int64]:
    """Where the named results begin."""
    return np.array([result.start for result in inventory.results], np.int64)


@given(payloads, st.lists(st.integers(0, 2**20), max_size=5))
def test_a_stream_becomes_the_frames_of_the_payload(payload: bytes, cuts: list[int]) -> None:
    """However it is cut into blocks, a streamed payload is stored as one that was at hand."""
    whole = spill(payload)
    if whole.manifest.kind != "bytes":  # of a stream it may show late that it is binary
        assert streamed(payload, cuts) == list(whole.frames)
    size = len(payload)
    texts = [decode_frame(frame, SPILL_ID, index, size) for index, frame in enumerate(streamed(payload, cuts))]
    assert b"".join(chunk.text[: len(chunk.text) - chunk.overhang] for chunk in texts) == payload


def around_the_segment_edge(
    stored: MemorySpill, begin: int, budget: int, wire: Wire
) -> Iterator[tuple[int, int, bytes]]:
    """Pages from a safe place shortly before the first segment's edge on, until well behind it."""
    position = begin
    while position < SEGMENT_BYTES + 2 * budget and position < len(stored.payload):
        page = stored.page(Cursor(WalkKind.WALK, position, LEASE_EPOCH, 1), budget, wire)
        yield page.start, page.end, page.data
        position = page.end


@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_what_lies_across_the_edge_of_a_segment_is_not_cut(unit: str) -> None:
    """A page never crosses a segment, so the last chunk goes on to the next safe edge: at every offset of the unit."""
    length = len(unit.encode())
    overhangs: set[int] = set()
    for shift in range(length):
        head = b'["' + b"x" * (SEGMENT_BYTES - 40 - 2)
        payload = head + b"x" * shift + unit.encode() * 3_000 + b'"]'
        stored = spill(payload)
        last = decode_frame(stored.frames[SEGMENT_CHUNKS - 1], SPILL_ID, SEGMENT_CHUNKS - 1, len(payload))
        edge = SEGMENT_BYTES + last.overhang
        assert last.text == payload[SEGMENT_BYTES - CHUNK_BYTES : edge]
        for wire, budget in ((PLAIN, 1_500), (MCP, 7_500)):
            position = len(head) - 3_000
            ends = []
            for start, end, data in around_the_segment_edge(stored, position, budget, wire):
                assert start == position
                assert data == payload[start:end]
                assert data.decode()
                ends.append(end)
                position = end
            assert edge in ends
        overhangs.add(last.overhang)
    assert overhangs == ({0} if unit in ("x,", "\n") else set(range(min(length, LONGEST_UNIT))))


@pytest.mark.parametrize("more", [-1, 0, 1, 13, CHUNK_BYTES])
def test_a_payload_that_ends_around_the_edge_of_a_segment(more: int) -> None:
    """One byte less, exactly, one byte more than a segment: the last page is the last."""
    payload = b"y" * (SEGMENT_BYTES + more)
    stored = spill(payload)
    budget = 48_000
    pages = list(around_the_segment_edge(stored, SEGMENT_BYTES - 60_000, budget, PLAIN))
    assert b"".join(data for _, _, data in pages) == payload[SEGMENT_BYTES - 60_000 :]
    final = stored.page(Cursor(WalkKind.WALK, pages[-1][0], LEASE_EPOCH, 1), budget, PLAIN)
    assert (final.end, final.status) == (len(payload), "COMPLETE")


def test_binary_data_needs_no_overhang() -> None:
    """What may be cut anywhere ends where its segment ends."""
    payload = b"\xff\x80" * (SEGMENT_BYTES // 2 + 9)
    stored = spill(payload)
    last = decode_frame(stored.frames[SEGMENT_CHUNKS - 1], SPILL_ID, SEGMENT_CHUNKS - 1, len(payload))
    assert last.overhang == 0
    page = stored.page(Cursor(WalkKind.WALK, SEGMENT_BYTES - 9, LEASE_EPOCH, 1), 7_500, PLAIN)
    assert (page.end, page.status) == (SEGMENT_BYTES, "PARTIAL")


@settings(max_examples=15)
@given(st.integers(0, 11), st.sampled_from(UNITS), st.integers(0, 11), st.sampled_from((PLAIN, MCP)))
def test_pages_may_begin_anywhere_before_the_edge_of_a_chunk(shift: int, unit: str, before: int, wire: Wire) -> None:
    """Walking over the edges of chunks loses nothing, whatever stands there."""
    payload = b"z" * (CHUNK_BYTES - 50 + shift) + unit.encode() * 4_000
    stored = spill(payload)
    pages = list(stored.walk([1_500 + before, 17_000], wire))
    assert b"".join(page.data for page in pages) == payload
