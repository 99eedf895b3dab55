"""Data frames as Grafana sends them: `{"schema":{"fields":[…]},"data":{"values":[[times],[values],…]}}`.

A series is a column of numbers beside a column of times. Only frames of which every column consists of numbers and
nulls are told; others stay to be read as they are. So do those that have `entities` or `nanos` beside `values`: these
say which nulls are NaN or infinite, and what is missing in the times.
"""

from __future__ import annotations

import functools
import re
from typing import Any, NamedTuple

import orjson

from spillcache.series.model import Axis
from spillcache.series.samples import Told, find_extremes

_NUMBERS = b"0123456789.eE+-, \t\r\nnul"
_INTEGER = re.compile(rb"-?[0-9]{1,18}")
_BETWEEN = re.compile(rb"\s*,\s*")
_END_OF_DATA = re.compile(rb"\s*\}")


class Column(NamedTuple):
    """A column of values: its place with the brackets, the field of the schema that names it, and what it says."""

    start: int
    end: int
    labels: str
    told: Told


class DataFrame(NamedTuple):
    """A data frame's columns of values; `axis` is there when its times are regular; `end` is where its columns end."""

    columns: list[Column]
    axis: Axis | None
    end: int


def read_frame(text: bytes, schema: bytes, start: int) -> DataFrame | None:
    """The frame whose list of columns opens at `start` of the text; None where it is none that is told."""
    fields = _fields(schema)
    if fields is None or "time" not in [field.get("type") for field in fields]:
        return None
    places, at = [], start + 1
    for _ in fields:
        quote = text.find(b'"', at)  # never beyond, so that lists that do not end are not looked at again and again
        close = text.find(b"]", at, quote if quote >= 0 else len(text))
        if close < 0 or text[at : at + 1] != b"[" or text[at + 1 : close].translate(None, _NUMBERS):
            return None
        places.append((at, close + 1))
        between = _BETWEEN.match(text, close + 1)
        at = between.end() if between else close + 1
    if text[at : at + 1] != b"]" or _END_OF_DATA.match(text, at + 1) is None:
        return None
    return _told(text, fields, places, at + 1)


def _fields(schema: bytes) -> list[dict[str, Any]] | None:
    try:
        found = orjson.loads(schema)
    except ValueError:
        return None
    fields = found.get("fields") if isinstance(found, dict) else None
    if not isinstance(fields, list) or not fields or not all(isinstance(field, dict) for field in fields):
        return None
    return fields


def _told(text: bytes, fields: list[dict[str, Any]], places: list[tuple[int, int]], end: int) -> DataFrame | None:
    number = [field.get("type") for field in fields].index("time")
    times = _read_times(text[slice(*places[number])])
    columns: list[Column] = []
    for field, place in zip(fields, places, strict=True):
        if field.get("type") != "number":
            continue
        told = _tell(text[slice(*place)], times)
        if told is None:
            return None
        columns.append(Column(*place, _labels(field), told))
    axis = Axis(*places[number], times.first, times.step, times.points) if times.step else None
    return DataFrame(columns, axis, end) if columns else None


class _Times(NamedTuple):
    """A column of times; `step` is "" where it is not regular."""

    points: int
    first: str
    last: str
    step: str


@functools.lru_cache(maxsize=4)  # the frames of one answer have the same times, as a rule
def _read_times(written: bytes) -> _Times:
    raw = _items(written)
    if not raw:
        return _Times(0, "", "", "")
    return _Times(len(raw), raw[0].decode(), raw[-1].decode(), _step(written, raw))


def _step(written: bytes, raw: list[bytes]) -> str:
    """How far each time lies behind the one before, when writing them out again gives the very same bytes."""
    if len(raw) < 3 or not _INTEGER.fullmatch(raw[0]) or not _INTEGER.fullmatch(raw[1]):
        return ""
    first, step = int(raw[0]), int(raw[1]) - int(raw[0])
    if step <= 0 or ",".join(map(str, range(first, first + step * len(raw), step))).encode() != written[1:-1]:
        return ""
    return str(step)


def _tell(written: bytes, times: _Times) -> Told | None:
    try:
        numbers = orjson.loads(written)
    except ValueError:
        return None
    if len(numbers) != times.points:
        return None
    if not numbers:
        return Told(0, 0, "", "", "", "", "")
    last = _items(written[written.rfind(b",") + 1 :])[-1].decode()
    extremes, nan = find_extremes(numbers)
    if extremes is None:
        return Told(len(numbers), nan, times.first, times.last, "", "", last)
    raw = _items(written, max(extremes) + 1)
    least, greatest = (raw[place].decode() for place in extremes)
    return Told(len(numbers), nan, times.first, times.last, least, greatest, last)


def _items(written: bytes, most: int = -1) -> list[bytes]:
    """The elements of a column, the first ones when there are more than `most`; the last then is all the rest."""
    inner = written.translate(None, b"[] \t\r\n")
    return inner.split(b",", most) if inner else []


def _labels(field: dict[str, Any]) -> str:
    labels = field.get("labels")
    if not isinstance(labels, dict) or not labels:
        labels = {"name": field["name"]} if isinstance(field.get("name"), str) else {}
    return orjson.dumps(labels).decode()
