"""Finding series in a payload, by the keys that hold their samples and the labels before them.

A key of JSON is found by its bytes: inside a string its quotes would be escaped. What lies behind it is then checked to
the last byte, so nothing is taken for a series that is none; what is one and has another form is left out, and the
table says so (see `leftover`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, islice
from typing import Any

import numpy as np
import orjson

from spillcache.series.frames import read_frame
from spillcache.series.leftover import known_json, leaves_series
from spillcache.series.model import (
    MAX_LABEL_BYTES,
    MAX_LABELS_BYTES,
    MAX_SERIES,
    Axis,
    Form,
    Series,
    SeriesColumns,
    SeriesTable,
)
from spillcache.series.samples import SampleReader, Told, read_values
from spillcache.series.spelling import is_time

#: Bytes before a list of samples in which its labels are looked for.
_LABELS_WITHIN = 16_384
#: Bytes looked at for each byte of the text, before what only looks like series is given up: lists that never end would
#: be looked at to the end of the text, each of them.
_MOST_LOOKED_AT = 8
#: How often a log line may look like the end of its stream before that is given up.
_MOST_TRIES = 16
_ONLY_STR = {str}
_LABEL_KEYS = (b'"metric"', b'"stream"', b'"labels"')

_VALUES = re.compile(rb'"(values?)"\s*:\s*(?=\[)')
_LINES = re.compile(rb'\[\s*\[\s*"')
_SAMPLES = re.compile(rb'\[\s*\[\s*[-+0-9.eE]+\s*,\s*"')
_CLOSE = re.compile(rb"\]\s*\]")
_LINE_CLOSE = re.compile(rb'"\s*\]\s*\]')
_SAMPLE = re.compile(rb'\[[ \t\r\n]*([^\s,"\[\]]+)[ \t\r\n]*,[ \t\r\n]*"([^"]+)"[ \t\r\n]*\]')
#: An element of a vector in the very form that Prometheus writes, or nothing, which ends a run of them.
_ELEMENT = re.compile(rb',\{"metric":(\{[^}]*+\}),"value":\[([^,]*+),"([^"]*+)"\]\}|')
#: Bytes of it before the labels, between labels and sample, and of the sample besides its time and value.
_BEFORE_LABELS, _BEFORE_SAMPLE, _SAMPLE_BYTES = len(b',{"metric":'), len(b',"value":'), len(b'[,""]')
_ELEMENT_BYTES = _BEFORE_LABELS + _BEFORE_SAMPLE + _SAMPLE_BYTES + len(b"}")
_AFTER_KEY = re.compile(rb"\s*:\s*(?=\{)")
_BETWEEN = re.compile(rb"[^\[\]{}]*,\s*")
_END = re.compile(rb"\s*\}")
_SCHEMA_TO_DATA = re.compile(rb'\s*,\s*"data"\s*:\s*\{\s*')


def find_series(text: bytes, *, whole: bool) -> SeriesTable:
    """The series in a JSON payload, or in its beginning when it is not `whole`."""
    finder = _Finder(text)
    finder.run()
    partial: list[str] = [] if whole else ["window"]
    if finder.full:
        partial.append("too_many")
    known = known_json(text, finder.read)
    if finder.gave_up or (whole and finder.objects and known < len(text)):
        partial.append("malformed")
    looked_at = finder.objects[-1][1] if finder.full and finder.objects else len(text)
    if leaves_series(text[:looked_at], finder.objects, whole=whole, labels=finder.has_labels):
        partial.append("unrecognised")
    return SeriesTable(SeriesColumns(finder.columns), tuple(finder.axes), tuple(partial), known)


class _Finder:
    def __init__(self, text: bytes) -> None:
        self.columns: tuple[list[Any], ...] = tuple([] for _ in Series._fields)
        self.axes: list[Axis] = []
        self.has_labels = False  # whether `labels` are those of a series, so that others may be repeated ones
        self.full = False  # whether more was found than is kept
        #: The objects that hold what was found, and what of them is known to be JSON to the last byte: starts and ends.
        #: Series that follow each other are one there.
        self.objects: list[tuple[int, int]] = []
        self.read: list[tuple[int, int]] = []
        self._text = text
        self._kept = 0  # bytes of labels
        self._floor = 0  # where the series before ended
        self._key = _LABEL_KEYS[0]
        self._left = _MOST_LOOKED_AT * len(text)
        self._samples_of = SampleReader()
        self._in_one_go = True  # until that fails once: trying again and again would take for ever

    @property
    def gave_up(self) -> bool:
        """Whether too much only looked like series."""
        return self._left < 0

    def run(self) -> None:
        """Find all that there is, or as much as is kept."""
        text, at = self._text, 0
        while not self.full and not self.gave_up and (at := text.find(b'"value', at)) >= 0:
            key = _VALUES.match(text, at)
            if key is None or (at and text[at - 1] == 0x5C):  # an escaped quote: the end of some other string
                at += 6
                continue
            self._end = key.end()
            self._samples(at, key.end(), key[1] == b"values")
            at = self._end
            self._floor = self._end

    def _keep(self, one: Series) -> None:
        self._kept += len(one.labels)
        if len(self.columns[0]) >= MAX_SERIES or self._kept > MAX_LABELS_BYTES:
            self.full = True
        if not self.full:
            for column, value in zip(self.columns, one, strict=True):
                column.append(value)
            self.objects.append((one.start, one.end))

    def _samples(self, key: int, start: int, many: bool) -> None:
        """Find the series whose samples begin at `start`, their key at `key`; `_end` is moved to behind them."""
        if not many:
            self._of_vector(key, start)
        elif _SAMPLES.match(self._text, start):
            self._of_matrix(key, start)
        elif _LINES.match(self._text, start):
            self._of_lines(key, start)
        else:
            self._of_frame(key, start)

    def _of_vector(self, key: int, start: int) -> None:
        sample = _SAMPLE.match(self._text, start)
        values = read_values([sample[2]]) if sample is not None and is_time(sample[1]) else None
        if sample is not None and values is not None:
            time, value = sample[1].decode(), sample[2].decode()
            nan = values[0] is None
            least = "" if nan else value
            told = Told(1, int(nan), time, time, least, least, value)
            self._series("vector", key, start, sample.end(), told)
            if self._in_one_go:
                self._more_of_vector(self._end)

    def _more_of_vector(self, at: int) -> None:
        """Find the elements that follow in the very form that Prometheus writes: an instant has hundreds of them."""
        labels: list[bytes] = []
        times: list[bytes] = []
        written: list[bytes] = []
        for element in islice(_ELEMENT.finditer(self._text, at), MAX_SERIES - len(self.columns[0])):
            if element.lastindex is None:
                break
            label, time, value = element.groups()
            labels.append(label)
            times.append(time)
            written.append(value)
        values = read_values(written)
        self._in_one_go = values is not None and all(map(is_time, set(times))) and _all_are_labels(labels)
        if not labels or values is None or not self._in_one_go:
            return
        told_labels = [label.decode() if len(label) <= MAX_LABEL_BYTES else "" for label in labels]
        kept = self._kept + sum(map(len, told_labels))
        if kept > MAX_LABELS_BYTES:
            return  # one by one, to the last that is kept
        places = _places_of_run(at, labels, times, written)
        told_times = b",".join(times).decode().split(",")
        least = told_values = b",".join(written).decode().split(",")
        nan = [0] * len(values)
        if None in values:
            nan = [int(value is None) for value in values]
            least = ["" if missing else value for missing, value in zip(nan, told_values, strict=True)]
        told = (told_labels, told_times, told_times, least, least, told_values)
        run: tuple[list[Any], ...] = (["vector"] * len(values), *places, [1] * len(values), nan, *told)
        for column, added in zip(self.columns, run, strict=True):
            column.extend(added)
        self._kept, self._end = kept, places[1][-1]
        self.objects.append((at + 1, self._end))
        self.read.append((at + 1, self._end))

    def _look(self, start: int, end: int) -> int:
        """Count what was looked at; the end is that of the text where nothing was found."""
        self._left -= (end if end >= 0 else len(self._text)) - start
        return end

    def _of_matrix(self, key: int, start: int) -> None:
        text = self._text
        first = text.find(b"]", start)
        # The end of the object ends the list, as a rule: it is the only brace, so it is found fastest.
        end = self._look(start, text.find(b"}", start))
        if text[end - 3 : end] != b'"]]':
            end = -1
            if text[first - 1 : first] == b'"' and text[first + 1 : first + 2] in (b",", b"]"):
                end = self._look(start, text.find(b'"]]', first - 1)) + 3
            if b"{" in text[start:end] or end <= start + 3:  # the end of another list: this one ends among blanks
                close = _CLOSE.search(text, first) if first >= 0 else None
                end = self._look(start, close.end() if close else -1)
        if end > start + 3 and (told := self._samples_of.tell(text[start:end])) is not None:
            self._series("matrix", key, start, end, told)

    def _of_lines(self, key: int, start: int) -> None:
        text, at = self._text, start
        for _ in range(_MOST_TRIES):
            close = _LINE_CLOSE.search(text, at)
            at = self._look(start, close.end() if close else -1)
            if close is None or self.gave_up:
                return
            if text[close.start() - 1] == 0x5C and _escapes(text, close.start()):
                continue
            samples = _loaded(text[start:at])
            if isinstance(samples, list) and all(_is_line(sample) for sample in samples):
                times = sorted((samples[0][0], samples[-1][0]), key=int)  # streams are listed backwards as well
                told = Told(len(samples), 0, times[0], times[1], "", "", "")
                self._series("streams", key, start, at, told)
                return

    def _of_frame(self, key: int, start: int) -> None:
        text = self._text
        schema = text.rfind(b'"schema"', max(self._floor, key - _LABELS_WITHIN), key)
        after = _AFTER_KEY.match(text, schema + 8) if schema >= 0 else None
        if after is None:
            return
        data = text.rfind(b'"data"', after.end(), key)
        comma = text.rfind(b",", after.end(), data) if data >= 0 else -1
        between = _SCHEMA_TO_DATA.match(text, comma) if comma >= 0 else None
        if between is None or between.end() != key:
            return
        written = text[after.end() : comma].rstrip()
        frame = read_frame(text, written, start)
        if frame is None:
            return
        closing = _END.match(text, frame.end)  # of "data"
        begin, end = self._object(schema, closing.end() if closing else frame.end)
        self._end = end
        if frame.axis is not None:
            self.read.append((frame.axis.start, frame.axis.end))
            self.axes.append(frame.axis)
        for column in frame.columns:
            self.read.append((column.start, column.end))
            labels = column.labels if len(column.labels) <= MAX_LABEL_BYTES else ""
            place = (after.end(), after.end() + len(written), column.start, column.end)
            self._keep(_made("frame", begin, end, place, labels, column.told))

    def _series(self, form: Form, key: int, start: int, end: int, told: Told) -> None:
        found = self._labels(key)
        if found is None:
            return
        label_key, labels_start, labels_end = found
        begin, stop = self._object(label_key, end)
        self.has_labels |= self._key == b'"labels"'
        self._end = stop
        self.read += (labels_start, labels_end), (start, end)
        written = labels_end - labels_start <= MAX_LABEL_BYTES
        labels = self._text[labels_start:labels_end].decode() if written else ""
        self._keep(_made(form, begin, stop, (labels_start, labels_end, start, end), labels, told))

    def _labels(self, key: int) -> tuple[int, int, int] | None:
        """Where the labels of the samples at `key` have their key, begin and end: members of the same object."""
        text, floor = self._text, max(self._floor, key - _LABELS_WITHIN)
        for name in (self._key, *_LABEL_KEYS):
            at = text.rfind(name, floor, key)
            after = _AFTER_KEY.match(text, at + len(name)) if at >= 0 and text[at - 1] != 0x5C else None
            if after is None:
                continue
            if text[key - 2 : key] == b"}," and _are_labels(text[after.end() : key - 1]):
                self._key = name
                return at, after.end(), key - 1
            # otherwise with blanks or simple members between
            for end in (text.rfind(b"}", after.end(), key) + 1, text.find(b"}", after.end(), key) + 1):
                between = _BETWEEN.match(text, end, key) if end else None
                if between is not None and between.end() == key and _are_labels(text[after.end() : end]):
                    self._key = name
                    return at, after.end(), end
        return None

    def _object(self, first_key: int, end: int) -> tuple[int, int]:
        """The object from its first member to its last, with its braces where these stand right beside."""
        if self._text[first_key - 1] == 0x7B and self._text[end : end + 1] == b"}":
            return first_key - 1, end + 1
        before = self._text[max(0, first_key - 64) : first_key].rstrip()
        closing = _END.match(self._text, end)
        if closing is None or not before.endswith(b"{"):
            return first_key, end
        return max(0, first_key - 64) + len(before) - 1, closing.end()


def _made(form: Form, start: int, end: int, place: tuple[int, int, int, int], labels: str, told: Told) -> Series:
    return Series(form, start, end, *place, told.points, told.nan, labels, *told[2:])


def _escapes(text: bytes, at: int) -> bool:
    """Whether the byte at `at` is escaped: an odd number of backslashes stands before it."""
    before = text[max(0, at - 256) : at]
    return (len(before) - len(before.rstrip(b"\\"))) % 2 == 1


def _loaded(written: bytes) -> Any:
    try:
        return orjson.loads(written)
    except ValueError:
        return None


def _are_labels(written: bytes) -> bool:
    found = _loaded(written)
    return isinstance(found, dict) and set(map(type, found.values())) <= _ONLY_STR


def _all_are_labels(written: Sequence[bytes]) -> bool:
    found = _loaded(b"[%b]" % b",".join(written))
    if found is None or len(found) != len(written):
        return False
    return set(map(type, chain.from_iterable(map(dict.values, found)))) <= _ONLY_STR


def _places_of_run(
    at: int, labels: Sequence[bytes], times: Sequence[bytes], values: Sequence[bytes]
) -> list[list[int]]:
    """Where the objects of a run begin and end, then their labels, then their samples; `at` is the comma before."""
    long, *rest = (np.fromiter(map(len, parts), np.int64, len(parts)) for parts in (labels, times, values))
    end = at + np.cumsum(long + sum(rest) + _ELEMENT_BYTES)
    sample_end = end - 1
    sample = sample_end - sum(rest) - _SAMPLE_BYTES
    labels_end = sample - _BEFORE_SAMPLE
    labels_start = labels_end - long
    start = labels_start - _BEFORE_LABELS + 1
    return [column.tolist() for column in (start, end, labels_start, labels_end, sample, sample_end)]


def _is_line(sample: Any) -> bool:
    return (
        isinstance(sample, list) and len(sample) == 2 and all(isinstance(part, str) for part in sample)
        and sample[0].isascii() and sample[0].isdecimal() and len(sample[0]) <= 32
    )  # fmt: skip
