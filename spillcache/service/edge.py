"""The edge: the one middleware before all faces. It finds out who calls, names the request, and says goodbye.

Plain ASGI, because every page passes here: a layer that wraps requests and responses in objects of its own would cost
more than the page.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import unquote_plus

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spillcache.caller import SCOPE_KEY, Caller
from spillcache.errors import ArgumentsInvalid, ShuttingDown, SpillError
from spillcache.http.app import MOUNT
from spillcache.http.problems import About, problem_response
from spillcache.service.auth import Authenticator
from spillcache.service.hosts import Hosts
from spillcache.service.phase import Phase
from spillcache.service.probes import PROBES, Probes
from spillcache.watch import UNWATCHED, Watcher
from spillcache.wiring.logs import shape_of
from spillcache.wiring.tracing import remote_parent

_log = logging.getLogger("spillcache.edge")

CLIENT_HEADER: Final = "X-Spillcache-Client"
REQUEST_ID_HEADER: Final = "X-Request-Id"

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:=+/-]{1,64}")
_JOINT: Final = ", "
_CLIENT_PARAMETER: Final = re.compile(rb"(?:^|&)client=([^&]*)")
_CLIENT: Final = re.compile(r"[ -~]{1,64}")
_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}.*")  # W3C Trace Context
_WANTED: Final = {
    name.lower().encode(): name
    for name in ("Authorization", "Host", "Origin", CLIENT_HEADER, REQUEST_ID_HEADER, "traceparent", "tracestate")
}


class Edge:
    """`app` behind its edge. Requests reach it with a `Caller` in their scope; probes are answered here.

    Without `hosts`, every Host is served. An error that `app` does not handle is answered as a problem, or, when the
    answer has begun, by breaking the connection, so that nobody takes a part for the whole.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        authenticator: Authenticator,
        phase: Phase,
        probes: Probes,
        hosts: Hosts | None = None,
        watcher: Watcher = UNWATCHED,
    ) -> None:
        self._app, self._authenticator, self._phase, self._probes = app, authenticator, phase, probes
        self._hosts, self._watcher = hosts, watcher

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise RuntimeError(f"the edge serves HTTP, not {scope['type']}")
        # httptools leaves the blanks after a value, which are no part of it (RFC 9110, 5.5); MCP compares values.
        scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        headers = _headers(scope["headers"])
        request_id = _request_id(headers.get(REQUEST_ID_HEADER))
        answer = _Answer(send, request_id, self._phase)
        if scope["path"] in PROBES:
            await self._probes(scope, receive, answer.send)
            return
        structlog.contextvars.clear_contextvars()  # a connection's requests follow each other in one context
        structlog.contextvars.bind_contextvars(request_id=request_id, **_trace_of(headers))
        request = _Request(scope, receive, headers, request_id)
        if "traceparent" in headers:
            with remote_parent(headers):
                await self._serve(request, answer)
        else:
            await self._serve(request, answer)

    async def _serve(self, request: _Request, answer: _Answer) -> None:
        scope, receive = request.scope, request.receive
        try:
            if await self._admits(request, answer):
                await self._app(scope, receive, answer.send)
        except asyncio.CancelledError:  # the grace is over
            leaving = ShuttingDown("this server is ending, and what was asked for was not done in time")
            self._watcher.failed("edge", leaving)
            if not answer.begun:
                await problem_response(leaving, **_about(request))(scope, receive, answer.send)
            raise
        except Exception as error:
            _log.error("unforeseen", extra=shape_of(error))
            bug = SpillError(f"the server failed in an unforeseen way ({type(error).__name__})")
            self._watcher.failed("edge", bug)
            if answer.begun:
                raise
            await problem_response(bug, **_about(request))(scope, receive, answer.send)

    async def _admits(self, request: _Request, answer: _Answer) -> bool:
        """Whether a request may go on, with its caller; else it has been answered."""
        try:
            request.scope[SCOPE_KEY] = await self._caller(request)
        except SpillError as error:
            self._watcher.failed("edge", error)
            problem = problem_response(error, **_about(request))
            await problem(request.scope, request.receive, answer.send)
            return False
        return True

    async def _caller(self, request: _Request) -> Caller:
        headers = request.headers
        if _JOINT in headers.get("Host", ""):  # RFC 9112, 3.2: whoever is in front may have gone by the other
            raise ArgumentsInvalid("the request names more than one Host")
        if self._hosts is not None:
            self._hosts.check(headers.get("Host", ""), headers.get("Origin"))
        authorization = headers.get("Authorization")
        identity = await self._authenticator.identify(authorization.encode("latin-1") if authorization else None)
        client = headers.get(CLIENT_HEADER) or _client_in(request.scope["query_string"])
        return Caller(identity.tenant, request.id, client if _CLIENT.fullmatch(client) else "", identity.subject)


class _Request(NamedTuple):
    scope: Scope
    receive: Receive
    headers: Mapping[str, str]
    id: str


def _about(request: _Request) -> About:
    """What an error says of its request; one that was to store a result says that it did not."""
    writing = request.scope["method"] == "POST" and request.scope["path"].startswith(f"{MOUNT}/")
    return {"request_id": request.id, "writing": writing}


class _Answer:
    """Sends an answer on, with the request's id and, while draining, the wish not to be asked on this connection."""

    __slots__ = ("_headers", "_phase", "_send", "begun")

    def __init__(self, send: Send, request_id: str, phase: Phase) -> None:
        self._send, self._phase = send, phase
        self._headers = [(REQUEST_ID_HEADER.lower().encode(), request_id.encode())]
        self.begun = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            headers = [*message.get("headers", ()), *self._headers]
            if self._phase.draining:  # in place of what an event stream says of its own
                headers = [*(one for one in headers if one[0] != b"connection"), (b"connection", b"close")]
            message = {**message, "headers": headers}
        await self._send(message)


def _headers(listed: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Those of the headers that are wanted here. One that comes twice is joined, as HTTP says, and so fits nothing."""
    found: dict[str, str] = {}
    for raw, value in listed:
        name = _WANTED.get(raw)
        if name is not None:
            text = value.decode("latin-1")
            found[name] = f"{found[name]}{_JOINT}{text}" if name in found else text
    return found


def _request_id(given: str | None) -> str:
    """The caller's own, where it is one that may stand in a log line; else a new one."""
    return given if given is not None and _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)


def _trace_of(headers: Mapping[str, str]) -> dict[str, Any]:
    found = _TRACEPARENT.fullmatch(headers.get("traceparent", ""))
    return {"trace_id": found[1]} if found is not None else {}


def _client_in(query: bytes) -> str:
    """The parameter `client` of the address, which a platform may set once for all of an agent's requests."""
    found = _CLIENT_PARAMETER.search(query)
    return unquote_plus(found[1].decode("latin-1")) if found is not None else ""
