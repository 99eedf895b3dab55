"""The inventory: what a payload contains, told from the index of its first part."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from spillcache.scan.bitmaps import Ints
from spillcache.scan.container import member_path
from spillcache.scan.counts import count_samples
from spillcache.scan.fields import Fields, read_fields
from spillcache.scan.index import Index
from spillcache.scan.model import MAX_RESULTS, Inventory, Kind, Result, ResultType
from spillcache.scan.names import names_of_keys, names_of_values
from spillcache.scan.search import Listing, find_results
from spillcache.scan.tokens import LINE_END

#: Nesting beyond which parsers in use give up; what lies deeper is stored, and said to be too deep.
MOST_LEVELS = 1000
#: Members of all results together among which repeated keys are looked for.
_MOST_MEMBERS = 1000
_BOM = b"\xef\xbb\xbf"

_TYPES: tuple[ResultType, ...] = ("invalid", "object", "array", "string", "number", "boolean", "null")
_TYPE_OF_BYTE = np.zeros(256, np.uint8)
for _type, _firsts in enumerate((b"{", b"[", b'"', b"-0123456789NI", b"tf", b"n"), start=1):
    _TYPE_OF_BYTE[list(_firsts)] = _type
_CLOSING = np.zeros(256, np.uint8)
_CLOSING[list(b'{["')] = list(b'}]"')


@dataclass(frozen=True, slots=True)
class Ending:
    """What the pass over the payload saw, where the index ends."""

    whole: bool  # nothing follows the index
    closed: bool  # no bracket and no string is open
    broken: bool  # a closing bracket was too many
    deepest: int
    strict: bool


def take_inventory(index: Index, kind: Kind, ending: Ending) -> tuple[Inventory, Ints, int]:
    """The inventory of a payload of kind json or ndjson, and where its results start, at which level."""
    if kind == "json":
        listing, partial = _of_document(index, ending)
    else:
        listing, partial = _of_lines(index, whole=ending.whole), []
    if not ending.whole:
        partial.insert(0, "window")
    if ending.deepest > MOST_LEVELS:
        partial.append("too_deep")
    if listing is None:
        return Inventory((), None, "$", tuple(partial), ending.strict, 0), _NONE, 0
    results, duplicates = _results(index, listing)
    partial.extend(listing.partial)
    reasons = tuple(dict.fromkeys(partial))
    inventory = Inventory(results, listing.total, listing.path, reasons, ending.strict, duplicates)
    return inventory, listing.starts, listing.level


def _of_document(index: Index, ending: Ending) -> tuple[Listing | None, list[str]]:
    start = len(_BOM) if index.raw(0, len(_BOM)) == _BOM else 0
    root = int(index.skip_blanks(np.array([start]))[0])
    if root >= index.end:
        return None, []
    listing, end = find_results(index, root, whole=ending.whole)
    partial = []
    if ending.whole and (not ending.closed or end is None):
        partial.append("truncated")
    if ending.broken:
        partial.append("malformed")
    if end is not None and int(index.skip_blanks(np.array([end]))[0]) < index.end:
        partial.append("concatenated")
    return listing, partial


def _of_lines(index: Index, *, whole: bool) -> Listing:
    """Each line that is not blank is a result; its number counts blank ones too."""
    parts = [part.at[part.byte == LINE_END] for part in index.level(0, index.end, 0)]
    line_ends = np.concatenate(parts or [_NONE])
    if whole:
        line_ends = np.append(line_ends, index.end)
    begins = np.concatenate(([0], line_ends[:-1] + 1)) if len(line_ends) else _NONE
    starts = index.skip_blanks(begins)
    shown = np.flatnonzero(starts < line_ends)
    total = len(shown) if whole else None
    partial = ("too_many",) if len(shown) > MAX_RESULTS else ()
    shown = shown[:MAX_RESULTS]
    ends = index.trim_blanks(line_ends[shown])
    numbers = shown.tolist()
    return Listing("$", 0, starts[shown], ends, starts[shown], None, None, total, partial, numbers)


def _results(index: Index, listing: Listing) -> tuple[tuple[Result, ...], int]:
    if not len(listing.starts):
        return (), 0
    own = read_fields(index, int(listing.starts[0]), int(listing.ends[-1]), listing.level + 1)
    counts = count_samples(index, listing.values, listing.ends, listing.level)
    results = _made(
        name=_names(index, listing, own),
        path=_paths(listing),
        start=listing.starts.tolist(),
        end=listing.ends.tolist(),
        type=_types(index, listing),
        series=_known(counts.series),
        points=_known(counts.points),
        approximate=counts.approximate.tolist(),
    )
    return results, _duplicates(index, listing, own)


def _made(**columns: list[Any]) -> tuple[Result, ...]:
    """Results, one field after the other: half the time of calling `Result`, which 20,000 of them make felt."""
    results = [object.__new__(Result) for _ in columns["name"]]
    for name, column in columns.items():
        deque(map(getattr(Result, name).__set__, results, column), maxlen=0)
    return tuple(results)


def _names(index: Index, listing: Listing, own: Fields | None) -> list[str]:
    if listing.whole is not None:
        return [listing.whole]
    if listing.keys is not None:
        return names_of_keys(listing.keys)
    places = listing.numbers if listing.numbers is not None else list(range(len(listing.starts)))
    return names_of_values(index, listing.values, listing.ends, listing.level, own, places)


def _paths(listing: Listing) -> list[str]:
    if listing.whole is not None:
        return [listing.path]
    if listing.keys is not None:
        return [member_path(listing.path, key) for key in listing.keys]
    places = listing.numbers if listing.numbers is not None else range(len(listing.starts))
    return [f"{listing.path}[{place}]" for place in places]


def _types(index: Index, listing: Listing) -> list[ResultType]:
    first = index.text[np.minimum(listing.values, index.end - 1)]
    types = _TYPE_OF_BYTE.take(first)
    types[listing.values >= listing.ends] = 0
    closing = _CLOSING.take(first)
    last = index.text[np.maximum(listing.ends - 1, 0)]
    types[(closing != 0) & ((closing != last) | (listing.ends - listing.values == 1))] = 0
    return list(map(_TYPES.__getitem__, types.tolist()))


def _known(counts: Ints) -> list[int | None]:
    if not len(counts) or int(counts.max()) < 0:
        return [None] * len(counts)
    return [count if count >= 0 else None for count in counts.tolist()]


def _duplicates(index: Index, listing: Listing, own: Fields | None) -> int:
    repeated = len(listing.keys) - len(set(listing.keys)) if listing.keys is not None else 0
    if own is None or len(own.start) > _MOST_MEMBERS:
        return repeated
    seen: set[tuple[int, bytes]] = set()
    objects = 0
    for container, start, end in zip(own.container.tolist(), own.start.tolist(), own.end.tolist(), strict=True):
        if index.text[container] == ord("{"):
            seen.add((container, index.raw(start, end).split(b":", 1)[0].rstrip()))
            objects += 1
    return repeated + objects - len(seen)


_NONE: Ints = np.empty(0, np.int64)
