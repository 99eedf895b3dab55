"""Members of many containers at once: whose they are, and where they lie."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spillcache.scan.bitmaps import Bytes, Ints
from spillcache.scan.index import Index
from spillcache.scan.tokens import COMMA, is_close, is_open

#: Tokens of one level that are held at once: 16 MB of positions.
_MOST_TOKENS = 1 << 20


class Fields(NamedTuple):
    """Members (or elements) of all containers of one level in a range."""

    opens: Ints  # where containers open
    group: Ints  # which of these a member lies in
    start: Ints
    end: Ints


class Groups(NamedTuple):
    """Containers of one level in a range, and how many elements each has."""

    open: Ints
    close: Ints
    byte: Bytes
    elements: Ints


def read_fields(index: Index, start: int, end: int, level: int) -> Fields | None:
    """The members at `level` from `start` up to `end`; None when they are too many. Their ends may follow blanks."""
    at_parts: list[Ints] = []
    byte_parts: list[Bytes] = []
    held = 0
    for part in index.level(start, end, level):
        at_parts.append(part.at)
        byte_parts.append(part.byte)
        held += len(part.at)
        if held > _MOST_TOKENS:
            return None
    if not held:
        return Fields(_NONE, _NONE, _NONE, _NONE)
    at, byte = np.concatenate(at_parts), np.concatenate(byte_parts)
    opens = is_open(byte)
    begins = np.flatnonzero((opens | (byte == COMMA))[:-1])
    group = np.maximum(np.cumsum(opens), 1).take(begins) - 1
    starts, ends = index.skip_blanks(at.take(begins) + 1), at.take(begins + 1)
    full = starts < ends
    if not full.all():
        group, starts, ends = group[full], starts[full], ends[full]
    opened = at[opens]
    return Fields(opened if len(opened) else at[:1], group, starts, ends)


def read_groups(index: Index, start: int, end: int, level: int) -> Groups | None:
    """The containers whose elements lie at `level`; None when they are too many.

    Brackets of one level alternate. Where they do not, as in lines that are cut short, those without a partner count
    for nothing.
    """
    at_parts: list[Ints] = []
    byte_parts: list[Bytes] = []
    count_parts: list[Ints] = []
    held = commas = 0
    for part in index.level(start, end, level):
        comma = part.byte == COMMA
        before = np.cumsum(comma) + commas
        commas = int(before[-1]) if len(before) else commas
        at_parts.append(part.at[~comma])
        byte_parts.append(part.byte[~comma])
        count_parts.append(before[~comma])
        held += len(at_parts[-1])
        if held > _MOST_TOKENS:
            return None
    if not held:
        return Groups(_NONE, _NONE, np.empty(0, np.uint8), _NONE)
    at, byte, before = np.concatenate(at_parts), np.concatenate(byte_parts), np.concatenate(count_parts)
    first = np.flatnonzero(is_open(byte[:-1]) & is_close(byte[1:]))
    opens, closes, count = at[first], at[first + 1], before[first + 1] - before[first]
    bare = np.flatnonzero(count == 0)
    count += 1
    count[bare[index.skip_blanks(opens[bare] + 1) >= closes[bare]]] = 0
    return Groups(opens, closes, byte[first], count)


def owners(inside: Ints, starts: Ints, ends: Ints) -> Ints:
    """For each place the range it lies in, -1 for none. Ranges ascend and do not overlap."""
    owner = np.searchsorted(starts, inside, "right") - 1
    outside = owner < 0
    owner[outside] = 0
    if len(starts):
        outside |= inside >= ends[owner]
    owner[outside] = -1
    return owner


_NONE: Ints = np.empty(0, np.int64)
