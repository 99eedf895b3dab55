"""A table of results as bytes, to be compressed: no step per result, neither in making them nor in reading them.

A header (the naming, how many results there are, how long the path is), the path, eight columns of 64-bit integers,
and the raw names. Of the columns come first all lowest bytes, then all second ones and so on: most of these are 0, and
cost next to nothing once compressed. A column of places in the text holds how far each lies behind the one before.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from spillcache.scan.bitmaps import Ints
from spillcache.scan.table import NAMINGS, TYPES, ResultTable
from spillcache.scan.words import WORD, Texts, first_words

_HEADER = struct.Struct("<BII")
_COLUMNS = 8
_WHOLE_NUMBER = np.dtype("<i8")


def pack_results(table: ResultTable) -> bytes:
    """The bytes of a table. Names that it shows no longer, as a part of another table, are left out."""
    count = len(table)
    columns = np.empty((_COLUMNS, count), _WHOLE_NUMBER)
    columns[0] = np.diff(table.start, prepend=0)
    columns[1] = table.end - table.start
    columns[2] = np.diff(table.place, prepend=0)
    columns[3] = table.type
    columns[4] = table.series
    columns[5] = table.points
    columns[6] = table.approximate
    columns[7] = table.raw_names.length
    planes = columns.view(np.uint8).reshape(_COLUMNS, count, WORD).transpose(0, 2, 1)
    path = table.path.encode()
    header = _HEADER.pack(NAMINGS.index(table.naming), count, len(path))
    return b"".join((header, path, planes.tobytes(), table.raw_names.packed()))


def unpack_results(packed: bytes) -> ResultTable:
    """The table that was packed. Raises `ValueError` when these bytes are none."""
    if len(packed) < _HEADER.size:
        raise ValueError("a table of results begins with a header")
    naming, count, path_bytes = _HEADER.unpack_from(packed)
    names_at = _HEADER.size + path_bytes + _COLUMNS * WORD * count
    if naming >= len(NAMINGS) or names_at > len(packed) or (len(packed) - names_at) % WORD:
        raise ValueError("the parts of a table of results do not fit together")
    path = packed[_HEADER.size : _HEADER.size + path_bytes].decode()
    planes = np.frombuffer(packed, np.uint8, _COLUMNS * WORD * count, _HEADER.size + path_bytes)
    rows = np.ascontiguousarray(planes.reshape(_COLUMNS, WORD, count).transpose(0, 2, 1))
    columns = rows.reshape(_COLUMNS, count * WORD).view(_WHOLE_NUMBER)
    names = _names(columns[7], np.frombuffer(packed, np.uint64, offset=names_at))
    _check(columns)
    return ResultTable(
        path,
        NAMINGS[naming],
        names,
        place=np.cumsum(columns[2]),
        start=np.cumsum(columns[0]),
        end=np.cumsum(columns[0]) + columns[1],
        type=columns[3].astype(np.uint8),
        series=columns[4],
        points=columns[5],
        approximate=columns[6].astype(np.bool_),
    )


def _names(length: Ints, words: NDArray[np.uint64]) -> Texts:
    if len(length) and int(length.min()) < 0:
        raise ValueError("a name cannot have less than no bytes")
    first, count = first_words(length)
    if int(count.sum()) != len(words):
        raise ValueError("the names of a table of results do not have the length they should have")
    return Texts(words, first, length)


def _check(columns: NDArray[np.int64]) -> None:
    if columns.size and (int(columns[:4].min()) < 0 or int(columns[3].max()) >= len(TYPES)):
        raise ValueError("a column of a table of results holds what it cannot hold")
