"""Servers of the MCP face: over HTTP in a thread with its own loop, over stdio in a process of their own."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation
from starlette.types import ASGIApp, Receive, Scope, Send

from spillcache.caller import SCOPE_KEY, Caller
from spillcache.mcp.http import mcp_app
from spillcache.mcp.server import build_server
from spillcache.tool.definition import ToolOptions
from tests.servers.caches import cache_on
from tests.servers.waiting import until

MODES = ("legacy", "auto", "2026-07-28")


class Edge:
    """Stands in for the service's edge: tenant, request id and client come from headers that a test sets."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request in its caller's name."""
        headers = {name.decode(): value.decode() for name, value in scope.get("headers", [])}
        scope[SCOPE_KEY] = Caller(
            tenant=headers.get("x-tenant", "default"),
            request_id=headers.get("x-request", "request"),
            client=headers.get("x-client", ""),
        )
        await self._app(scope, receive, send)


@contextmanager
def serving(
    redis_url: str,
    options: ToolOptions | None = None,
    *,
    max_request_bytes: int = 4 << 20,
    allowed_hosts: Sequence[str] | None = (),
    **cache_options: Any,
) -> Iterator[str]:
    """A server over HTTP; gives its URL. Its cache is its own, as another replica's is."""
    # asyncio turns Nagle's delay off only where the protocol is named; create_server() does not, at 40 ms a request.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    stop, ready = threading.Event(), threading.Event()

    async def serve() -> None:
        async with cache_on(redis_url, **cache_options) as cache:
            server = build_server(cache, options or ToolOptions())
            app, lifespan = mcp_app(server, max_request_bytes=max_request_bytes, allowed_hosts=allowed_hosts)
            async with lifespan:
                web = uvicorn.Server(uvicorn.Config(Edge(app), lifespan="off", log_config=None))
                running = asyncio.create_task(web.serve(sockets=[listener]))
                ready.set()
                await asyncio.to_thread(stop.wait)
                web.should_exit = web.force_exit = True
                await running

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        until(ready.is_set, "the server listens")
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    finally:
        stop.set()
        thread.join()


def stdio_command(redis_url: str, ring: Path, *arguments: str) -> list[str]:
    """The command line of a server over stdio."""
    return [sys.executable, "-m", "tests.mcp.stdio_server", redis_url, str(ring), *arguments]


def stdio_client(redis_url: str, ring: Path, mode: str, name: str = "test") -> Client:
    """A client that starts such a server and ends it."""
    command, *arguments = stdio_command(redis_url, ring)
    root = Path(__file__).parents[2]
    parameters = StdioServerParameters(command=command, args=arguments, cwd=root)
    return Client(parameters, mode=mode, client_info=Implementation(name=name, version="1"))


@asynccontextmanager
async def http_client(
    url: str, mode: str, name: str = "test", headers: dict[str, str] | None = None
) -> AsyncIterator[Client]:
    """A connected client of a server over HTTP, with headers of its own on every request."""
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as web,
        Client(
            streamable_http_client(url, http_client=web), mode=mode, client_info=Implementation(name=name, version="1")
        ) as client,
    ):
        yield client
