"""Lines of a stdio server: bytes in, JSON-RPC messages out, whatever the bytes are. Pure.

A message is one line of UTF-8 JSON, of any length up to a cap. What is not one must not hang the call that waits for
it, nor pass for its answer: where the line still says which request it belongs to, that request fails at once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError

from spillcache.errors import SpillError
from spillcache.mcp.lines import Overlong
from spillcache.mcp.messages import BadLine, read_message
from spillcache.mcp.proxy.failures import error_data, not_json, not_utf8, over_cap


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line that is no message. `why` holds none of it.

    `error` is for all that wait, where the line was somebody's answer and does not say whose; None where it was
    nobody's.
    """

    why: str
    error: SpillError | None = None


def read_line(line: bytes | Overlong, cap: int) -> list[SessionMessage | Unreadable]:
    """The messages of a line: none of a blank one, one as a rule, several of a batch."""
    if isinstance(line, bytes) and not line.strip():
        return []
    try:
        return [SessionMessage(read_message(line))]
    except BadLine as bad:
        batch = _batch(line) if isinstance(line, bytes) and bad.fault == "message" else []
        if batch:
            return [found for one in batch for found in read_line(json.dumps(one).encode(), cap)]
        return [_failed(bad, _error(bad, cap))]


def _batch(line: bytes) -> list[Any]:
    """The messages of an array of them, which one revision of the protocol had. An array in one is none."""
    found = json.loads(line, strict=False) if line.lstrip().startswith(b"[") else []
    return found if all(isinstance(one, dict) for one in found) else []


def _failed(bad: BadLine, error: SpillError) -> SessionMessage | Unreadable:
    if bad.whose.asks or not (bad.whose.speaks or bad.whose.answers or bad.whose.request_id is not None):
        return Unreadable(str(bad))
    if bad.whose.request_id is None:
        return Unreadable(str(bad), error)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=bad.whose.request_id, error=error_data(error)))


def _error(bad: BadLine, cap: int) -> SpillError:
    if bad.fault == "size":
        return over_cap(cap)
    return not_utf8() if bad.fault == "encoding" else not_json()
