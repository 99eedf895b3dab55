"""Frames: a chunk and its table come back whole, or not at all."""

from __future__ import annotations

import base64
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.digest import seal
from spillcache.errors import ManifestVersionUnsupported, SpillCorrupt
from spillcache.frame import (
    CHUNK_BYTES,
    SEGMENT_CHUNKS,
    Chunk,
    Table,
    chunk_count,
    chunk_length,
    decode_frame,
    encode_frame,
    join,
    locate,
    results_at,
    segment_count,
)
from spillcache.ids import new_id
from spillcache.scan import scan
from tests.memory import SPILL_ID, spill
from tests.strategies import payloads

OTHER = new_id(b"\x01" * 15)


def decoded(payload: bytes) -> list[Chunk]:
    """All chunks of a payload, as stored."""
    stored = spill(payload)
    return [decode_frame(frame, SPILL_ID, index, len(payload)) for index, frame in enumerate(stored.frames)]


@given(payloads)
def test_chunks_concatenate_to_the_payload(payload: bytes) -> None:
    """Every chunk but the last has the fixed length, and an empty payload has one, empty."""
    chunks = decoded(payload)
    assert b"".join(chunk.text[: len(chunk.text) - chunk.overhang] for chunk in chunks) == payload
    assert len(chunks) == chunk_count(len(payload))
    assert all(len(chunk.text) == chunk_length(index, len(payload)) for index, chunk in enumerate(chunks))


@given(payloads)
def test_the_slab_table_is_all_there(payload: bytes) -> None:
    """Joined, the chunks have the cuts, depths and costs that the scan found, and the starts of the results."""
    chunks = decoded(payload)
    found = scan(payload)
    whole = join(chunks)
    assert whole.text == payload
    assert list(whole.ends) == found.slabs.ends.tolist()
    assert whole.depths == found.slabs.depth.tobytes()
    assert list(whole.once) == found.slabs.extra_once.tolist()
    assert list(whole.twice) == found.slabs.extra_twice.tolist()
    assert list(whole.starts) == [result.start for result in found.inventory.results]


@given(payloads, st.integers(0, 2**32))
def test_a_stored_frame_stays_in_its_allocation_class(payload: bytes, seed: int) -> None:
    """No frame passes 16 KiB - 64, be it text with its table, text without any pattern, or noise stored raw."""
    noise = random.Random(seed).randbytes(2 * CHUNK_BYTES)  # noqa: S311 - noise, not a secret
    for one in (payload, noise, base64.b85encode(noise)):
        assert max(map(len, spill(one).frames)) <= (16 << 10) - 64
    assert CHUNK_BYTES % 3 == 0


@given(payloads, st.data())
def test_damage_is_found_before_anything_is_served(payload: bytes, data: st.DataObject) -> None:
    """A flipped bit, a cut, an extra byte, another place: corrupt; another first byte: another format."""
    frames = spill(payload).frames
    index = data.draw(st.integers(0, len(frames) - 1))
    stored, size = frames[index], len(payload)
    bit = data.draw(st.integers(0, 8 * len(stored) - 1))
    flipped = bytearray(stored)
    flipped[bit // 8] ^= 1 << bit % 8
    with pytest.raises(ManifestVersionUnsupported if bit < 8 else SpillCorrupt):
        decode_frame(bytes(flipped), SPILL_ID, index, size)
    for damaged in (stored[: data.draw(st.integers(0, len(stored) - 1))], stored + b"\x00"):
        with pytest.raises(SpillCorrupt):
            decode_frame(damaged, SPILL_ID, index, size)
    for spill_id, place in ((OTHER, index), (SPILL_ID, index + 1), (SPILL_ID, index + SEGMENT_CHUNKS)):
        with pytest.raises(SpillCorrupt):
            decode_frame(stored, spill_id, place, size)


@given(payloads)
def test_a_frame_of_another_length_than_the_manifest_says_is_corrupt(payload: bytes) -> None:
    """A whole frame that does not belong to a payload of this size is never served as a short one."""
    frames = spill(payload).frames
    last = len(frames) - 1
    for size in {len(payload) - 1, len(payload) + 1} - {len(payload) // CHUNK_BYTES * CHUNK_BYTES + 1}:
        with pytest.raises(SpillCorrupt):
            decode_frame(frames[last], SPILL_ID, last, size)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x00" * 13,
        b"\x07" + b"\x00" * 13 + b"x",
        b"\x01" + b"\x00" * 13 + b"not zstd",
        b"\x00\x0c" + b"\x00" * 12,
        b"\x00\x00\xff\xff\xff\xff" + b"\x00" * 8,
        b"\x00" * 10 + b"\xff" * 4,
    ],
)
def test_a_sealed_body_without_the_form_is_corrupt(body: bytes) -> None:
    """Unknown codec, broken compression, counts beyond the body, an overhang too long: corrupt, no crash."""
    with pytest.raises(SpillCorrupt):
        decode_frame(seal(SPILL_ID, 0, "0", body), SPILL_ID, 0, 0)


def test_a_small_frame_that_claims_to_unpack_to_much_is_refused_before_unpacking() -> None:
    """The declared length is compared first, so no stored field makes a reader allocate what it likes."""
    packed = encode_frame(b"a" * CHUNK_BYTES, Table(), SPILL_ID, 0)
    with pytest.raises(SpillCorrupt):
        decode_frame(seal(SPILL_ID, 0, "0", packed[9:19] + b"\x00\x00\x00\x01" + packed[23:]), SPILL_ID, 0, 1)


@pytest.mark.parametrize(
    ("size", "chunks", "segments"),
    [
        (0, 1, 1), (1, 1, 1), (CHUNK_BYTES, 1, 1), (CHUNK_BYTES + 1, 2, 1),
        (CHUNK_BYTES * SEGMENT_CHUNKS, SEGMENT_CHUNKS, 1), (CHUNK_BYTES * SEGMENT_CHUNKS + 1, SEGMENT_CHUNKS + 1, 2),
    ],
)  # fmt: skip
def test_places_are_arithmetic(size: int, chunks: int, segments: int) -> None:
    """How many chunks and segments a size has, and where each lies."""
    assert (chunk_count(size), segment_count(chunks)) == (chunks, segments)
    assert locate(chunks - 1) == ((chunks - 1) // SEGMENT_CHUNKS, str((chunks - 1) % SEGMENT_CHUNKS))


def test_results_are_counted_from_those_before_the_chunk() -> None:
    """Numbers run through all chunks; where the inventory's window did not reach they are not known."""
    chunk = Chunk(b"x" * 100, starts=(10, 50), results_before=3)
    assert results_at(chunk, 0, 9) == (3, 3)
    assert results_at(chunk, 10, 50) == (4, 5)
    assert results_at(chunk._replace(results_before=None), 0, 99) is None
    known, unknown = Chunk(b"x" * CHUNK_BYTES, results_before=1), Chunk(b"x", results_before=None)
    assert results_at(join([known, unknown]), 0, 0) is None
