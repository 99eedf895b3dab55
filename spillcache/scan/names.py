"""Names of results: what a reader would call them.

A member of an object goes by its key. Everything else by its own `name`, `refId`, `query`, `expr`, `title` or `id`, in
this order; else by its labels, as `up{job="node"}`; else by the same members of its `schema`, `metadata` or
`structuredContent`; else by its place, as `[17]`. Names are cut at 200 characters and are not unique.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import orjson

from spillcache.scan.bitmaps import Ints
from spillcache.scan.container import NAME_KEYS, decoded
from spillcache.scan.fields import Fields, Keys, owners, read_fields, value_after_key
from spillcache.scan.index import Index
from spillcache.scan.tokens import Flags

LONGEST_NAME = 200

_LABELS = (b"metric", b"stream", b"labels")
_NESTED = (b"schema", b"metadata", b"structuredContent")
#: Values are parsed up to this length; of a longer string only the head: 200 characters of six bytes each, and more.
_LONGEST_VALUE, _LONGEST_HEAD = 4096, 1300
_QUOTE, _OPEN_OBJECT = 0x22, 0x7B
_FIRST_OF_NUMBER = np.zeros(256, np.bool_)
_FIRST_OF_NUMBER[list(b"-0123456789")] = True


def names_of_keys(keys: list[bytes]) -> list[str]:
    """Names of an object's members; an empty key is no name."""
    return [decoded(b'"%b"' % key)[:LONGEST_NAME] or f"[{place}]" for place, key in enumerate(keys)]


def names_of_values(
    index: Index, values: Ints, ends: Ints, level: int, own: Fields | None, places: list[int]
) -> list[str]:
    """Names of values that lie at `level`, whose own members are `own`; `places` are the numbers to fall back on."""
    names: list[str | None] = [None] * len(values)
    if own is not None and len(own.start):
        owner = np.minimum(np.searchsorted(values, own.container), len(values) - 1)
        owner[values[owner] != own.container] = -1
        _name(index, own, owner, ends, names)
        if None in names:
            _name_by_nested(index, values, ends, level, own, names)
    return [f"[{place}]" if name is None else name for name, place in zip(names, places, strict=True)]


def _name_by_nested(index: Index, values: Ints, ends: Ints, level: int, own: Fields, names: list[str | None]) -> None:
    parts = []
    keys = Keys(index, own.start)
    for key in _NESTED:
        found = keys.are(key)
        if found.any():
            parts.append(value_after_key(index, own.start[found], key))
    if not parts:
        return
    opens = np.sort(np.concatenate(parts))
    nested = read_fields(index, int(values[0]), int(ends[-1]), level + 2)
    if nested is None or not len(nested.start):
        return
    among = np.isin(nested.container, opens)
    nested = Fields(nested.container[among], nested.start[among], nested.end[among])
    _name(index, nested, owners(nested.container, values, ends), ends, names)


def _name(index: Index, fields: Fields, owner: Ints, ends: Ints, names: list[str | None]) -> None:
    """Name results that have no name yet by members of theirs; `owner` says whose each member is, -1 nobody's."""
    best = np.full(len(names), -1, np.int64)
    value_at = np.zeros(len(names), np.int64)
    keys = Keys(index, fields.start)
    for key in reversed(NAME_KEYS + _LABELS):
        found = np.flatnonzero(keys.are(key) & (owner >= 0))[::-1]  # of two with one key the first counts
        if not len(found):
            continue
        value = value_after_key(index, fields.start[found], key)
        found, value = found[value >= 0], value[value >= 0]
        usable = _usable(index, value, key)
        found, value = found[usable], value[usable]
        best[owner[found]], value_at[owner[found]] = found, value
    named = np.flatnonzero(best >= 0)
    named = named[[names[one] is None for one in named.tolist()]]
    stop = index.trim_blanks(np.minimum(fields.end[best[named]], ends[named]))
    for one, name in zip(named.tolist(), _texts(index, value_at[named], stop), strict=True):
        names[one] = name


def _usable(index: Index, value: Ints, key: bytes) -> Flags:
    """Which values make a name: text that is not empty, numbers; for labels, objects."""
    first = index.text[np.minimum(value, index.end - 1)]
    if key in _LABELS:
        labels: Flags = first == _OPEN_OBJECT
        return labels
    second = index.text[np.minimum(value + 1, index.end - 1)]
    plain: Flags = _FIRST_OF_NUMBER[first] | ((first == _QUOTE) & (second != _QUOTE))
    return plain


def _texts(index: Index, starts: Ints, ends: Ints) -> list[str | None]:
    """The names that these values make."""
    text = memoryview(index.text.data)
    values: list[bytes | memoryview] = [
        text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    for one in np.flatnonzero(ends - starts > _LONGEST_VALUE).tolist():
        values[one] = _head_of_string(bytes(values[one][:_LONGEST_HEAD]))
    parsed = _parsed(values)
    return [value[:LONGEST_NAME] if type(value) is str else _as_name(value) for value in parsed]


def _head_of_string(head: bytes) -> bytes:
    """The head of a long string as a string; anything else as it is."""
    if head[:1] != b'"':
        return b"null"
    for cut in range(len(head), len(head) - 13, -1):  # an escaped pair is twelve bytes long
        try:
            orjson.loads(head[:cut] + b'"')
        except orjson.JSONDecodeError:
            continue
        return head[:cut] + b'"'
    return b"null"


def _parsed(values: list[bytes | memoryview]) -> list[Any]:
    """All values at once; one by one where any of them is not strict JSON."""
    try:
        found = orjson.loads(b"[%b]" % b",".join(values))
    except orjson.JSONDecodeError:
        found = None
    return found if isinstance(found, list) and len(found) == len(values) else [_parsed_one(value) for value in values]


def _parsed_one(value: bytes | memoryview) -> Any:
    try:
        return json.loads(bytes(value))
    except (ValueError, RecursionError):  # not JSON, a number of thousands of digits, nested too deeply
        return None


def _as_name(value: Any) -> str | None:
    if type(value) is int or type(value) is float:
        return str(value)[:LONGEST_NAME]
    return _labels(value)[:LONGEST_NAME] if type(value) is dict else None


def _labels(labels: dict[str, Any]) -> str:
    name = labels.pop("__name__", "")
    if not labels:
        return str(name) or "{}"
    shown = ",".join([f'{key}="{value}"' for key, value in labels.items()])
    return f"{name}{{{shown}}}"
