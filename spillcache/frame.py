"""Frames: how a chunk of the payload is stored, with the table of good places to cut it.

A chunk is 16,272 raw bytes (the last may be shorter), so every offset is arithmetic: chunk i begins at i × 16,272
and lies in field i mod 256 of segment i ÷ 256. Its frame is sealed (see `digest`) and holds

```
byte 0        codec: 0 raw, 1 zstd, of table and text together
byte 1        overhang: bytes of the next chunk that the last chunk of a segment repeats
bytes 2-5     slabs, starts: how many of each the table has
bytes 6-9     results that start before this chunk (0xFFFFFFFF: not known)
bytes 10-13   length of the text
rest          slab ends, depths, costs escaped once and twice, result starts; then the text
```

The overhang is there because a page never crosses a segment, which would take a second command: where a segment's edge
falls inside a code point or an escape sequence, its last chunk goes on to the next safe edge.
"""

from __future__ import annotations

import functools
import struct
import threading
from bisect import bisect_right
from typing import NamedTuple

import zstandard

from spillcache.digest import seal, unseal
from spillcache.edges import LONGEST_UNIT
from spillcache.errors import SpillCorrupt

#: Raw bytes of a chunk. With 48 bytes for header and seals a stored field stays at 16 KiB - 64, within jemalloc's
#: 16 KiB class: one byte over that class wastes 25 %. A chunk of twice the size compresses 2-3 % better, but takes
#: 12 µs longer to decompress, a quarter of what a page costs beside the server's answer. It is a multiple of 3, so
#: that base64 pages may end with a chunk.
CHUNK_BYTES = 16_272
SEGMENT_CHUNKS = 256  # a hash of 8 MB dumps or migrates in 50 ms, half that here; one of 512 MB blocks for 84 ms
SEGMENT_BYTES = CHUNK_BYTES * SEGMENT_CHUNKS

_FIELDS = tuple(map(str, range(SEGMENT_CHUNKS)))

#: Below this saving a frame is stored raw: reading it then costs no decompression.
_WORTHWHILE = 0.93
_ZSTD_LEVEL = 1  # halves JSON or better at 40 µs a chunk; higher levels cost more than they save here
_RAW, _ZSTD = 0, 1
_HEADER = struct.Struct(">BBHHII")
_SLAB_BYTES = 7  # two for where it ends, one for its depth, two for each cost
_UNKNOWN = 0xFFFF_FFFF


class Table(NamedTuple):
    """What is stored beside a chunk's text, as it is stored.

    `slabs` holds the columns of the slab table one after the other, `starts` holds, two bytes
    each, where in the chunk named results begin. For the other two see `Chunk`.
    """

    slabs: bytes = b""
    starts: bytes = b""
    results_before: int | None = 0
    overhang: int = 0


class _Codecs(threading.local):
    """zstd objects are not safe to share between threads, and making one costs as much as using it."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=_ZSTD_LEVEL)
        self.decompressor = zstandard.ZstdDecompressor()


_codecs = _Codecs()


class Chunk(NamedTuple):
    """A stretch of the payload and where it may be cut; offsets are relative to its first byte.

    `ends` are the recorded cuts, ascending. `depths[i]` is the nesting of cut i, `once[i]` and `twice[i]` what escaping
    adds to the slab between cut i-1 and cut i (which may lie in the chunk before). `starts` are the named results that
    begin here, and `results_before` counts those that begin earlier, None where that is not known.
    """

    text: bytes
    ends: tuple[int, ...] = ()
    depths: bytes = b""
    once: tuple[int, ...] = ()
    twice: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()
    results_before: int | None = 0
    overhang: int = 0


def locate(index: int) -> tuple[int, str]:
    """Segment and field name of chunk `index`."""
    segment, field = divmod(index, SEGMENT_CHUNKS)
    return segment, _FIELDS[field]


def chunk_fields(first: int, end: int) -> tuple[str, ...]:
    """The field names of chunks `first` to `end`, exclusive, as far as they lie in the segment of `first`."""
    at = first % SEGMENT_CHUNKS
    return _FIELDS[at : at + end - first]


def chunk_count(size: int) -> int:
    """How many chunks a payload of `size` bytes has. An empty payload has one, empty, so that it can be lost."""
    return max(1, -(-size // CHUNK_BYTES))


def segment_count(chunks: int) -> int:
    """How many segments hold that many chunks."""
    return -(-chunks // SEGMENT_CHUNKS)


def chunk_length(index: int, size: int) -> int:
    """How many bytes of a payload of `size` bytes chunk `index` holds, without its overhang."""
    return min(CHUNK_BYTES, size - index * CHUNK_BYTES)


def encode_frame(text: bytes, table: Table, spill_id: str, index: int) -> bytes:
    """The bytes to store for a chunk: its text, with the overhang, and its table."""
    body, codec = b"".join((table.slabs, table.starts, text)), _RAW
    packed = _codecs.compressor.compress(body)
    if len(packed) < _WORTHWHILE * len(body):
        body, codec = packed, _ZSTD
    header = _HEADER.pack(
        codec,
        table.overhang,
        len(table.slabs) // _SLAB_BYTES,
        len(table.starts) // 2,
        _UNKNOWN if table.results_before is None else table.results_before,
        len(text),
    )
    segment, field = locate(index)
    return seal(spill_id, segment, field, header + body)


def decode_frame(stored: bytes, spill_id: str, index: int, size: int) -> Chunk:
    """Read chunk `index` of a payload of `size` bytes. Raises `SpillCorrupt` or `ManifestVersionUnsupported`.

    What was last decompressed is remembered by the very bytes that Redis sent: neighbouring pages share their chunks,
    and decompressing takes a quarter of a page's time.
    """
    worthwhile = len(stored) < _WORTHWHILE * CHUNK_BYTES
    return (_remembered if worthwhile else _decode)(stored, spill_id, index, size)


def _decode(stored: bytes, spill_id: str, index: int, size: int) -> Chunk:
    body, table, overhang, (slabs, starts, before) = _opened(stored, spill_id, index, size)
    ends = struct.unpack_from(f"<{slabs}H", body)
    once = struct.unpack_from(f"<{slabs}H", body, 3 * slabs)
    twice = struct.unpack_from(f"<{slabs}H", body, 5 * slabs)
    begins = struct.unpack_from(f"<{starts}H", body, _SLAB_BYTES * slabs) if starts else ()
    known = None if before == _UNKNOWN else before
    return Chunk(body[table:], ends, body[2 * slabs : 3 * slabs], once, twice, begins, known, overhang)


def _opened(stored: bytes, spill_id: str, index: int, size: int) -> tuple[bytes, int, int, tuple[int, int, int]]:
    """A frame's unpacked body, where its text begins in that, its overhang; its slabs, starts and results before."""
    segment, field = locate(index)
    framed = unseal(spill_id, segment, field, stored)
    try:
        codec, overhang, slabs, starts, before, length = _HEADER.unpack_from(framed)
        table = _SLAB_BYTES * slabs + 2 * starts
        body = _unpack(codec, framed[_HEADER.size :], table + length)
    except (struct.error, zstandard.ZstdError):
        raise SpillCorrupt(f"chunk {index} does not have its form") from None
    if length != chunk_length(index, size) + overhang or len(body) != table + length or overhang >= LONGEST_UNIT:
        raise SpillCorrupt(f"chunk {index} does not have its length")
    return body, table, overhang, (slabs, starts, before)


def decode_text(stored: bytes, spill_id: str, index: int, size: int) -> memoryview:
    """Only the text of chunk `index`, without overhang, for whoever passes over many chunks: nothing is remembered.

    Raises as `decode_frame`.
    """
    body, begin, overhang, _ = _opened(stored, spill_id, index, size)
    return memoryview(body)[begin : len(body) - overhang]


_remembered = functools.lru_cache(maxsize=128)(_decode)  # some 3 MB


def join(chunks: list[Chunk]) -> Chunk:
    """Neighbouring chunks of one segment as one; offsets are relative to the first one's first byte."""
    if len(chunks) == 1:
        return chunks[0]
    ends, starts, once, twice = list(chunks[0].ends), list(chunks[0].starts), chunks[0].once, chunks[0].twice
    for place, chunk in enumerate(chunks[1:], 1):
        base = place * CHUNK_BYTES
        ends += [base + end for end in chunk.ends]
        starts += [base + start for start in chunk.starts]
        once, twice = once + chunk.once, twice + chunk.twice
    return Chunk(
        text=b"".join([chunk.text for chunk in chunks]),
        ends=tuple(ends),
        depths=b"".join([chunk.depths for chunk in chunks]),
        once=once,
        twice=twice,
        starts=tuple(starts),
        results_before=None if chunks[-1].results_before is None else chunks[0].results_before,
        overhang=chunks[-1].overhang,
    )


def results_at(chunk: Chunk, first: int, last: int) -> tuple[int, int] | None:
    """The numbers, from 1, of the results in which bytes `first` and `last` lie; 0 before the first result.

    None where the inventory's window did not reach.
    """
    if chunk.results_before is None:
        return None
    before = chunk.results_before
    return before + bisect_right(chunk.starts, first), before + bisect_right(chunk.starts, last)


def _unpack(codec: int, packed: memoryview, expected: int) -> bytes:
    if codec == _RAW:
        return bytes(packed)
    if codec != _ZSTD or zstandard.frame_content_size(packed) != expected:
        raise struct.error
    return _codecs.decompressor.decompress(packed)
