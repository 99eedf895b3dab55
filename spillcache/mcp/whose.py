"""Whose a message is that cannot be read as one: the id that it bears itself, not one of its contents. Pure.

A wrong guess would fail a call that is well and leave another waiting, so what is not certain is not said.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from mcp_types import RequestId

from spillcache.mcp.lines import Overlong

_WALKED_BYTES: Final = 1 << 16  # of a line that is not JSON: the rest would hold up everybody else
_NUMBER: Final = rb"-?\d{1,18}"
_STRING: Final = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_ID: Final = rb"(" + _NUMBER + rb'|"[^"\\]{1,200}")'
_VERSION: Final = rb'"jsonrpc"\s*:\s*"2\.0"'

_TOKEN: Final = re.compile(_STRING + rb'|-?\d+(?:[.eE][-+.\deE]*)?|[{}\[\],:"]', re.DOTALL)
_AT_THE_START: Final = re.compile(rb"\s*\{\s*(?:" + _VERSION + rb'\s*,\s*)?"id"\s*:\s*' + _ID + rb"\s*[,}]")
_AT_THE_END: Final = re.compile(rb'[{,]\s*"id"\s*:\s*' + _ID + rb"\s*(?:,\s*" + _VERSION + rb"\s*)?\}\s*\Z", re.DOTALL)
_END_BYTES: Final = 512
#: What stands for bytes that are no text, and halves of pairs that are none: another id than the one that was meant.
_UNSURE: Final = frozenset({"\ufffd", *map(chr, range(0xD800, 0xE000))})


@dataclass(frozen=True, slots=True)
class Whose:
    """What a message says of itself. `request_id` is None where it says none, or not certainly.

    `asks` and `answers` say that it is seen to do so; neither may be certain. `speaks` says that it is meant as a
    message at all.
    """

    request_id: RequestId | None = None
    asks: bool = False
    answers: bool = False
    speaks: bool = False


def whose(line: bytes | Overlong) -> Whose:
    """What can be told of a line, whatever is wrong with it."""
    if isinstance(line, Overlong):
        found = _walked(line.head)
        if found.request_id is not None:
            return found
        # One closing brace, so what stands before it is the message's own.
        return Whose(_id(_AT_THE_END.search(line.tail)), found.asks, found.answers, speaks=True)
    try:
        message = json.loads(line.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        found = _walked(line[:_WALKED_BYTES])
        return Whose(found.request_id, found.asks, found.answers, speaks=b'"jsonrpc"' in line)
    return _said(message)


def id_of(data: bytes) -> RequestId | None:
    """The id of a whole message."""
    found = _id(_AT_THE_START.match(data))
    return whose(data).request_id if found is None else found


def answers_request(data: bytes, request_id: RequestId) -> bool | None:
    """Whether a whole message is the answer to this request (True) or to another; None if it is no answer.

    Some servers answer 7 as "7". A batch is no message.
    """
    if data.lstrip()[:1] == b"[":
        return None
    for found in (_AT_THE_START.match(data), _AT_THE_END.search(data[-_END_BYTES:])):
        if found is not None and str(_id(found)) == str(request_id):
            return True
    said = whose(data)
    return str(said.request_id) == str(request_id) if said.answers else None


def _said(message: Any) -> Whose:
    if isinstance(message, list):
        answers = any(_said(one).answers for one in message)
        return Whose(answers=answers, speaks=answers)
    if not isinstance(message, dict):
        return Whose()
    found = message.get("id")
    request_id = found if isinstance(found, int | str) and not isinstance(found, bool) else None
    if isinstance(request_id, str) and not _UNSURE.isdisjoint(request_id):
        request_id = None
    asks = "method" in message
    answers = not asks and ("result" in message or "error" in message)
    return Whose(request_id, asks, answers, speaks="jsonrpc" in message or answers)


def _walked(start: bytes) -> Whose:
    """What the beginning of an object says in keys of its own, up to where it ends or makes no sense."""
    key, before = b"", b""
    open_brackets: list[bytes] = []
    request_id: RequestId | None = None
    seen: set[bytes] = set()
    for token in _TOKEN.finditer(start):
        text = token[0]
        if text == b'"':  # a string without an end: what follows is inside it
            break
        own = len(open_brackets) == 1
        if own and before == b":" and key == b'"id"' and token.end() < len(start):
            request_id = _id(re.fullmatch(_ID, text))
        if own and before in (b"{", b",") and text.startswith(b'"'):
            key = text
            seen.add(key)
        if text in (b"{", b"["):
            open_brackets.append(text)
        elif text in (b"}", b"]") and (not open_brackets or open_brackets.pop() + text not in (b"{}", b"[]")):
            break
        before = text
    asks = b'"method"' in seen
    return Whose(request_id, asks, not asks and bool(seen & {b'"result"', b'"error"'}), speaks=b'"jsonrpc"' in seen)


def _id(found: re.Match[bytes] | None) -> RequestId | None:
    if found is None:
        return None
    value = found[found.re.groups]
    try:
        return value[1:-1].decode() if value.startswith(b'"') else int(value)
    except UnicodeDecodeError:
        return None
