"""The spills whose pages are read, and in which order: so that no read finds what an earlier one left in the process.

A reader may remember what it has decompressed, for neighbouring pages. Reading few pages over and over would measure
that memory alone, which no walk does and which a replica that is new to a spill does not have. So pages are read once
each, out of many spills: in the order of a walk, where neighbours share chunks, or far apart, where nothing is shared.
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from benchmarks import caches, corpora
from spillcache import Page
from spillcache.frame import CHUNK_BYTES, SEGMENT_BYTES
from spillcache.sync import SpillCache

Read = tuple[str, str]
"""A spill id and a cursor of it."""

_SEGMENT_COPIES = 8
_APART = 7  # pages between two reads of one spill: some three chunks
_STRIDE = 101  # neighbouring strata are read this many reads apart


@dataclass(frozen=True, slots=True)
class Spills:
    """What is read, in order. `plain` are keys that hold, as plain values, what the pages of the short spill send."""

    plain: tuple[str, ...]
    walked: tuple[Read, ...]
    serialised: tuple[Read, ...]
    apart: tuple[Read, ...]
    segment: tuple[Read, ...]
    large: tuple[Read, ...]
    large_segments: int


def store(cache: SpillCache, *, copies: int, large: int, reads: int) -> Spills:
    """Store `copies` of the 345 KB batch for each way of reading it, and larger spills made of it.

    `reads` is how many reads of the large one are prepared.
    """
    short = corpora.batch()
    walked, serialised, apart = ([_walk(cache, short) for _ in range(copies)] for _ in range(3))
    model = [page.start % CHUNK_BYTES for page in walked[0][1:]]
    one_segment = corpora.enlarged(short, SEGMENT_BYTES)
    segments = [_spread(_walk(cache, one_segment), model, len(model)) for _ in range(_SEGMENT_COPIES)]
    long = _walk(cache, corpora.enlarged(short, large))
    return Spills(
        plain=_plain(cache, walked[0]),
        walked=tuple(read for pages in walked for read in _reads(pages)),
        serialised=tuple(read for pages in serialised for read in _reads(pages)),
        apart=_far_apart([_reads(pages) for pages in apart]),
        segment=tuple(read for turn in zip(*segments, strict=True) for read in turn),
        large=tuple(_spread(long, model, min(reads, len(long) // 4))),
        large_segments=cache.stat(long[0].spill_id).segments,
    )


def _walk(cache: SpillCache, payload: bytes) -> list[Page]:
    spill_id = cache.put(payload).spill_id
    assert spill_id is not None
    return list(cache.walk(spill_id))


def _plain(cache: SpillCache, pages: list[Page]) -> tuple[str, ...]:
    keys = tuple(f"plain:{number}" for number in range(1, len(pages)))
    for key, page in zip(keys, pages[1:], strict=True):
        caches.client_of(cache).set(key, orjson.dumps(page.as_dict()), ex=int(caches.TTL_S))
    return keys


def _reads(pages: list[Page]) -> list[Read]:
    return [(page.spill_id, page.next_cursor) for page in pages if page.next_cursor is not None]


def _far_apart(spills: list[list[Read]]) -> tuple[Read, ...]:
    """One page of each spill, then one of each further on, and so on."""
    count = len(spills[0])
    return tuple(reads[visit * _APART % count] for visit in range(count) for reads in spills)


def _spread(pages: list[Page], model: list[int], count: int) -> list[Read]:
    """`count` reads spread over a spill, far apart in turn, that begin as far into a chunk as `model` says.

    Where in a chunk a page begins decides whether one or two chunks are read, so both must be mixed as in the model.
    """
    places = list(zip((page.end % CHUNK_BYTES for page in pages), _reads(pages), strict=False))
    chosen = []
    for number in sorted(range(count), key=lambda number: (number % _STRIDE, number)):
        near = places[number * len(places) // count : (number + 1) * len(places) // count]
        wanted = model[number % len(model)]
        chosen.append(min(near, key=lambda place: abs(place[0] - wanted))[1])
    return chosen
