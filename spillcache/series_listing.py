"""The series of a payload as they are read: numbers that tell where to look, a page of them at a time. Not the data."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spillcache.cursor import MAX_CHARACTERS
from spillcache.listing import fill_list
from spillcache.scan import ResultTable
from spillcache.series import Series, SeriesTable
from spillcache.series.labels import shown_labels
from spillcache.wire import Wire

_NOTE = (
    "Numbers derived when the result was stored: a table of contents, not the data. Read the values where it matters."
)
_NONE_KNOWN = "No time series were recognised, which says nothing of the data: read it page by page."
_NONE_UNDERSTOOD = (
    "No time series were recognised, but not all was understood or looked at: there may be some. Read it page by page."
)
_AT_LEAST = " There may be more: some of what looks like series was not understood or looked at; read that as it is."
_NO_TABLE = "This spill was stored without a table of series, which says nothing of the data: read it page by page."


@dataclass(frozen=True, slots=True)
class SeriesEntry:
    """One series: its number (from 1), the result it belongs to (None: to none that is named), and what it holds.

    `start`..`end` are bytes in the payload, of the object that holds it: for a data frame that of all its columns.
    `labels_omitted` says that its labels are too long to be kept, `labels_cut` that only their beginning is shown.
    `first_time` and `last_time` are those of the first and the last sample in the list, of log lines the earlier and
    the later of these. Times and values are spelled as in the payload; None where there are none, as log lines have no
    least one. `nan` counts samples that are NaN or null.
    `cursor` begins a walk of these bytes, in the raw view, which ends with what it left unread.
    """

    index: int
    result: int | None
    start: int
    end: int
    points: int
    nan: int
    first_time: str | None
    last_time: str | None
    least: str | None
    greatest: str | None
    last: str | None
    cursor: str
    labels: str = ""
    labels_omitted: bool = False
    labels_cut: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The entry as it is sent; what does not apply is absent."""
        answer: dict[str, Any] = {"index": self.index, "result": self.result, "labels": self.labels or None}
        answer |= {"labels_omitted": self.labels_omitted or None, "labels_cut": self.labels_cut or None}
        answer |= {"count": self.points, "start": self.first_time}
        answer |= {"end": self.last_time, "min": self.least, "max": self.greatest, "last": self.last}
        answer |= {"nan": self.nan or None, "bytes": f"{self.start}-{self.end}", "cursor": self.cursor}
        return {name: value for name, value in answer.items() if value is not None}


@dataclass(frozen=True, slots=True)
class SeriesListing:
    """Entries of the list of series, all of them or a page.

    `series` is how many are known in what was asked for, None where the spill has no table of them. `partial` says why
    there may be more in the payload: then `series` is the least there are.
    """

    spill_id: str
    size: int
    series: int | None
    partial: tuple[str, ...]
    entries: tuple[SeriesEntry, ...]
    next_cursor: str | None = None

    @property
    def series_status(self) -> str:
        """COMPLETE when no entry follows and all of the payload was looked at; it speaks of the list, never of data."""
        return "PARTIAL" if self.next_cursor is not None or self.partial or self.series is None else "COMPLETE"

    @property
    def note(self) -> str:
        """What the list is, and what it does not say."""
        if self.series is None:
            return _NO_TABLE
        if not self.series:
            return _NONE_UNDERSTOOD if self.partial else _NONE_KNOWN
        return _NOTE + _AT_LEAST if self.partial else _NOTE

    def as_dict(self) -> dict[str, Any]:
        """The answer as it is sent. `status` speaks of the data, of which this shows nothing."""
        answer: dict[str, Any] = {"note": self.note, "size_bytes": self.size}
        if self.series or (self.series == 0 and not self.partial):  # 0 would read as none where nothing is known
            answer["series"] = self.series
        if self.partial:
            answer["partial"] = list(self.partial)
        answer["entries"] = [entry.as_dict() for entry in self.entries]
        answer |= {"status": "PARTIAL", "series_status": self.series_status}
        if self.next_cursor is not None:
            answer["next_cursor"] = self.next_cursor
        return answer


def list_series(
    table: SeriesTable | None,
    results: ResultTable,
    *,
    spill_id: str,
    size: int,
    scope: tuple[int, int],
    position: int,
    budget: int | None,
    wire: Wire,
    sign: Callable[[int], str],
    sign_part: Callable[[int, int], str],
) -> SeriesListing:
    """The series within `scope` from number `position` (from 0) on: all, or as many as fit into `budget` bytes.

    `sign` makes the cursor of the next entries, `sign_part` one that reads a range of the payload.

    Raises `BudgetTooSmall`.
    """
    if table is None:
        return SeriesListing(spill_id, size, None, (), ())
    first = bisect_left(table.series, scope[0], key=lambda one: one.start)
    stop = bisect_right(table.series, scope[1], key=lambda one: one.end)
    position = max(first, position)
    bare = SeriesListing(spill_id, size, max(0, stop - first), table.partial, ())
    made = _entries(table.series, range(position, stop), results, sign_part)
    if budget is None:
        return replace(bare, entries=tuple(made))
    spent = wire.size(replace(bare, next_cursor="x" * MAX_CHARACTERS).as_dict())
    entries = fill_list(made, spent, budget, wire, "list of series")
    end = position + len(entries)
    return replace(bare, entries=tuple(entries), next_cursor=sign(end) if end < stop else None)


def _entries(
    series: Sequence[Series], places: Iterable[int], results: ResultTable, sign_part: Callable[[int, int], str]
) -> Iterator[SeriesEntry]:
    for place in places:
        one = series[place]
        yield SeriesEntry(
            index=place + 1,
            result=results.holding(one.start, one.end),
            start=one.start,
            end=one.end,
            points=one.points,
            nan=one.nan,
            first_time=one.first_time or None,
            last_time=one.last_time or None,
            least=one.least or None,
            greatest=one.greatest or None,
            last=one.last or None,
            cursor=sign_part(one.start, one.end),
            **shown_labels(one.labels),
        )
