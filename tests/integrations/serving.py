"""A FastMCP server on a real socket, in a thread with its own loop, and tools whose results are large."""

from __future__ import annotations

import asyncio
import base64
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastmcp import FastMCP
from fastmcp.tools import ToolResult
from mcp_types import ImageContent, TextContent
from pydantic import BaseModel

from spillcache import SpillCache
from tests.servers.caches import cache_on, noise
from tests.servers.waiting import until


class Series(BaseModel):
    """One series."""

    name: str
    values: list[tuple[int, float]]


class Answer(BaseModel):
    """A result whose fields all have defaults: what is not there reads as empty."""

    series: list[Series] = []
    note: str = "none"


class Node(BaseModel):
    """A recursive result."""

    name: str
    children: list[Node] = []


def series(points: int) -> list[Series]:
    """Three series of so many points."""
    return [Series(name=f"cpu {one}", values=[(at, at / 2) for at in range(points)]) for one in range(3)]


def metrics_server() -> FastMCP[Any]:
    """Tools of every shape: typed, wrapped, recursive, free, empty, failing, with pictures and meta."""
    server: FastMCP[Any] = FastMCP("metrics")

    @server.tool
    def typed(points: int) -> Answer:
        return Answer(series=series(points), note="read me")

    @server.tool
    def wrapped(points: int) -> list[Series]:
        return series(points)

    @server.tool
    def recursive(depth: int) -> Node:
        node = Node(name="leaf")
        for level in range(depth):
            node = Node(name=f"level {level}", children=[node, Node(name="x" * 200)])
        return node

    @server.tool
    def free(rows: int) -> dict[str, Any]:
        return {"rows": ["row"] * rows}

    @server.tool
    def plain(size: int) -> ToolResult:
        return ToolResult(content=[TextContent(text="line\n" * (size // 5))], meta={"trace": "abc"})

    @server.tool
    def chart(size: int) -> list[TextContent | ImageContent]:
        picture = ImageContent(data=base64.b64encode(noise(300_000)).decode(), mime_type="image/png")
        return [picture, TextContent(text="x" * size)]

    @server.tool
    def nothing() -> None:
        return None

    @server.tool
    def failing(lines: int) -> str:
        raise ValueError("begin\n" + "at line\n" * lines + "the cause")

    return server


@contextmanager
def serving(redis_url: str, build: Callable[[SpillCache], FastMCP[Any]], **cache_options: Any) -> Iterator[str]:
    """The server that `build` makes around a cache, over HTTP and without sessions; gives its URL."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    stop, ready = threading.Event(), threading.Event()

    async def serve() -> None:
        async with cache_on(redis_url, **cache_options) as cache:
            app = build(cache).http_app(stateless_http=True)
            async with app.router.lifespan_context(app):
                web = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None))
                running = asyncio.create_task(web.serve(sockets=[listener]))
                ready.set()
                await asyncio.to_thread(stop.wait)
                web.should_exit = web.force_exit = True
                await running

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        until(lambda: ready.is_set() or not thread.is_alive(), "the server listens")
        assert ready.is_set(), "the server ended before it listened"
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    finally:
        stop.set()
        thread.join()
