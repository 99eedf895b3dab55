"""What people read of raw JSON: names, labels and paths."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

#: Characters of a name at most.
LONGEST_NAME = 200
#: Of a string that is longer only the head is kept for a name: 200 characters, each an escaped pair of twelve bytes.
LONGEST_HEAD = 2416

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def decoded(quoted: bytes) -> str:
    """The text of a JSON string, as far as it is one."""
    try:
        text = orjson.loads(quoted)
    except orjson.JSONDecodeError:
        text = None
    return text if isinstance(text, str) else quoted[1:-1].decode("utf-8", "replace")


def member_path(path: str, quoted: bytes) -> str:
    """The JSON path of an object's member with this key, in quotes."""
    text = decoded(quoted)
    return f"{path}.{text}" if _PLAIN_KEY.fullmatch(text) else f"{path}[{orjson.dumps(text).decode()}]"


def name_of_key(quoted: bytes) -> str:
    """The name of a member with this key, in quotes; empty when there is none."""
    return decoded(quoted)[:LONGEST_NAME]


def name_of_value(raw: bytes) -> str:
    """The name that a string, the head of a long one, a number or an object of labels makes; empty when it makes none.

    Lone surrogates become replacement characters.
    """
    value = _parsed(raw)
    if type(value) is str:
        text = value
    elif type(value) is int or type(value) is float:
        text = str(value)
    elif type(value) is dict:
        text = _labels(value)
    else:
        return ""
    return _LONE_SURROGATE.sub("\ufffd", text[:LONGEST_NAME])


def _parsed(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _head_of_string(raw) if len(raw) == LONGEST_HEAD and raw[:1] == b'"' else _leniently_parsed(raw)


def _head_of_string(head: bytes) -> str | None:
    """The text of a string whose end is cut off."""
    for cut in range(len(head), len(head) - 13, -1):  # an escaped pair is twelve bytes long
        try:
            text: str = orjson.loads(head[:cut] + b'"')
        except orjson.JSONDecodeError:
            continue
        return text
    return None


def _leniently_parsed(raw: bytes) -> Any:
    """NaN, lone surrogates and integers of any size as well."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):  # not JSON, a number of thousands of digits, nested too deeply
        return None


def _labels(labels: dict[str, Any]) -> str:
    name = labels.pop("__name__", "")
    if not labels:
        return str(name) or "{}"
    shown = ",".join([f'{key}="{value}"' for key, value in labels.items()])
    return f"{name}{{{shown}}}"
