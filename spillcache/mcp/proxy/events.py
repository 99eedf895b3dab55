"""Answers over HTTP, checked before the SDK's transport reads them: whether they are text, and whose they are.

The transport hands whatever answer a stream holds to the request that opened it, under that request's id, and replaces
what is not UTF-8. Here such an answer becomes an error of that one request.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import AsyncIterator
from typing import Any, Final

import httpx2
from mcp_types import JSONRPCError, RequestId

from spillcache.errors import SpillError
from spillcache.mcp.proxy.failures import error_data, not_json, not_mine, not_utf8, over_cap
from spillcache.mcp.whose import answers_request

_ENDS: Final = (b"\n\n", b"\n\r\n", b"\r\r")  # of an event; the last of a part is enough, as all before it are whole
_LONGEST_END: Final = 3


class Resumable:
    """Whose streams broke off, by the id of the last event: they go on as the answer to another HTTP request."""

    def __init__(self) -> None:
        self._broken: dict[str, RequestId] = {}

    def asked_by(self, request: httpx2.Request) -> RequestId | None:
        """Whose stream this request wants to go on."""
        return self._broken.get(request.headers.get("last-event-id", ""))

    def broke_off(self, event_id: str, request_id: RequestId) -> None:
        """A stream ended without its answer."""
        self._broken[event_id] = request_id

    def answered(self, request_id: RequestId) -> None:
        """Its stream need not go on any more."""
        self._broken = {event: other for event, other in self._broken.items() if other != request_id}


class Events(httpx2.AsyncByteStream):
    """The event stream of a response, event by event, decoded. `request_id` is whose answer it holds, if anybody's."""

    def __init__(self, response: httpx2.Response, cap: int, request_id: RequestId | None, resumable: Resumable) -> None:
        self._response, self._cap, self._request_id, self._resumable = response, cap, request_id, resumable
        self._last_id, self._answered = "", False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for events in self._whole():
                self._check(events)
                yield events
        except SpillError as error:
            if self._request_id is None:  # nobody waits for what it would have said
                raise httpx2.ReadError(error.message) from None
            self._answered = True
            yield _as_event(error)
        except httpx2.DecodingError:
            raise httpx2.ReadError("the event stream cannot be decoded") from None
        finally:
            self._leave()

    async def _whole(self) -> AsyncIterator[bytes]:
        """One or several events at a time, never a part of one, except for the last."""
        held: list[bytes] = []
        size, before = 0, b""
        async for part in self._response.aiter_bytes():
            window = before + part
            end = max(window.rfind(mark) + len(mark) if mark in window else 0 for mark in _ENDS)
            cut = len(part) - (len(window) - end) if end else 0
            if cut:
                yield b"".join([*held, part[:cut]])
                held, size = [], 0
            held.append(part[cut:])
            size += len(part) - cut
            before = (window if not end else window[end:])[1 - _LONGEST_END :]
            if size > self._cap:
                raise over_cap(self._cap)
        yield b"".join(held)

    def _check(self, events: bytes) -> None:
        """Raise the error that an event is in place of an answer."""
        try:
            events.decode()
        except UnicodeDecodeError:
            raise not_utf8() from None
        data: list[bytes] = []
        for line in [*events.removeprefix(codecs.BOM_UTF8).splitlines(), b""]:
            if line.startswith(b"data:"):
                data.append(line[5:])
            elif line.startswith(b"id:"):
                self._last_id = line[3:].strip().decode()
            elif not line and data:
                self._check_whose(b"\n".join(data))
                data = []

    def _check_whose(self, data: bytes) -> None:
        if self._request_id is None or self._answered:
            return
        mine = answers_request(data, self._request_id)
        if mine is False and _without_id(data) is None:
            raise not_mine()
        self._answered = mine is not None

    def _leave(self) -> None:
        if self._request_id is None:
            return
        if self._answered:
            self._resumable.answered(self._request_id)
        elif self._last_id:
            self._resumable.broke_off(self._last_id, self._request_id)

    async def aclose(self) -> None:
        """Let go of the connection."""
        await self._response.aclose()


def answer_in(body: bytes, request_id: RequestId) -> bytes:
    """The answer to a request, which a body of JSON must be. Raises `UpstreamUnavailable`.

    An error without an id is the answer's, as there is no other request; the transport would wait for another.
    """
    mine = answers_request(body, request_id)
    if mine:
        return body
    error = _without_id(body)
    if error is None:
        raise not_json() if mine is None else not_mine()
    return json.dumps({**error, "id": request_id}).encode()


def _without_id(data: bytes) -> dict[str, Any] | None:
    """An error that does not say whose it is."""
    try:
        message = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) and "error" in message and message.get("id") is None else None


def _as_event(error: SpillError) -> bytes:
    message = JSONRPCError(jsonrpc="2.0", id=None, error=error_data(error)).model_dump(mode="json")
    return b"\n\nevent: message\ndata: " + json.dumps(message).encode() + b"\n\n"
