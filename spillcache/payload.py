"""What a tool returned, as the bytes to store: exactly what would have been sent, nothing repaired."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import orjson

from spillcache.errors import ArgumentsInvalid

_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY


def to_bytes(value: object) -> bytes:
    """The payload of a tool's result: bytes as they are, text as UTF-8, anything else as JSON.

    Lone surrogates in text are kept in their three-byte form, so that the text comes back as it was. NaN and infinities
    stay NaN and Infinity. Raises `ArgumentsInvalid` for what JSON cannot hold.
    """
    if isinstance(value, bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return to_json(value)


def to_json(value: object) -> bytes:
    """JSON text of a value, without loss.

    orjson writes NaN and infinities as null, which would turn "not a number" into "no data". So where a null appears in
    its output, and where it refuses (integers over 64 bits, lone surrogates), the slower standard library writes it.
    """
    try:
        text = orjson.dumps(value, option=_OPTIONS)
    except TypeError:  # orjson's errors are all of this type
        return _faithful(value)
    return text if b"null" not in text else _faithful(value)


def _faithful(value: object) -> bytes:
    try:
        return _dumps(value)
    except TypeError:  # of what the standard library refuses, orjson may know keys: datetimes, UUIDs
        pass
    except (ValueError, RecursionError) as error:
        raise _unwritable(error) from None
    try:
        return _dumps(_with_text_keys(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise _unwritable(error) from None


def _dumps(value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_as_plain)
    try:
        return text.encode()
    except UnicodeEncodeError:  # a lone surrogate: JSON can say it as an escape
        return json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=_as_plain).encode()


def _as_plain(value: object) -> Any:
    """Dataclasses, datetimes, UUIDs, arrays: one level as orjson sees them, but that NaN stays NaN."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return _with_numbers(dump(mode="json"), dump(mode="python"))
    if isinstance(value, np.ndarray | np.floating) and value.dtype.kind == "f":
        return value.tolist()
    if dataclasses.is_dataclass(value):
        fields = (field.name for field in dataclasses.fields(value) if not field.name.startswith("_"))
        return {name: getattr(value, name) for name in fields}
    return orjson.loads(orjson.dumps(value, option=_OPTIONS))


def _with_numbers(plain: Any, original: Any) -> Any:
    """What Pydantic dumped as JSON, but for the NaN and infinities that it made null where a field has no type."""
    if plain is None and isinstance(original, float) and not math.isfinite(original):
        return original
    if isinstance(plain, dict) and isinstance(original, dict) and len(plain) == len(original):
        members = map(_with_numbers, plain.values(), original.values())
        return dict(zip(plain, members, strict=True))
    if isinstance(plain, list) and isinstance(original, list | tuple) and len(plain) == len(original):
        return list(map(_with_numbers, plain, original))
    return plain


class _Key(str):
    """A key that equals only itself: a date and its text are two keys, alike in JSON but not in a dict."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


def _with_text_keys(value: Any) -> Any:
    """A copy whose keys are the texts that JSON makes of them; those that become alike all stay."""
    if isinstance(value, dict):
        return {_Key(_key(key)): _with_text_keys(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_with_text_keys(member) for member in value]
    return value


def _key(key: object) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, float | int | None):  # as the standard library spells them: orjson makes "null" of NaN
        (text,) = json.loads(json.dumps({key: None}))
    else:
        (text,) = orjson.loads(orjson.dumps({key: None}, option=_OPTIONS))
    return str(text)


def _unwritable(error: Exception) -> ArgumentsInvalid:
    return ArgumentsInvalid(f"the result cannot be written as JSON ({type(error).__name__})")
