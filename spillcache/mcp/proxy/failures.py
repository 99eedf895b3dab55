"""Failures of an upstream, as they travel: typed errors of ours inside JSON-RPC errors, and back.

The transports and the dispatcher between them know only JSON-RPC errors, so a typed error goes through them as its
dict, under a code that no server of the protocol uses. A proxy in front of a proxy reads it the same way.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any, Final

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, PARSE_ERROR, ErrorData

from spillcache.errors import CODES, PayloadTooLarge, SpillError, UpstreamInvalid, UpstreamUnavailable

_log = logging.getLogger("spillcache")

#: In the range that JSON-RPC leaves to implementations; the protocol's own allocations end well above it.
FAILED: Final = -32098

_MAY_HAVE_RUN: Final = (
    "The call may have run or not: if the tool changes something, look before you call again. "
    "This is a FAILED call, not an empty result."
)


class Away(UpstreamUnavailable):
    """The upstream is not there. `why` is what is said of it where it was to be connected to."""

    def __init__(self, message: str, *, why: str, next_step: str | None = None) -> None:
        super().__init__(message, next_step=next_step)
        self.why = why


def error_data(error: SpillError) -> ErrorData:
    """A typed error as the JSON-RPC error that carries it."""
    data = error.as_dict() | ({_WHY: error.why} if isinstance(error, Away) else {})
    return ErrorData(code=FAILED, message=error.message, data=data)


#: Where an error that travels has the `why` of an `Away`.
_WHY: Final = "why"


def as_mcp_error(error: SpillError) -> MCPError:
    """A typed error, raised to a client that asked for something other than a tool call."""
    return MCPError.from_error_data(error_data(error))


def typed(error: MCPError, *, alive: bool) -> SpillError | None:
    """The typed error that a JSON-RPC error stands for; None when it is the upstream's own.

    `alive` says whether the connection is still there. Servers use the code of a closed connection for errors of
    their own, so it means that only together with its cause.
    """
    data = error.error.data
    if error.error.code == FAILED and isinstance(data, dict):
        return _restored(data)
    message = error.error.message
    if error.error.code == PARSE_ERROR and message.startswith("Failed to parse"):
        return not_json()  # the transport's own message quotes what it could not parse
    if message.startswith("SSE stream failed"):  # all that the transport says of an event over its limit
        return PayloadTooLarge("the tool's server sent more in one message than is taken; nothing of it was kept")
    closed = not alive or message == "Connection closed" or message.startswith("SSE stream")
    return lost() if error.error.code == CONNECTION_CLOSED and closed else None


@contextmanager
def handled() -> Iterator[None]:
    """Nothing but typed errors and the upstream's own: Python's words would say what an answer holds.

    What else is raised comes of an answer that is made as nobody thought of; the log says where.
    """
    try:
        yield
    except (SpillError, MCPError):
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{PurePath(place.filename).name}:{place.lineno}"
        _log.error("upstream_answer_unhandled", extra={"type": type(error).__name__, "place": where})
        raise UpstreamInvalid("the answer of the tool's server could not be dealt with") from None


def not_json() -> UpstreamInvalid:
    """The upstream's answer is not one."""
    return UpstreamInvalid("the tool's server answered with something that is not JSON-RPC")


def not_utf8() -> UpstreamInvalid:
    """The upstream's answer is in another encoding."""
    return UpstreamInvalid(
        "the tool's server answered with bytes that are not UTF-8, so its answer cannot be told from another",
        next_step="Ask the tool for other data, or tell the operator: a retry will give the same bytes. "
        "This is a FAILED call, not an empty result.",
    )


def not_mine() -> UpstreamInvalid:
    """An answer came that bears no id of a request that was made, so it is not known whose it is."""
    return UpstreamInvalid(
        "the tool's server answered a request that was not made, so the answer to this one is not known",
        next_step=f"Tell the operator that the tool's server is broken. {_MAY_HAVE_RUN}",
    )


def over_cap(cap: int) -> PayloadTooLarge:
    """An upstream's message is larger than is taken, in bytes."""
    return PayloadTooLarge(f"the tool's server sent more than {cap} bytes in one message; nothing of it was kept")


def lost() -> Away:
    """The upstream went away while a call was running."""
    return Away(
        "the tool's server was lost while it ran this call",
        why="the connection was lost while it was made",
        next_step=_MAY_HAVE_RUN,
    )


def unreachable(why: str, namespace: str = "") -> Away:
    """No connection can be had, so nothing was sent."""
    server = f"the server {namespace!r}" if namespace else "the tool's server"
    return Away(f"{server} cannot be reached: {why}; the call was not made", why=why)


def why_unreachable(failure: SpillError) -> str:
    """The failure of a request that was to make a connection, as the reason that `unreachable` gives."""
    return failure.why if isinstance(failure, Away) else failure.message


def _restored(data: dict[str, Any]) -> SpillError:
    kind = CODES.get(str(data.get("code")), UpstreamUnavailable)
    error = UpstreamUnavailable(str(data.get("message", "")), next_step=str(data.get("next_step", "")))
    if isinstance(data.get(_WHY), str):
        return Away(error.message, why=data[_WHY], next_step=error.next_step)
    if kind is UpstreamUnavailable or kind.__init__ is not SpillError.__init__:
        return error
    return kind(error.message, next_step=error.next_step)
