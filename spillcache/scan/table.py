"""The results of an inventory: columns of numbers, and names as raw JSON, spelled out one by one when asked for.

A payload may have twenty thousand results of which nobody ever reads the names; an object for each of them would take
longer than all the rest of a scan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args, overload

import numpy as np
from numpy.typing import NDArray

from spillcache.scan.bitmaps import Ints
from spillcache.scan.spelling import member_path, name_of_key, name_of_value
from spillcache.scan.words import Texts

ResultType = Literal["object", "array", "string", "number", "boolean", "null", "invalid"]
#: What the column `type` of a table holds are places in this list.
TYPES: tuple[ResultType, ...] = ("invalid", "object", "array", "string", "number", "boolean", "null")
#: What the raw names of a table are: the results' keys, members of them, or the key of the only one.
Naming = Literal["keys", "values", "whole"]
NAMINGS: tuple[Naming, ...] = get_args(Naming)
#: The count that does not apply or is not known.
UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Result:
    """One named result of the inventory.

    The range `start`..`end` (exclusive, in bytes, without the comma) holds the value of an array element or a line, and
    key, colon and value of an object's member: it begins at the key's opening quote. `type` is the value's, told from
    its first byte (and for lines also from the last); "invalid" fits no JSON value.

    `series` counts the elements of the result's own list of series, `points` the samples under it; see `counts`. None
    means "does not apply" or "not known"; 0 is a real zero.
    """

    name: str
    path: str
    start: int
    end: int
    type: ResultType
    series: int | None
    points: int | None
    approximate: bool


@dataclass(frozen=True, slots=True, eq=False)
class ResultTable(Sequence[Result]):
    """The results of a container at `path`. All columns have one element per result.

    `place` numbers the elements of an array, or lines; it is the name of what has no other. `type` holds places in
    TYPES, `series` and `points` are UNKNOWN where they do not apply.
    """

    path: str
    naming: Naming
    raw_names: Texts
    place: Ints
    start: Ints
    end: Ints
    type: NDArray[np.uint8]
    series: Ints
    points: Ints
    approximate: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.start)

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> ResultTable: ...
    def __getitem__(self, index: int | slice) -> Result | ResultTable:
        if isinstance(index, slice):
            return self._only(index)
        series, points = int(self.series[index]), int(self.points[index])
        return Result(
            name=self._name(index),
            path=self._path_of(index),
            start=int(self.start[index]),
            end=int(self.end[index]),
            type=TYPES[self.type[index]],
            series=None if series == UNKNOWN else series,
            points=None if points == UNKNOWN else points,
            approximate=bool(self.approximate[index]),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ResultTable | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(ours == theirs for ours, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ResultTable({list(self)!r})"

    def holding(self, start: int, end: int) -> int | None:
        """The number (from 1) of the result that bytes `start` to `end` lie in."""
        number = int(self.start.searchsorted(start, "right"))
        return number if number and end <= int(self.end[number - 1]) else None

    def names(self) -> Iterator[str]:
        """The names of all results, each of 1 to 200 characters."""
        return map(self._name, range(len(self)))

    def _name(self, index: int) -> str:
        raw = self.raw_names.piece(index)
        name = name_of_value(raw) if self.naming == "values" else name_of_key(raw)
        return name or f"[{self.place[index]}]"

    def _path_of(self, index: int) -> str:
        if self.naming == "whole":
            return self.path
        if self.naming == "keys":
            return member_path(self.path, self.raw_names.piece(index))
        return f"{self.path}[{self.place[index]}]"

    def _only(self, which: slice) -> ResultTable:
        return ResultTable(
            self.path,
            self.naming,
            self.raw_names.only(which),
            self.place[which],
            self.start[which],
            self.end[which],
            self.type[which],
            self.series[which],
            self.points[which],
            self.approximate[which],
        )


_NOTHING = np.empty(0, np.int64)
#: No results.
NO_RESULTS = ResultTable(
    "$",
    "values",
    Texts(_NOTHING.view(np.uint64), _NOTHING, _NOTHING),
    *(_NOTHING,) * 3,
    np.empty(0, np.uint8),
    *(_NOTHING,) * 2,
    np.empty(0, np.bool_),
)
