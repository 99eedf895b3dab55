"""The inventory: what a payload contains, told from the index of its first part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spillcache.scan.bitmaps import Bytes, Ints
from spillcache.scan.counts import count_samples
from spillcache.scan.fields import Fields, read_fields
from spillcache.scan.index import Index
from spillcache.scan.keys import key_ends, repeats
from spillcache.scan.model import MAX_RESULTS, Inventory, Kind
from spillcache.scan.names import find_names
from spillcache.scan.search import FoundResults, find_results
from spillcache.scan.table import NO_RESULTS, Naming, ResultTable
from spillcache.scan.tokens import LINE_END
from spillcache.scan.words import Texts, gather

#: Nesting beyond which parsers in use give up; what lies deeper is stored, and said to be too deep.
MOST_LEVELS = 1000
#: Members of all results together among which repeated keys are looked for.
_MOST_MEMBERS = 1000
_BOM = b"\xef\xbb\xbf"
_OBJECT = 0x7B

_TYPE_OF_BYTE = np.zeros(256, np.uint8)
# in the order of TYPES
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
        return Inventory(NO_RESULTS, None, "$", tuple(partial), ending.strict, 0), _NONE, 0
    results, duplicates = _results(index, listing)
    partial.extend(listing.partial)
    reasons = tuple(dict.fromkeys(partial))
    inventory = Inventory(results, listing.total, listing.path, reasons, ending.strict, duplicates)
    return inventory, listing.starts, listing.level


def _of_document(index: Index, ending: Ending) -> tuple[FoundResults | None, list[str]]:
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


def _of_lines(index: Index, *, whole: bool) -> FoundResults:
    """Each line that is not blank is a result; its number counts blank ones too."""
    begin = lines = total = 0
    starts: list[Ints] = []
    ends: list[Ints] = []
    numbers: list[Ints] = []
    for line_ends in _line_ends(index, whole=whole):
        start = index.skip_blanks(np.append(begin, line_ends[:-1] + 1))
        shown = np.flatnonzero(start < line_ends)
        if total < MAX_RESULTS:
            starts.append(start[shown])
            ends.append(line_ends[shown])
            numbers.append(shown + lines)
        total += len(shown)
        lines += len(line_ends)
        begin = int(line_ends[-1]) + 1
    start, end, number = (np.concatenate(parts or [_NONE])[:MAX_RESULTS] for parts in (starts, ends, numbers))
    partial = ("too_many",) if total > MAX_RESULTS else ()
    return FoundResults("$", 0, start, index.trim_blanks(end), start, number, total if whole else None, partial)


def _line_ends(index: Index, *, whole: bool) -> Iterator[Ints]:
    """Where lines end, in parts, so that millions of lines take no memory; the last one at the end of the text."""
    for part in index.level(0, index.end, 0):
        at = part.at[part.byte == LINE_END]
        if len(at):
            yield at
    if whole:
        yield np.array([index.end])


def _results(index: Index, listing: FoundResults) -> tuple[ResultTable, int]:
    if not len(listing.starts):
        return NO_RESULTS, 0
    own = read_fields(index, int(listing.starts[0]), int(listing.ends[-1]), listing.level + 1)
    counts = count_samples(index, listing.values, listing.ends, listing.level)
    naming, names = _names(index, listing, own)
    results = ResultTable(
        listing.path,
        naming,
        names,
        listing.place,
        listing.starts,
        listing.ends,
        _types(index, listing),
        counts.series,
        counts.points,
        counts.approximate,
    )
    repeated = repeats(names, np.zeros_like(listing.starts)) if naming == "keys" else 0
    return results, repeated + _repeats_within(index, own)


def _names(index: Index, listing: FoundResults, own: Fields | None) -> tuple[Naming, Texts]:
    if listing.whole is not None:
        return "whole", Texts.of(listing.whole)
    if listing.key_ends is not None:
        return "keys", gather(index.text, listing.starts, listing.key_ends)
    start, end = find_names(index, listing.values, listing.ends, listing.level, own)
    return "values", gather(index.text, start, end)


def _types(index: Index, listing: FoundResults) -> Bytes:
    first = index.text.take(listing.values, mode="clip")
    types = _TYPE_OF_BYTE.take(first)
    types[listing.values >= listing.ends] = 0
    closing = _CLOSING.take(first)
    last = index.text.take(np.maximum(listing.ends - 1, 0))
    types[(closing != 0) & ((closing != last) | (listing.ends - listing.values == 1))] = 0
    return types


def _repeats_within(index: Index, own: Fields | None) -> int:
    """Keys that repeat within results, if these have few members together."""
    if own is None or len(own.start) > _MOST_MEMBERS:
        return 0
    start, container = own.start, own.opens.take(own.group)
    end = key_ends(index, start)
    keyed = (end > 0) & (index.text.take(container) == _OBJECT)
    return repeats(gather(index.text, start[keyed], end[keyed]), container[keyed])


_NONE: Ints = np.empty(0, np.int64)
