"""Reading a line as a JSON-RPC message, whatever its bytes are: lossless, or an error that says whose it is. Pure."""

from __future__ import annotations

import codecs
import json
from typing import Final, Literal

from mcp_types import JSONRPCMessage, jsonrpc_message_adapter
from pydantic import ValidationError

from spillcache.mcp.lines import Overlong
from spillcache.mcp.whose import Whose, whose

Fault = Literal["size", "encoding", "json", "message"]

_WORDS: Final[dict[Fault, str]] = {
    "size": "over the cap",
    "encoding": "not UTF-8",
    "json": "not JSON",
    "message": "not a JSON-RPC message",
}


class BadLine(Exception):
    """A line that is no message. Its text holds nothing of it; `whose` is what the line still says of itself."""

    def __init__(self, fault: Fault, line: bytes | Overlong) -> None:
        size = line.size if isinstance(line, Overlong) else len(line)
        super().__init__(f"a line of {size} bytes, {_WORDS[fault]}")
        self.fault: Fault = fault
        self.whose: Whose = whose(line)


def read_message(line: bytes | Overlong) -> JSONRPCMessage:
    """The message of a line. Raises `BadLine`.

    A byte order mark is no part of it. A control character that JSON wants escaped (NUL, say) is taken as it is:
    nothing is lost by that.
    """
    if isinstance(line, Overlong):
        raise BadLine("size", line)
    line = line.removeprefix(codecs.BOM_UTF8)
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return _salvaged(line)


def _salvaged(line: bytes) -> JSONRPCMessage:
    try:
        message = json.loads(line.decode(), strict=False)
        json.dumps(message, ensure_ascii=False).encode()  # half a surrogate pair cannot be handed on
        return jsonrpc_message_adapter.validate_python(message, by_name=False)
    except UnicodeError:
        raise BadLine("encoding", line) from None
    except ValidationError:
        raise BadLine("message", line) from None
    except (ValueError, RecursionError):
        raise BadLine("json", line) from None
