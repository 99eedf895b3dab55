"""The series of a spill as they are stored: field `series` of segment 0, columns of numbers and a list of texts.

```
line 1    JSON: how many series, partial, axes, up to where it is known to be JSON
rest      nine columns of 64-bit integers, by planes of bytes as in the table of results, and a JSON list of the texts
```

Field `has` beside it says that there is one, so that a table that went missing is not taken for one that never was:
releases before there were series, and caches that do not look for them, write neither, and read on past both.
"""

from __future__ import annotations

import numpy as np
import orjson
import zstandard

from spillcache.digest import seal, unseal
from spillcache.errors import SpillCorrupt
from spillcache.series.model import FORMS, Axis, Series, SeriesColumns, SeriesTable

FIELD = "series"
MARK_FIELD = "has"

_MARK = b"a table of series"
_WORD = 8
#: Columns of numbers, then texts. Places but the first are stored as told from where the series begins.
_COLUMNS = Series._fields.index("labels")
_START = Series._fields.index("start")
_PLACES = slice(_START + 1, Series._fields.index("values_end") + 1)
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
    forms, *rest = table.series.columns
    numbers, texts = rest[: _COLUMNS - 1], rest[_COLUMNS - 1 :]
    columns = np.array([list(map(FORMS.index, forms)), *numbers], _WHOLE_NUMBER)
    columns[_PLACES] -= columns[_START]
    columns[_START] = np.diff(columns[_START], prepend=0)
    planes = columns.view(np.uint8).reshape(_COLUMNS, count, _WORD).transpose(0, 2, 1)
    head = orjson.dumps([count, table.partial, [tuple(axis) for axis in table.axes], table.known_json])
    body = b"%b\n%b%b" % (head, planes.tobytes(), orjson.dumps(texts))
    return seal(spill_id, 0, FIELD, zstandard.compress(body, 1))


def decode_series(stored: bytes, spill_id: str) -> SeriesTable:
    """Read field `series`. Raises `SpillCorrupt` or `ManifestVersionUnsupported`."""
    try:
        head, _, packed = zstandard.decompress(unseal(spill_id, 0, FIELD, stored)).partition(b"\n")
        count, partial, axes, known_json = orjson.loads(head)
        return SeriesTable(_unpacked(packed, count), tuple(Axis(*axis) for axis in axes), tuple(partial), known_json)
    except (zstandard.ZstdError, ValueError, TypeError, IndexError):
        raise SpillCorrupt("the table of series does not have its form") from None


def _unpacked(packed: bytes, count: int) -> SeriesColumns:
    size = _COLUMNS * _WORD * count
    planes = np.frombuffer(packed, np.uint8, size)
    rows = planes.reshape(_COLUMNS, _WORD, count).transpose(0, 2, 1).copy()
    columns = rows.reshape(_COLUMNS, count * _WORD).view(_WHOLE_NUMBER)
    columns[_START] = np.cumsum(columns[_START])
    columns[_PLACES] += columns[_START]
    forms, *numbers = columns.tolist()
    return SeriesColumns((map(FORMS.__getitem__, forms), *numbers, *orjson.loads(packed[size:])))
