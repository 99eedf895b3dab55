"""The series of a spill as they are stored: field `series` of segment 0, columns of numbers and a list of texts.

```
line 1    JSON: how many series, partial, axes, up to where it is known to be JSON
rest      nine columns of 64-bit integers, by planes of bytes as in the table of results, and a JSON list of the texts
```

Field `has` beside it says that there is one, so that a table that went missing is not taken for one that never was:
releases before there were series, and caches that do not look for them, write neither, and read on past both.
"""

from __future__ import annotations

import functools

import numpy as np
import orjson
import zstandard

from spillcache.digest import seal, unseal
from spillcache.errors import SpillCorrupt
from spillcache.series.model import FORMS, Axis, Series, SeriesTable

FIELD = "series"
MARK_FIELD = "has"

_MARK = b"a table of series"
_WORD = 8
_COLUMNS = 9
_TEXTS = 6
_WHOLE_NUMBER = np.dtype("<i8")


def encode_mark(spill_id: str) -> bytes:
    """The bytes of field `has`."""
    return seal(spill_id, 0, MARK_FIELD, _MARK)


def check_mark(stored: bytes, spill_id: str) -> None:
    """Hold field `has` against its seal. Raises `SpillCorrupt` or `ManifestVersionUnsupported`."""
    if unseal(spill_id, 0, MARK_FIELD, stored) != _MARK:
        raise SpillCorrupt("the mark of the table of series does not have its form")


def encode_series(table: SeriesTable, spill_id: str) -> bytes:
    """The bytes of field `series`."""
    count = len(table.series)
    parts = list(zip(*table.series, strict=True)) or [()] * (_COLUMNS + _TEXTS)
    forms = [FORMS.index(form) for form in parts[0]]
    columns = np.array([forms, *parts[1:_COLUMNS]], _WHOLE_NUMBER).reshape(_COLUMNS, count)
    columns[2:7] -= columns[1]  # places, told from where the series begins
    columns[1] = np.diff(columns[1], prepend=0)
    planes = columns.view(np.uint8).reshape(_COLUMNS, count, _WORD).transpose(0, 2, 1)
    head = orjson.dumps([count, table.partial, [tuple(axis) for axis in table.axes], table.known_json])
    body = b"%b\n%b%b" % (head, planes.tobytes(), orjson.dumps(parts[_COLUMNS:]))
    return seal(spill_id, 0, FIELD, zstandard.compress(body, 1))


# By the very bytes that Redis sent: the pages of a walk all bring the same ones. A table takes up to some 20 MB.
@functools.lru_cache(maxsize=4)
def decode_series(stored: bytes, spill_id: str) -> SeriesTable:
    """Read field `series`. Raises `SpillCorrupt` or `ManifestVersionUnsupported`."""
    try:
        head, _, packed = zstandard.decompress(unseal(spill_id, 0, FIELD, stored)).partition(b"\n")
        count, partial, axes, known_json = orjson.loads(head)
        series = _unpacked(packed, count) if count else ()
        return SeriesTable(series, tuple(Axis(*axis) for axis in axes), tuple(partial), known_json)
    except (zstandard.ZstdError, ValueError, TypeError, IndexError):
        raise SpillCorrupt("the table of series does not have its form") from None


def _unpacked(packed: bytes, count: int) -> tuple[Series, ...]:
    size = _COLUMNS * _WORD * count
    planes = np.frombuffer(packed, np.uint8, size)
    rows = planes.reshape(_COLUMNS, _WORD, count).transpose(0, 2, 1).copy()
    columns = rows.reshape(_COLUMNS, count * _WORD).view(_WHOLE_NUMBER)
    columns[1] = np.cumsum(columns[1])
    columns[2:7] += columns[1]
    texts = zip(*orjson.loads(packed[size:]), strict=True)
    rows_of_numbers: list[list[int]] = columns.T.tolist()
    return tuple(
        Series(FORMS[form], *(*places, *spelled))
        for (form, *places), spelled in zip(rows_of_numbers, texts, strict=True)
    )
