"""What is known of the series of a payload."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal, NamedTuple, get_args, overload

#: Series that are told of one payload at most.
MAX_SERIES = 10_000
#: Bytes of labels kept of one series at most, and of all together.
MAX_LABEL_BYTES, MAX_LABELS_BYTES = 2_048, 2 << 20

#: How the samples of a series are written: `[[time,"value"],…]`, `[time,"value"]`, `[["time","line"],…]`, or as one
#: column of a data frame.
Form = Literal["matrix", "vector", "streams", "frame"]
FORMS: tuple[Form, ...] = get_args(Form)


class Series(NamedTuple):
    """One series: where it is in the payload, in bytes, and what its samples say.

    `start`..`end` is the object that holds it, `values_start`..`values_end` its list of samples, brackets included.
    `labels` is its JSON object of labels as written, empty where it is longer than MAX_LABEL_BYTES, and
    `labels_start`..`labels_end` its place.
    The first and last time are those of the first and the last sample in the list; of log lines, which are listed
    backwards as well, the earlier and the later of the two. Times and values are spelled as in the payload; all are ""
    where there are none, and values are where samples are no numbers (log lines). `nan` counts samples that are NaN or
    null: they are neither least nor greatest.
    """

    form: Form
    start: int
    end: int
    labels_start: int
    labels_end: int
    values_start: int
    values_end: int
    points: int
    nan: int
    labels: str
    first_time: str
    last_time: str
    least: str
    greatest: str
    last: str


class SeriesColumns(Sequence[Series]):
    """Series kept by columns, as they are found and stored; a row is made when it is asked for.

    An instant vector has a series for each sample, and most of them nobody asks for. Raises `ValueError` unless there
    is one column for each field, all of one length.
    """

    __slots__ = ("columns",)

    def __init__(self, columns: Iterable[Iterable[Any]] = ((),) * len(Series._fields)) -> None:
        self.columns: tuple[tuple[Any, ...], ...] = tuple(map(tuple, columns))
        if len(self.columns) != len(Series._fields) or len(set(map(len, self.columns))) > 1:
            raise ValueError("series have a column for each field, all of one length")

    def __len__(self) -> int:
        return len(self.columns[0])

    @overload
    def __getitem__(self, place: int) -> Series: ...
    @overload
    def __getitem__(self, place: slice) -> SeriesColumns: ...
    def __getitem__(self, place: int | slice) -> Series | SeriesColumns:
        taken = (column[place] for column in self.columns)
        return SeriesColumns(taken) if isinstance(place, slice) else Series._make(taken)

    def __iter__(self) -> Iterator[Series]:
        return map(Series._make, zip(*self.columns, strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SeriesColumns) and self.columns == other.columns

    def __hash__(self) -> int:
        return hash(self.columns)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, islice(self, 2)))
        return f"<{len(self)} series: {shown}, …>" if len(self) > 2 else f"<{len(self)} series: {shown}>"


_NO_SERIES = SeriesColumns()


class Axis(NamedTuple):
    """The times of a data frame, `start`..`end` with the brackets, when each is `step` (spelled) after the one before.

    `first` is the first one as spelled; there are `points`.
    """

    start: int
    end: int
    first: str
    step: str
    points: int


@dataclass(frozen=True, slots=True)
class SeriesTable:
    """The series of a payload in the order of its bytes, and the regular time columns of its data frames.

    `partial` says why there may be more than these: "window" (only the beginning of the payload was looked at),
    "too_many" (more series, or labels, than are kept), "truncated" and "malformed" (as the scan has found, or what has
    series is no JSON, or too much only looks like them), "unrecognised" (something looks like a series and was not
    understood).
    `known_json` is up to which byte all that stands outside strings is known to be words of JSON. Beyond it text of the
    payload may look like the compact view, so nothing there is written in short.
    """

    series: SeriesColumns = _NO_SERIES
    axes: tuple[Axis, ...] = ()
    partial: tuple[str, ...] = ()
    known_json: int = 0

    def with_faults(self, faults: Iterable[str]) -> SeriesTable:
        """The same table, where this is wrong with the payload."""
        return replace(self, partial=tuple(dict.fromkeys((*self.partial, *faults))))


#: The table of a payload that is no JSON: nothing was looked for in it.
NOT_LOOKED_AT = SeriesTable(partial=("unrecognised",))
