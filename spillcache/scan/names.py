"""Where the names of results lie: what a reader would call them, still as raw JSON.

A member of an object goes by its key. Everything else by its own `name`, `refId`, `query`, `expr`, `title` or `id`, in
this order; else by its labels, as `up{job="node"}`; else by the same members of its `schema`, `metadata` or
`structuredContent`; else by its place, as `[17]`. Names are cut at 200 characters and are not unique.
"""

from __future__ import annotations

import numpy as np

from spillcache.scan.bitmaps import Ints
from spillcache.scan.container import LABEL_KEYS, NAME_KEYS
from spillcache.scan.fields import Fields, owners, read_fields
from spillcache.scan.index import Index
from spillcache.scan.keys import Keys, value_after_key
from spillcache.scan.spelling import LONGEST_HEAD
from spillcache.scan.tokens import Flags

_NAMING = NAME_KEYS + LABEL_KEYS
_NESTED = (b"schema", b"metadata", b"structuredContent")
#: Labels of more bytes are no name.
_LONGEST_LABELS = 4096
_QUOTE, _OPEN_OBJECT = 0x22, 0x7B
_FIRST_OF_NUMBER = np.zeros(256, np.bool_)
_FIRST_OF_NUMBER[list(b"-0123456789")] = True


def find_names(index: Index, values: Ints, ends: Ints, level: int, own: Fields | None) -> tuple[Ints, Ints]:
    """From where to where the raw names of values lie that themselves lie at `level`; equal where there is none.

    `own` are the values' members, None when they are too many to be looked at.
    """
    names = _Names(index, ends)
    if own is not None and len(own.start):
        owner = np.minimum(np.searchsorted(values, own.opens), len(values) - 1)
        owner[values[owner] != own.opens] = -1
        names.find(own, owner)
        if not names.end.all():
            _find_nested(index, names, values, ends, level, own)
    return names.start, names.end


def _find_nested(index: Index, names: _Names, values: Ints, ends: Ints, level: int, own: Fields) -> None:
    parts = []
    keys = Keys(index, own.start, _NESTED)
    for key in _NESTED:
        found = keys.which_are(key)
        if len(found):
            parts.append(value_after_key(index, own.start[found] + len(key) + 2))
    if not parts:
        return
    opens = np.sort(np.concatenate(parts))
    nested = read_fields(index, int(values[0]), int(ends[-1]), level + 2)
    if nested is None or not len(nested.start):
        return
    owner = owners(nested.opens, values, ends)
    owner[~np.isin(nested.opens, opens)] = -1
    names.find(nested, owner)


class _Names:
    """Names as far as they were found; both are 0 where none was."""

    def __init__(self, index: Index, ends: Ints) -> None:
        self._index = index
        self._ends = ends
        self.start = np.zeros(len(ends), np.int64)
        self.end = np.zeros(len(ends), np.int64)

    def find(self, fields: Fields, owner: Ints) -> None:
        """Name results that have no name yet by members; `owner` says whose each container is, -1 nobody's."""
        best = np.full(len(self.end), -1, np.int64)
        value_at = np.zeros(len(self.end), np.int64)
        keys = Keys(self._index, fields.start, _NAMING)
        for key in reversed(_NAMING):
            found = keys.which_are(key)[::-1]  # of two with one key the first counts
            if not len(found):
                continue
            whose = owner.take(fields.group.take(found))
            value = value_after_key(self._index, fields.start[found] + len(key) + 2)
            usable = (value >= 0) & (whose >= 0) & self._is_usable(value, key)
            if not usable.all():
                found, value, whose = found[usable], value[usable], whose[usable]
            best[whose], value_at[whose] = found, value
        named = np.flatnonzero((best >= 0) & (self.end == 0))
        start = value_at[named]
        end = self._index.trim_blanks(np.minimum(fields.end[best[named]], self._ends[named]))
        end = self._bounded(start, end)
        self.start[named], self.end[named] = np.where(end > start, start, 0), np.where(end > start, end, 0)

    def _is_usable(self, value: Ints, key: bytes) -> Flags:
        """Which values make a name: text that is not empty, numbers; for labels, objects."""
        text = self._index.text
        first = text.take(value, mode="clip")
        if key in LABEL_KEYS:
            labels: Flags = first == _OPEN_OBJECT
            return labels
        second = text.take(value + 1, mode="clip")
        plain: Flags = _FIRST_OF_NUMBER.take(first) | ((first == _QUOTE) & (second != _QUOTE))
        return plain

    def _bounded(self, start: Ints, end: Ints) -> Ints:
        """Ends of names: of long strings the head, of anything else that is too long nothing."""
        long = np.flatnonzero(end - start > LONGEST_HEAD)
        if len(long):
            is_string = self._index.text[start[long]] == _QUOTE
            end[long[is_string]] = start[long[is_string]] + LONGEST_HEAD
            end[long[end[long] - start[long] > _LONGEST_LABELS]] = 0
        return end
