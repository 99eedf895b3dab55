"""Lines of a stdio server: bytes in, JSON-RPC messages out, whatever the bytes are. Pure.

A message is one line of UTF-8 JSON, of any length up to a cap. What is not one must not hang the call that waits for
it, nor pass for its answer: where the line still says which request it belongs to, that request fails at once.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, RequestId, jsonrpc_message_adapter
from pydantic import ValidationError

from spillcache.errors import PayloadTooLarge, SpillError, UpstreamUnavailable
from spillcache.mcp.lines import HEAD_BYTES, Overlong
from spillcache.mcp.proxy.failures import error_data, not_json

_ID: Final = re.compile(rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,200}")')


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line that is no message, and nobody's answer. `why` holds none of it."""

    why: str


def read_line(line: bytes | Overlong, cap: int) -> SessionMessage | Unreadable | None:
    """The message of a line; None for a blank one.

    A control character that JSON wants escaped (NUL, say) is taken as it is: nothing is lost by that.
    """
    if isinstance(line, Overlong):
        found = _id_in(line.tail) if _id_in(line.head) is None else _id_in(line.head)
        return _failed(found, _too_large(cap), f"a line of {line.size} bytes, over the cap of {cap}")
    if not line.strip():
        return None
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return _salvage(line)


def _salvage(line: bytes) -> SessionMessage | Unreadable:
    try:
        message = json.loads(line.decode(), strict=False)
        json.dumps(message, ensure_ascii=False).encode()  # half a surrogate pair cannot be handed on
        return SessionMessage(jsonrpc_message_adapter.validate_python(message, by_name=False))
    except UnicodeError:
        return _failed(_lenient_id(line), _not_utf8(), "a line that is not UTF-8")
    except (ValueError, RecursionError, ValidationError):
        found = _lenient_id(line) if line.lstrip().startswith(b"{") else None
        return _failed(found, not_json(), f"a line of {len(line)} bytes that is not JSON-RPC")


def _lenient_id(line: bytes) -> RequestId | None:
    """The id of the request that a damaged line answers, as far as it can be told."""
    try:
        message: Any = json.loads(line.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return _id_in(line[:HEAD_BYTES]) if b'"jsonrpc"' in line else None
    if not isinstance(message, dict) or "method" in message:
        return None
    found = message.get("id")
    return found if isinstance(found, int | str) and not isinstance(found, bool) else None


def _id_in(part: bytes) -> RequestId | None:
    found = _ID.search(part)
    if found is None:
        return None
    value: int | str = json.loads(found[1].decode("utf-8", "replace"))
    return value


def _failed(request_id: RequestId | None, error: SpillError, why: str) -> SessionMessage | Unreadable:
    if request_id is None:
        return Unreadable(why)
    data: ErrorData = error_data(error)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request_id, error=data))


def _too_large(cap: int) -> SpillError:
    return PayloadTooLarge(f"the tool's server sent more than {cap} bytes in one message; nothing of it was kept")


def _not_utf8() -> SpillError:
    return UpstreamUnavailable(
        "the tool's server answered with bytes that are not UTF-8, so its answer cannot be told from another",
        next_step="Ask the tool for other data, or tell the operator: a retry will give the same bytes. "
        "This is a FAILED call, not an empty result.",
    )
