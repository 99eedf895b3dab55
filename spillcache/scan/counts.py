"""How many series a result has, and how many samples they hold.

- `series` counts the elements of the result's list of series: the array that is the result, or its first member among
  `SERIES_KEYS` that is an array, directly or inside one wrapping object. A result without one is itself one series, or
  something else, and has no such count.
- `points` counts the samples under each series: the elements of its `values`, `datapoints`, `points`, `samples` or
  `histograms`, one for its `value` or `histogram`, and for a data frame the length of its first column.
- An array of scalars or of arrays is one list of samples: its `points` are its elements. What it holds is told from the
  first element, so this count is approximate. All others were made along checked keys, from parent to child.
- An empty array or object has 0 series and 0 points; null has neither.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spillcache.scan.bitmaps import Ints
from spillcache.scan.container import WRAPPERS
from spillcache.scan.fields import Groups, owners, read_groups
from spillcache.scan.index import Index
from spillcache.scan.keys import KeysBefore
from spillcache.scan.table import UNKNOWN
from spillcache.scan.tokens import Flags

SERIES_KEYS = (b"result", b"results", b"frames", b"series", b"streams", b"data", b"items", b"rows", b"records")
_SAMPLE_LISTS = (b"values", b"datapoints", b"points", b"samples", b"histograms")
_WRAPPERS = tuple(sorted(WRAPPERS))
_SAMPLES = (b"value", b"histogram")
_OBJECT, _ARRAY = 0x7B, 0x5B


class Counts(NamedTuple):
    """One element per result; UNKNOWN where a count does not apply."""

    series: Ints
    points: Ints
    approximate: Flags


def count_samples(index: Index, values: Ints, ends: Ints, level: int) -> Counts:
    """Counts of the results whose values begin at `values` and lie at `level`."""
    count = _Count(index, values, ends, level)
    count.run()
    return Counts(count.series, count.points, count.approximate)


class _Count:
    def __init__(self, index: Index, values: Ints, ends: Ints, level: int) -> None:
        self._index, self._values, self._ends, self._level = index, values, ends, level
        self._groups: dict[int, Groups | None] = {}
        self._keys: dict[int, KeysBefore] = {}
        self.series = np.full(len(values), UNKNOWN, np.int64)
        self.points = np.full(len(values), UNKNOWN, np.int64)
        self.approximate = np.zeros(len(values), np.bool_)

    def run(self) -> None:
        first = self._index.text[np.minimum(self._values, self._index.end - 1)] if len(self._values) else _NO_BYTES
        objects = first == _OBJECT
        if not (objects | (first == _ARRAY)).any():
            return
        self._mark_empty()
        self._count_arrays(np.flatnonzero(first == _ARRAY))
        rest = self._count_lists(np.flatnonzero(objects & (self.series == UNKNOWN)), 2, SERIES_KEYS)
        rest = self._count_wrapped(rest)
        self._count_points(self._level, rest, self._values[rest], self._ends[rest])

    def _mark_empty(self) -> None:
        """Brackets with nothing between them."""
        closed = self._index.skip_blanks(self._values + 1) >= self._ends - 1
        byte = self._index.text[np.minimum(self._values, self._index.end - 1)]
        empty = closed & ((byte == _OBJECT) | (byte == _ARRAY))
        self.series[empty] = self.points[empty] = 0

    def _count_arrays(self, arrays: Ints) -> None:
        arrays = arrays[self.series[arrays] == UNKNOWN]
        groups = self._at(1) if len(arrays) else None
        if groups is None:
            return
        place = np.searchsorted(groups.open, self._values[arrays])
        known = place < len(groups.open)
        arrays, place = arrays[known], place[known]
        first = self._index.text[self._index.skip_blanks(self._values[arrays] + 1)]
        of_series = first == _OBJECT
        samples = arrays[~of_series]
        self.points[samples], self.approximate[samples] = groups.elements[place[~of_series]], True
        arrays, place = arrays[of_series], place[of_series]
        self.series[arrays] = groups.elements[place]
        self._count_points(self._level + 1, arrays, groups.open[place], groups.close[place])

    def _count_lists(self, results: Ints, below: int, keys: tuple[bytes, ...]) -> Ints:
        """Count results by a list of series `below` levels down. Returns those that have none."""
        groups = self._at(below) if len(results) else None
        if groups is None:
            return results
        lists = np.flatnonzero((groups.byte == _ARRAY) & self._keys_at(below).are(*keys))
        if below > 2:
            lists = lists[self._within_wrapper(groups.open[lists])]
        owner = owners(groups.open[lists], self._values, self._ends)
        lists, owner = lists[owner >= 0], owner[owner >= 0]
        uncounted = np.zeros(len(self.series), np.bool_)
        uncounted[results] = True
        wanted = uncounted[owner]
        wanted[1:] &= owner[1:] != owner[:-1]  # of several lists the first
        owner, lists = owner[wanted], lists[wanted]
        self.series[owner] = groups.elements[lists]
        self._count_points(self._level + below, owner, groups.open[lists], groups.close[lists])
        uncounted[owner] = False
        return np.flatnonzero(uncounted)

    def _within_wrapper(self, places: Ints) -> Flags:
        groups = self._at(2)
        if groups is None:
            return np.zeros(len(places), np.bool_)
        objects = np.flatnonzero((groups.byte == _OBJECT) & self._keys_at(2).are(*_WRAPPERS))
        return owners(places, groups.open[objects], groups.close[objects]) >= 0

    def _count_wrapped(self, results: Ints) -> Ints:
        groups = self._at(2) if len(results) else None
        objects = None if groups is None else groups.byte == _OBJECT
        if objects is None or not objects.any() or not (objects & self._keys_at(2).are(*_WRAPPERS)).any():
            return results
        return self._count_lists(results, 3, SERIES_KEYS)

    def _count_points(self, level: int, results: Ints, starts: Ints, ends: Ints) -> None:
        """Count samples of series that are elements at `level` of these ranges, one range per result."""
        empty = self.series[results] == 0
        self.points[results[empty]] = 0
        results, starts, ends = results[~empty], starts[~empty], ends[~empty]
        below = level - self._level + 2
        groups = self._at(below) if len(results) else None
        if groups is None:
            return
        arrays = groups.byte == _ARRAY
        single = arrays & self._keys_at(below).are(*_SAMPLES)
        lists = np.flatnonzero(single | (arrays & self._keys_at(below).are(*_SAMPLE_LISTS)))
        if not len(lists):
            self._count_frames(level, results, starts, ends)
            return
        counts = np.where(single[lists], 1, groups.elements[lists])
        self._add(results, owners(groups.open[lists], starts, ends), counts)

    def _count_frames(self, level: int, results: Ints, starts: Ints, ends: Ints) -> None:
        """Data frames: `data` holds `values`, a list of columns of one length."""
        below = level - self._level
        data, values = self._at(below + 2), self._at(below + 3)
        if data is None or values is None or not len(values.open):
            return
        frames = np.flatnonzero((data.byte == _OBJECT) & self._keys_at(below + 2).are(b"data"))
        lists = np.flatnonzero((values.byte == _ARRAY) & self._keys_at(below + 3).are(b"values"))
        lists = lists[owners(values.open[lists], data.open[frames], data.close[frames]) >= 0]
        columns = self._at(below + 4) if len(lists) else None
        if columns is None or not len(columns.open):
            return
        first = np.minimum(np.searchsorted(columns.open, values.open[lists]), len(columns.open) - 1)
        has_one = (columns.open[first] > values.open[lists]) & (columns.open[first] < values.close[lists])
        self._add(results, owners(values.open[lists], starts, ends), np.where(has_one, columns.elements[first], 0))

    def _add(self, results: Ints, owner: Ints, counts: Ints) -> None:
        counts, owner = counts[owner >= 0], owner[owner >= 0]
        sums = np.zeros(len(results), np.int64)
        np.add.at(sums, owner, counts)
        seen = np.zeros(len(results), np.bool_)
        seen[owner] = True
        self.points[results[seen]] = sums[seen]

    def _at(self, below: int) -> Groups | None:
        """The containers so many levels below the results."""
        if below not in self._groups:
            self._groups[below] = read_groups(
                self._index, int(self._values[0]), int(self._ends[-1]), self._level + below
            )
        return self._groups[below]

    def _keys_at(self, below: int) -> KeysBefore:
        """The keys of these containers."""
        if below not in self._keys:
            groups = self._at(below)
            self._keys[below] = KeysBefore(self._index, _NONE if groups is None else groups.open)
        return self._keys[below]


_NO_BYTES = np.empty(0, np.uint8)
_NONE: Ints = np.empty(0, np.int64)
