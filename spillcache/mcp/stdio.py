"""MCP over stdin and stdout: one client, the parent process."""

from __future__ import annotations

import contextvars
import logging
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Final, Self

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from spillcache.errors import ArgumentsInvalid, SpillError
from spillcache.mcp.messages import BadLine, Fault
from spillcache.mcp.pipes import standard_streams

GRACE_S: Final = 3.0  # for answers that are under way when stdin ends: longer than a page may take

#: A client that sends ahead has sent by then.
_LAST_WORDS_S: Final = 0.5

_log = logging.getLogger("spillcache")


async def serve_stdio(server: Server[Any]) -> None:
    """Serve until stdin ends, and then for up to `GRACE_S` until what was asked is answered.

    A line that is no message is answered with a JSON-RPC error, under its id where it says one; the SDK alone says
    nothing, and whoever sent the line would wait for ever. Bytes that are not UTF-8 are never replaced by others.

    A client whose handshake we refuse is served no further. Raises the `SpillError` that the server's lifespan ends
    with, which says why.
    """
    refused: SpillError | None = None
    try:
        async with standard_streams() as (lines_in, lines_out):
            asked = _Asked()
            received = _Received(lines_in, lines_out, asked)
            await server.run(received, _Sent(lines_out, asked), server.create_initialization_options())
    except* BrokenPipeError:
        _log.info("client_gone", extra={"meaning": "nobody reads stdout any more"})
    except* SpillError as group:
        refused = next(_leaves(group))
    except* anyio.BrokenResourceError:  # a line that came while we ended: nobody is there to take it
        _log.info("client_gone", extra={"meaning": "it sent on after its handshake was refused"})
    if refused is not None:  # raised above it would be in a group once more
        raise refused


def _leaves(group: BaseExceptionGroup[SpillError]) -> Iterator[SpillError]:
    for error in group.exceptions:
        yield from _leaves(error) if isinstance(error, BaseExceptionGroup) else (error,)


class _Asked:
    """The requests that were received and are not yet answered. `refused`: a handshake was, by a typed error."""

    def __init__(self) -> None:
        self.refused = False
        self._handshake: types.RequestId | None = None
        self._ids: set[types.RequestId] = set()
        self._all_answered = anyio.Event()

    def received(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest):
            if message.method != "subscriptions/listen":  # answered by its end, which is that of the connection
                self._ids.add(message.id)
            if message.method == "initialize":
                self._handshake = message.id
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))  # need not be answered

    def sent(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCError) and self._handshake is not None and message.id == self._handshake:
            data = message.error.data
            self.refused = isinstance(data, dict) and "next_step" in data
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._settle(message.id)

    async def answered(self) -> None:
        """Return when nothing more is to come, or will not come in time."""
        with anyio.move_on_after(GRACE_S):
            while self._ids:
                self._all_answered = anyio.Event()
                await self._all_answered.wait()

    def _settle(self, request_id: types.RequestId | None) -> None:
        if isinstance(request_id, int | str):
            self._ids.discard(request_id)
        if not self._ids:
            self._all_answered.set()


class _Received:
    """What comes in, messages only: what is none is answered here and now."""

    def __init__(
        self, lines: ReadStream[SessionMessage | Exception], sent: WriteStream[SessionMessage], asked: _Asked
    ) -> None:
        self._lines, self._sent, self._asked = lines, sent, asked

    @property
    def last_context(self) -> contextvars.Context | None:
        """The context of whoever put in the last message, where the stream below knows it."""
        found: contextvars.Context | None = getattr(self._lines, "last_context", None)
        return found

    async def receive(self) -> SessionMessage | Exception:
        try:
            if self._asked.refused:
                await self._pass_over()
                raise anyio.EndOfStream
            while isinstance(item := await self._lines.receive(), Exception):
                refusal = SessionMessage(_refusal(item))
                if (
                    isinstance(item, BadLine) and item.whose.answers and item.whose.request_id is not None
                ):  # to a question of ours, which so has failed
                    return refusal
                await self._sent.send(refusal)
        except anyio.EndOfStream:
            await self._asked.answered()
            raise
        self._asked.received(item.message)
        return item

    async def _pass_over(self) -> None:
        """Take what was sent along with a handshake that we refuse: left where it is, it would break off the answer."""
        with anyio.move_on_after(_LAST_WORDS_S):
            while True:
                await self._lines.receive()

    async def aclose(self) -> None:
        await self._lines.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class _Sent:
    """What goes out."""

    def __init__(self, lines: WriteStream[SessionMessage], asked: _Asked) -> None:
        self._lines, self._asked = lines, asked

    async def send(self, item: SessionMessage, /) -> None:
        await self._lines.send(item)
        self._asked.sent(item.message)

    async def aclose(self) -> None:
        await self._lines.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


_FAULTS: Final[dict[Fault, tuple[int, str, str]]] = {
    "size": (types.INVALID_REQUEST, "Message too large", "Send less in one message."),
    "encoding": (types.PARSE_ERROR, "Not UTF-8", "Send it as UTF-8, without halves of surrogate pairs."),
    "json": (types.PARSE_ERROR, "Parse error", "Send one JSON-RPC message on a line."),
    "message": (types.INVALID_REQUEST, "Not a JSON-RPC message", "Send one JSON-RPC message on a line."),
}


def _refusal(error: Exception) -> types.JSONRPCError:
    """The answer to a line that is no message, to the request that it was where that can be told.

    It repeats nothing of the line.
    """
    fault, request_id = (
        (error.fault, error.whose.request_id) if isinstance(error, BadLine) else (_fault_of(error), None)
    )
    code, message, next_step = _FAULTS[fault]
    data = ArgumentsInvalid(f"nothing was done: {message.lower()}", next_step=next_step).as_dict()
    return types.JSONRPCError(
        jsonrpc="2.0", id=request_id, error=types.ErrorData(code=code, message=message, data=data)
    )


def _fault_of(error: Exception) -> Fault:
    """What the SDK, where it reads the lines, says is wrong with one."""
    is_json = isinstance(error, ValidationError) and all(
        found["type"] != "json_invalid" for found in error.errors(include_input=False, include_url=False)
    )
    return "message" if is_json else "json"
