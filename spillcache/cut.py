"""Where a page ends: as full as its room allows, at the best edge near its end.

The recorded cuts of the slab table settle nearly every page with a few additions. Only where a slab is coarse beside
the room (small budgets, tails of walks that a host cut) are the bytes themselves looked at.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from spillcache.edges import LONGEST_UNIT, floor_edge
from spillcache.frame import Chunk
from spillcache.scan import LINE_EDGE, Kind
from spillcache.wire import Wire, most_that_fits

#: The least room for a chunk, in bytes per copy. The longest unit that cannot be cut, an escaped surrogate pair, takes
#: 18 bytes when escaped twice; below a few of those a page is all envelope.
MIN_ROOM = 64

#: A page looks for a better end in the last eighth of its room: ending earlier would read better still, but costs pages
#: (at a budget of 48,000, results of 43,000 bytes each took 1.26 × the fewest pages when a quarter was allowed).
_TAIL_SHARE = 1 / 8

_LINE = re.compile(rb"\n")
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"?|[\[\]{},\n]', re.DOTALL)


def reach(room: int, wire: Wire) -> int:
    """How many bytes from where a page begins may matter to where it ends."""
    return room // len(wire.copies) + LONGEST_UNIT


def cut(chunk: Chunk, begin: int, limit: int, room: int, wire: Wire, kind: Kind) -> int:
    """Where a page that begins at `begin` ends: > `begin` (unless there is nothing), ≤ `limit`; offsets in `chunk`.

    The page's text takes at most `room` bytes on the wire.
    """
    if kind == "bytes":
        return min(limit, begin + room // len(wire.copies) // 4 * 3)
    ends, costs = chunk.ends, _costs(chunk, begin, begin + room, wire)
    first = bisect_right(ends, begin)
    # The cuts that fit are `first` to `stop`, exclusive.
    stop = min(first + bisect_right(costs, room), bisect_right(ends, limit))
    at, spent = (ends[stop - 1], costs[stop - 1 - first]) if stop > first else (begin, 0)
    following = ends[stop] if stop < len(ends) else len(chunk.text)
    if at == limit or (following >= limit and _fits(chunk, at, limit, room - spent, wire)):
        return limit
    near = range(first + bisect_left(costs, (1 - _TAIL_SHARE) * room), stop)
    if near:
        return ends[min(near, key=lambda place: (ends[place] not in chunk.starts, chunk.depths[place], -place))]
    return _within_slab(chunk, at, limit, room - spent, round(room * _TAIL_SHARE), wire, kind)


def prefix_within(text: bytes, room: int, wire: Wire, most: int) -> int:
    """How many bytes of `text`, at most `most`, cost at most `room` on the wire and end at a safe edge.

    `text` begins at a safe edge and goes on past `most` if the payload does.
    """
    most = max(0, min(len(text), most, room // len(wire.copies)))  # a byte costs at least one in each copy
    length = most_that_fits(most, lambda length: wire.cost(text[: floor_edge(text, length)].decode()) <= room)
    return floor_edge(text, length)


def _costs(chunk: Chunk, begin: int, until: int, wire: Wire) -> list[int]:
    """What a page that begins at `begin` costs on the wire up to each recorded cut after it, as far as `until`."""
    first, stop = bisect_right(chunk.ends, begin), bisect_right(chunk.ends, until)
    ends = chunk.ends[first:stop]
    extras = _extras(chunk, wire)
    if not ends:
        return []
    if extras is None:
        pieces = zip((begin, *ends), ends, strict=False)
        return list(accumulate(_measured(chunk, at, end, wire) for at, end in pieces))
    copies = len(wire.copies)
    # The first slab may begin before `begin`, then its recorded cost covers more than lies between the two.
    whole = first > 0 and chunk.ends[first - 1] == begin
    head = extras[first] if whole else _measured(chunk, begin, ends[0], wire) - (ends[0] - begin) * copies
    added = accumulate(extras[first + 1 : stop], initial=head)
    return [(end - begin) * copies + extra for end, extra in zip(ends, added, strict=True)]


def _extras(chunk: Chunk, wire: Wire) -> Sequence[int] | None:
    """What escaping adds to each slab, all copies together; None where the table does not tell."""
    if wire.ascii_only:
        return None
    if len(wire.copies) == 1:
        return chunk.once if wire.copies[0] == 1 else chunk.twice
    once, twice = wire.copies.count(1), wire.copies.count(2)
    return [once * one + twice * two for one, two in zip(chunk.once, chunk.twice, strict=True)]


def _within_slab(chunk: Chunk, at: int, limit: int, room: int, tail: int, wire: Wire, kind: Kind) -> int:
    """The best end inside the slab that begins at `at` and does not fit as a whole."""
    text = chunk.text[at : min(limit, at + room) + LONGEST_UNIT]
    stop = at + prefix_within(text, room, wire, limit - at)
    edges = [(end, depth) for end, depth in _edges(chunk, at, stop, kind) if end > at]
    near = [(depth, -end) for end, depth in edges if end >= stop - tail // len(wire.copies)]
    if near:
        return -min(near)[1]
    return edges[-1][0] if edges else stop


def _edges(chunk: Chunk, at: int, stop: int, kind: Kind) -> Iterator[tuple[int, int]]:
    """Edges in `at`..`stop` with their relative depth, read from the last place known to be outside strings."""
    if kind not in ("json", "ndjson"):
        yield from ((line.end(), 0) for line in _LINE.finditer(chunk.text, at, stop))
        return
    index = bisect_right(chunk.ends, at) - 1
    while index >= 0 and chunk.depths[index] >= LINE_EDGE:
        index -= 1
    depth = 0
    for token in _TOKEN.finditer(chunk.text, chunk.ends[index] if index >= 0 else at, stop):
        match chunk.text[token.start()]:
            case 0x2C | 0x0A:  # comma, line break
                yield token.end(), depth
            case 0x5B | 0x7B:
                depth += 1
            case 0x5D | 0x7D:
                depth -= 1


def _fits(chunk: Chunk, begin: int, end: int, room: int, wire: Wire) -> bool:
    # No text costs less than its bytes. An end that is only the window's, which may lie inside a code point, is always
    # too far for that, so it is never decoded.
    return (end - begin) * len(wire.copies) <= room and _measured(chunk, begin, end, wire) <= room


def _measured(chunk: Chunk, begin: int, end: int, wire: Wire) -> int:
    return wire.cost(chunk.text[begin:end].decode()) if end > begin else 0
