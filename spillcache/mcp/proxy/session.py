"""A negotiated connection to an upstream: raw requests out, raw requests and notifications in.

Not the SDK's `ClientSession`, which parses every result into models of the revision it knows and drops the rest; below
it the SDK's dispatcher deals in plain dicts, and a relay needs no more than to open the connection in the upstream's
era and to stamp each request as that era wants it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.dispatcher import CallOptions, OnNotify, OnRequest, ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    mcp_param_headers,
)
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from mcp_types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    LATEST_MODERN_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)

from spillcache.errors import UpstreamUnavailable
from spillcache.mcp.proxy.failures import FAILED

_DISCOVER_S: Final = 10.0  # what the SDK's clients give the question that a legacy server may not answer at all

#: What a request of the 2026-07-28 era says of its client; a legacy server would take it for that era's request.
_ENVELOPE: Final = frozenset(
    {PROTOCOL_VERSION_META_KEY, CLIENT_INFO_META_KEY, CLIENT_CAPABILITIES_META_KEY, LOG_LEVEL_META_KEY}
)


class EndedByQuestion(Exception):
    """The connection ended on the question of the newer era: some servers end on all that precedes the handshake."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """Who the upstream is told that it speaks with: client info and capabilities, in wire form."""

    client_info: dict[str, Any]
    capabilities: dict[str, Any]


@dataclass(slots=True)
class UpstreamSession:
    """An open connection. `version` is the negotiated one, `hello` the upstream's own words about itself.

    `param_headers` holds, by tool, which arguments the upstream wants mirrored in HTTP headers. `closed` is set when
    the connection is gone.
    """

    dispatcher: JSONRPCDispatcher
    greeting: Greeting
    version: str
    hello: dict[str, Any]
    closed: anyio.Event
    param_headers: dict[str, dict[tuple[str, ...], str]] = field(default_factory=dict)
    log_level: str | None = None

    @property
    def modern(self) -> bool:
        """Whether the upstream speaks the era without sessions, 2026-07-28 or later."""
        return self.version in MODERN_PROTOCOL_VERSIONS

    @property
    def capabilities(self) -> dict[str, Any]:
        """What the upstream says it can do."""
        found = self.hello.get("capabilities")
        told = found.items() if isinstance(found, dict) else ()
        return {name: about if isinstance(about, dict) else {} for name, about in told if about not in (None, False)}

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        *,
        on_progress: ProgressFnT | None = None,
        timeout_s: float | None = None,
    ) -> dict[str, Any]:
        """Send a request and return its result as it came. Raises `MCPError`."""
        options: CallOptions = {"headers": {}}
        if on_progress is not None:
            options["on_progress"] = on_progress
        if timeout_s is not None:
            options["timeout"] = timeout_s
        stamped = self._stamped(method, dict(params or {}), options)
        return await self.dispatcher.send_raw_request(method, stamped, options)

    async def notify(self, method: str, params: Mapping[str, Any] | None) -> None:
        """Send a notification; one that cannot be sent any more is dropped."""
        await self.dispatcher.notify(method, params, {"headers": {MCP_PROTOCOL_VERSION_HEADER: self.version}})

    def _stamped(self, method: str, params: dict[str, Any], options: CallOptions) -> dict[str, Any]:
        headers = options["headers"]
        headers[MCP_PROTOCOL_VERSION_HEADER] = self.version
        meta = {name: value for name, value in (params.get("_meta") or {}).items() if name != "progressToken"}
        if not self.modern:
            params["_meta"] = {name: value for name, value in meta.items() if name not in _ENVELOPE}
            return params
        meta.setdefault(CLIENT_INFO_META_KEY, self.greeting.client_info)
        meta.setdefault(CLIENT_CAPABILITIES_META_KEY, self.greeting.capabilities)
        if self.log_level is not None:
            meta.setdefault(LOG_LEVEL_META_KEY, self.log_level)
        headers[MCP_METHOD_HEADER] = method
        name = params.get(NAME_BEARING_METHODS.get(method, ""))
        if isinstance(name, str):
            headers[MCP_NAME_HEADER] = encode_header_value(name)
            if method == "tools/call" and name in self.param_headers:
                headers.update(mcp_param_headers(self.param_headers[name], params.get("arguments") or {}))
        params["_meta"] = {**meta, PROTOCOL_VERSION_META_KEY: self.version}
        return params


@asynccontextmanager
async def open_session(
    read: ReadStream[SessionMessage | Exception],
    write: WriteStream[SessionMessage],
    greeting: Greeting,
    *,
    on_request: OnRequest,
    on_notify: OnNotify,
    asks: bool = True,
) -> AsyncIterator[UpstreamSession]:
    """Negotiate with the server at the other end of these streams, in its own era.

    Asks a modern server's question first and falls back to the handshake: a client that insists on the new era sees no
    tools of an old server, and no error. Without `asks` there is the handshake alone. Raises `MCPError`,
    `UpstreamUnavailable`, and `EndedByQuestion` where it is worth another connection without the question.
    """
    dispatcher: JSONRPCDispatcher = JSONRPCDispatcher(read, write)
    closed = anyio.Event()

    async def run(*, task_status: anyio.abc.TaskStatus[None]) -> None:
        try:
            await dispatcher.run(on_request, on_notify, task_status=task_status)
        finally:
            closed.set()

    async with anyio.create_task_group() as tasks:
        await tasks.start(run)
        try:
            version, hello = await (
                _negotiate(dispatcher, greeting, closed) if asks else _initialize(dispatcher, greeting)
            )
            yield UpstreamSession(dispatcher, greeting, version, hello, closed)
        finally:
            tasks.cancel_scope.cancel()


async def _negotiate(
    dispatcher: JSONRPCDispatcher, greeting: Greeting, closed: anyio.Event
) -> tuple[str, dict[str, Any]]:
    version: str | None = LATEST_MODERN_VERSION
    while version is not None:
        try:
            hello = await _discover(dispatcher, greeting, version)
        except MCPError as error:
            # Not by the code of a closed connection: servers with sessions refuse the question with the same one.
            if closed.is_set() or error.error.message == "Connection closed":
                raise EndedByQuestion from None
            if error.code == FAILED:
                raise
            named = _named(error)
            version = None if named == version else named  # once more at a version that the server names
        else:
            version = _mutual(hello.get("supportedVersions"))
            if version is not None:
                return version, hello
    return await _initialize(dispatcher, greeting)


async def _discover(dispatcher: JSONRPCDispatcher, greeting: Greeting, version: str) -> dict[str, Any]:
    meta = {
        PROTOCOL_VERSION_META_KEY: version,
        CLIENT_INFO_META_KEY: greeting.client_info,
        CLIENT_CAPABILITIES_META_KEY: greeting.capabilities,
    }
    method = "server/discover"
    options: CallOptions = {
        "timeout": _DISCOVER_S,
        "cancel_on_abandon": False,
        "headers": {MCP_PROTOCOL_VERSION_HEADER: version, MCP_METHOD_HEADER: method},
    }
    return await dispatcher.send_raw_request(method, {"_meta": meta}, options)


async def _initialize(dispatcher: JSONRPCDispatcher, greeting: Greeting) -> tuple[str, dict[str, Any]]:
    params = {
        "protocolVersion": LATEST_HANDSHAKE_VERSION,
        "capabilities": greeting.capabilities,
        "clientInfo": greeting.client_info,
    }
    hello = await dispatcher.send_raw_request("initialize", params, {"cancel_on_abandon": False})
    version = hello.get("protocolVersion")
    if version not in HANDSHAKE_PROTOCOL_VERSIONS:
        raise UpstreamUnavailable("the tool's server speaks no version of the protocol that this proxy knows")
    headers = {MCP_PROTOCOL_VERSION_HEADER: str(version)}
    await dispatcher.notify("notifications/initialized", None, {"headers": headers})
    return str(version), hello


def _named(error: MCPError) -> str | None:
    """The version that a server, in refusing another, says it speaks."""
    data = error.error.data
    known = error.code == UNSUPPORTED_PROTOCOL_VERSION and isinstance(data, dict)
    return _mutual(data.get("supported")) if known else None


def _mutual(supported: object) -> str | None:
    known = [version for version in MODERN_PROTOCOL_VERSIONS if isinstance(supported, list) and version in supported]
    return known[-1] if known else None
