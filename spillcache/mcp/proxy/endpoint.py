"""An upstream on HTTP: the SDK's transport over an HTTP client that fails one request at a time.

Left alone, the transport ends the whole connection, and every call in flight on it, when one POST cannot be made. So
what goes wrong with a POST is answered here by a JSON-RPC error, which the transport hands to that request alone.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, RequestId

from spillcache.errors import SpillError
from spillcache.mcp.proxy.config import Upstream
from spillcache.mcp.proxy.events import Events, Resumable, answer_in
from spillcache.mcp.proxy.failures import Away, error_data, lost, not_json, over_cap, unreachable
from spillcache.mcp.whose import id_of

_CONNECT_S = 10.0
_WRITE_S = 60.0


@asynccontextmanager
async def endpoint_streams(
    upstream: Upstream, *, authorization: str | None, ended: Callable[[], None]
) -> AsyncIterator[tuple[ReadStream[SessionMessage | Exception], WriteStream[SessionMessage]]]:
    """Connect to the upstream's URL; nothing is sent yet.

    `authorization` is the header to send in place of a configured one; no header of a caller goes upstream but this.
    `ended` is called when the upstream no longer knows the session, which a new connection cures.
    """
    headers = {name: secret.get_secret_value() for name, secret in upstream.headers.items()}
    if authorization is not None:
        headers = {name: value for name, value in headers.items() if name.lower() != "authorization"}
        headers["Authorization"] = authorization
    transport = _OneAtATime(upstream.max_message_bytes, ended)
    # A tool may take as long as it takes: who waits for it decides when to stop.
    timeout = httpx2.Timeout(None, connect=_CONNECT_S, write=_WRITE_S)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout, transport=transport) as client,
        # The SDK's own limit for an event is 1 MiB, which real results exceed.
        streamable_http_client(
            upstream.url or "", http_client=client, max_sse_event_size=upstream.max_message_bytes
        ) as streams,
    ):
        yield streams


class _OneAtATime(httpx2.AsyncBaseTransport):
    """Turns what goes wrong with a POST into its answer, and keeps answers under the cap."""

    def __init__(self, cap: int, ended: Callable[[], None]) -> None:
        self._inner = httpx2.AsyncHTTPTransport(limits=httpx2.Limits(max_connections=None, keepalive_expiry=30.0))
        self._cap = cap
        self._ended = ended
        self._resumable = Resumable()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await self._inner.handle_async_request(request)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            return _answer(_unreachable(error), request)
        except httpx2.TransportError:
            return _answer(lost(), request)
        refused = self._refused(request, response)
        if refused is not None:
            await response.aclose()
            return _answer(refused, request)
        content_type = response.headers.get("content-type", "").lower()
        if content_type.startswith("application/json"):
            return await self._whole(request, response)
        if content_type.startswith("text/event-stream"):
            asked = _request_id(request) if request.method == "POST" else self._resumable.asked_by(request)
            events = Events(response, self._cap, asked, self._resumable)
            return httpx2.Response(
                response.status_code, headers=_decoded_headers(response), stream=events, request=request
            )
        return response

    def _refused(self, request: httpx2.Request, response: httpx2.Response) -> SpillError | None:
        status = response.status_code
        if status == 404 and "mcp-session-id" in request.headers:
            self._ended()
            return _away("no longer knows this session; a new one is being made")
        if status in (401, 403):
            return _away(
                f"refused the credentials ({status})",
                next_step="Tell the operator; a retry will not help. This is a FAILED call, not an empty result.",
            )
        return _away(f"answered {status}") if status >= 500 else None

    async def _whole(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        """Read a JSON answer, no further than the cap: the transport itself would read on for ever."""
        body = bytearray()
        try:
            async for part in response.aiter_bytes():
                body += part
                if len(body) > self._cap:
                    return _answer(over_cap(self._cap), request)
        except httpx2.TransportError:
            return _answer(lost(), request)
        except httpx2.DecodingError:
            return _answer(not_json(), request)
        finally:
            await response.aclose()
        request_id = _request_id(request)
        if response.status_code < 300 and request_id is not None:
            try:
                body = bytearray(answer_in(bytes(body), request_id))
            except SpillError as error:
                return _answer(error, request)
        return httpx2.Response(
            response.status_code, headers=_decoded_headers(response), content=bytes(body), request=request
        )

    async def aclose(self) -> None:
        await self._inner.aclose()


def _request_id(request: httpx2.Request) -> RequestId | None:
    """The id of the JSON-RPC request that a POST carries; None where it carries none."""
    if request.method != "POST":
        return None
    return id_of(request.content)


def _decoded_headers(response: httpx2.Response) -> list[tuple[str, str]]:
    return [(name, value) for name, value in response.headers.multi_items() if name not in _ENCODED]


#: What described the body on the wire, and no longer does once it is decoded.
_ENCODED = frozenset({"content-encoding", "content-length", "transfer-encoding"})


def _away(what: str, *, next_step: str | None = None) -> Away:
    return Away(f"the tool's server {what}", why=f"it {what}", next_step=next_step)


def _unreachable(error: Exception) -> SpillError:
    why = "it took too long" if isinstance(error, httpx2.ConnectTimeout) else "the connection was refused or has no way"
    return unreachable(why)


def _answer(error: SpillError, request: httpx2.Request) -> httpx2.Response:
    """The error as the transport passes it on: a JSON-RPC error in a body that is not an event stream."""
    if request.method != "POST":
        return httpx2.Response(502, request=request)
    body = JSONRPCError(jsonrpc="2.0", id=None, error=error_data(error)).model_dump(mode="json")
    return httpx2.Response(
        502, headers={"content-type": "application/json"}, content=json.dumps(body).encode(), request=request
    )
