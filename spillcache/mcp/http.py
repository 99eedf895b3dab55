"""MCP over streamable HTTP as an ASGI app: no sessions, so that any replica answers any request."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from spillcache import defaults

_LOOPBACK = ("127.0.0.1:*", "localhost:*", "[::1]:*")


def mcp_app(
    server: Server[Any],
    *,
    max_request_bytes: int = defaults.MAX_REQUEST_BYTES,
    allowed_hosts: Sequence[str] | None = (),
) -> tuple[ASGIApp, AbstractAsyncContextManager[None]]:
    """The app, for the one path at which it is mounted, and the lifespan that must surround its serving.

    A larger body than `max_request_bytes` is refused with 413. A request must name a `Host` (and, from a browser, an
    `Origin`) of loopback or of `allowed_hosts`, which may end in `:*`; None serves every name, for where credentials
    keep strangers' pages out. The lifespan is entered once, and the app answers within it only.
    """
    manager = StreamableHTTPSessionManager(
        server,
        stateless=True,
        json_response=False,  # its answers drop progress
        max_request_body_size=max_request_bytes,
        security_settings=_security(allowed_hosts),
    )
    return _posts_only(manager.handle_request), manager.run()


def _posts_only(app: ASGIApp) -> ASGIApp:
    """Without sessions, nothing would ever come by the stream that clients of the older protocol open by GET.

    They do without where it is refused, as the protocol allows; else each would hold a connection, and a drain, open.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        refusal = Response(status_code=405, headers={"Allow": "POST"})
        await (app if scope["method"] == "POST" else refusal)(scope, receive, send)

    return answer


def _security(allowed_hosts: Sequence[str] | None) -> TransportSecuritySettings:
    if allowed_hosts is None:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    hosts = [*_LOOPBACK, *allowed_hosts]
    hosts += [host.removesuffix(":*") for host in hosts]  # the standard port is not written
    return TransportSecuritySettings(
        allowed_hosts=hosts,
        allowed_origins=[f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts],
    )
