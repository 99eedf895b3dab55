"""Filling a page of the compact view: what of the payload fits, written shorter.

A page ends between samples, or before a series of which it could show none, or somewhere else at a safe edge. Where it
ends is told as an offset in the payload, so positions and cursors mean the same as in the raw view.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Literal, NamedTuple

from spillcache.compact.expanding import keeps_time
from spillcache.compact.samples import read_samples, short_samples
from spillcache.cut import prefix_within
from spillcache.edges import LONGEST_UNIT
from spillcache.series import Axis, Series, SeriesTable
from spillcache.series.labels import short_labels
from spillcache.wire import Wire


class CompactText(NamedTuple):
    """The text of a page and where in the payload it ends."""

    text: str
    end: int


class _Part(NamedTuple):
    """A part of the payload that is written in short, or where a series begins: then it is empty."""

    start: int
    end: int
    what: Literal["begins", "labels", "samples", "sample", "times"]
    series: Series
    number: int
    axis: Axis | None = None


def write_compact(
    text: bytes, base: int, table: SeriesTable, position: int, scope: tuple[int, int], room: int, wire: Wire
) -> CompactText:
    """The page that begins at `position` of the payload, in at most `room` bytes on the wire.

    `text` holds the payload from `base` on, at least 4 KB past `position` unless it ends before; `scope` is the range
    that is read. A page that ends where it begins has no room for anything.
    """
    return _Page(text, base, position, scope, room, wire).fill(table)


def has_series(table: SeriesTable, start: int, end: int) -> bool:
    """Whether anything in a range of the payload is written in short."""
    return any(start <= part.start and part.end <= end for part in _parts(table, start, end) if part.what != "begins")


def series_around(table: SeriesTable, position: int, scope: tuple[int, int]) -> tuple[int, Series] | None:
    """The series, with its number from 1, whose samples a page that begins at `position` goes on with."""
    for part in _parts(table, position, position + 1):
        if part.what == "samples" and part.start < position < part.end:
            return (part.number, part.series) if scope[0] <= part.start and part.end <= scope[1] else None
    return None


def _parts(table: SeriesTable, start: int, end: int) -> Iterator[_Part]:
    """The parts of the payload from `start` up to `end` in order; parts may reach beyond both."""
    axes = [axis for axis in table.axes if axis.end > start and axis.start < end][::-1]
    first = bisect_right(table.series, start, key=lambda one: one.end)
    begun = -1
    for number in range(first + 1, len(table.series) + 1):
        one = table.series[number - 1]
        if one.start >= end:
            break
        if one.start > begun:
            begun = one.start
            yield _Part(one.start, one.start, "begins", one, number)
        if one.form == "frame":
            while axes and axes[-1].start < one.values_start:
                axis = axes.pop()
                yield _Part(axis.start, axis.end, "times", one, number, axis)
            continue
        if one.labels:
            yield _Part(one.labels_start, one.labels_end, "labels", one, number)
        if one.form == "matrix":
            yield _Part(one.values_start, one.values_end, "samples", one, number)
        elif one.form == "vector":
            yield _Part(one.values_start, one.values_end, "sample", one, number)


class _Page:
    """A page while it is filled: what is written up to `at`, and the last place where a series begins."""

    def __init__(self, text: bytes, base: int, position: int, scope: tuple[int, int], room: int, wire: Wire) -> None:
        self._text, self._base, self._wire = text, base, wire
        self._position, self._scope = position, scope
        end = base + len(text)
        self._limit = scope[1] if end >= scope[1] else end - LONGEST_UNIT  # whether that is an edge, is not known
        self._room = room
        self._written: list[str] = []
        self._at = position
        self._mark: tuple[int, int] | None = None
        self._time = ""

    def fill(self, table: SeriesTable) -> CompactText:
        for part in _parts(table, self._position, self._limit):
            if part.start < self._scope[0] or part.end > self._scope[1]:
                continue  # a scope that cuts through a series shows it as it is
            inside = part.what == "samples" and part.start < self._at < part.end
            if part.start < self._at and not inside:
                continue
            if not inside and not self._write_up_to(part.start):
                break
            if not self._write(part):
                break
        else:
            if self._write_up_to(self._limit) and self._at < self._scope[1]:
                self._give_back()
        return CompactText("".join(self._written), self._at)

    def _write(self, part: _Part) -> bool:
        """Write a part in short; False when the page ends here."""
        match part.what:
            case "begins":
                self._mark = (self._at, len(self._written))
                return True
            case "samples":
                return self._write_samples(part)
            case "labels":
                return self._write_labels(part)
            case "sample":
                return self._write_sample(part)
            case _:
                return self._write_times(part)

    def _write_labels(self, part: _Part) -> bool:
        """Labels in short, or left to be written as they are: then a page may break them off."""
        short = short_labels(self._raw(part.start, part.end)) if part.end <= self._limit else None
        if short is None or (self._wire.cost(short) > self._room and not self._can_give_back):
            return True
        return self._put(short, part.end)

    def _write_samples(self, part: _Part) -> bool:
        samples = read_samples(self._text, self._at - self._base, part.start - self._base, part.end - self._base)
        copies = len(self._wire.copies)
        left, pieces, end = self._room - 2 * copies, [], self._at
        for unit in short_samples(samples):  # all of it is ASCII that nothing escapes
            left -= len(unit.text) * copies
            if left < 0:
                break
            pieces.append(unit.text)
            end = unit.end + self._base
        if not pieces:
            return self._give_back()
        self._written.append(f"<{''.join(pieces)}>")
        self._room -= (sum(map(len, pieces)) + 2) * copies
        self._at, self._mark, self._time = end, None, ""
        return end == part.end

    def _write_sample(self, part: _Part) -> bool:
        raw = self._raw(part.start, part.end) if part.end <= self._limit else ""
        time, _, value = "".join(raw.split()).strip('[]"').partition(',"')
        if not raw:
            return self._give_back()
        if not self._put(f"<{'=' if time == self._time else time} {value}>", part.end):
            return False
        self._time, self._mark = time, None
        return True

    def _write_times(self, part: _Part) -> bool:
        axis = part.axis
        if axis is None or not self._put(f"<{axis.first}+{axis.step}*{axis.points}>", part.end):
            return False
        self._mark, self._time = None, ""
        return self._at < self._limit or self._at == self._scope[1]

    def _put(self, short: str, end: int) -> bool:
        cost = self._wire.cost(short)
        if cost > self._room:
            return self._give_back()
        self._written.append(short)
        self._room -= cost
        self._at = end
        return True

    @property
    def _can_give_back(self) -> bool:
        return self._mark is not None and self._mark[0] > self._position

    def _give_back(self) -> bool:
        """End the page before the series of which it shows nothing yet, if it shows anything else."""
        if self._mark is not None and self._can_give_back:
            self._at = self._mark[0]
            del self._written[self._mark[1] :]
        return False

    def _write_up_to(self, stop: int) -> bool:
        """Write the text before `stop` as it is; False when the page ends before."""
        wanted, stop = stop, min(stop, self._limit)
        if stop <= self._at:
            return wanted <= self._at
        ahead = self._text[self._at - self._base : stop - self._base + LONGEST_UNIT]
        length = prefix_within(ahead, self._room, self._wire, stop - self._at)
        if length < stop - self._at and self._can_give_back:
            return self._give_back()
        if length < stop - self._at:
            comma = ahead.rfind(b",", length * 3 // 4, length) + 1
            length = comma or length
        raw = ahead[:length].decode()
        self._written.append(raw)
        if self._time and not keeps_time(raw):
            self._time = ""
        self._room -= self._wire.cost(raw)
        self._at += length
        return self._at == wanted

    def _raw(self, start: int, end: int) -> str:
        return self._text[start - self._base : end - self._base].decode()
