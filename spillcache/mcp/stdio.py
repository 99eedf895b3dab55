"""MCP over stdin and stdout: one client, the parent process."""

from __future__ import annotations

import contextvars
from types import TracebackType
from typing import Any, Self

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError


async def serve_stdio(server: Server[Any]) -> None:
    """Serve until stdin ends. Bytes that are not UTF-8 count as U+FFFD, and so spoil only what they are in.

    A line that is no message is answered with a JSON-RPC error without an id, as it has none that could be known; the
    SDK alone says nothing, and whoever sent the line would wait for ever.
    """
    async with stdio_server() as (received, sent):
        await server.run(_Answered(received, sent), sent, server.create_initialization_options())


class _Answered:
    """A stream of messages only: what is none is answered here and now."""

    def __init__(self, received: ReadStream[SessionMessage | Exception], sent: WriteStream[SessionMessage]) -> None:
        self._received, self._sent = received, sent

    @property
    def last_context(self) -> contextvars.Context | None:
        """The context of whoever put in the last message, where the stream below knows it."""
        found: contextvars.Context | None = getattr(self._received, "last_context", None)
        return found

    async def receive(self) -> SessionMessage | Exception:
        while isinstance(item := await self._received.receive(), Exception):
            await self._sent.send(SessionMessage(_refusal(item)))
        return item

    async def aclose(self) -> None:
        await self._received.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        while isinstance(item := await anext(self._received), Exception):
            await self._sent.send(SessionMessage(_refusal(item)))
        return item

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _refusal(error: Exception) -> types.JSONRPCError:
    """The answer to a line that is not JSON, or is no message; it repeats nothing of the line."""
    is_json = isinstance(error, ValidationError) and all(
        found["type"] != "json_invalid" for found in error.errors(include_input=False, include_url=False)
    )
    code, message = (types.INVALID_REQUEST, "Not a JSON-RPC message") if is_json else (types.PARSE_ERROR, "Parse error")
    return types.JSONRPCError(jsonrpc="2.0", id=None, error=types.ErrorData(code=code, message=message))
