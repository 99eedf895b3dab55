"""Clients before a proxy. The upstreams are processes of their own; the proxy is in this one, or is one as well."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel import Server
from mcp.shared.memory import create_client_server_memory_streams
from mcp_types import CallToolResult, Implementation, TextContent

from spillcache import SpillCache
from spillcache.caller import Caller
from spillcache.mcp.proxy.config import Upstream, make_upstream
from spillcache.mcp.proxy.link import Patience
from spillcache.mcp.proxy.server import build_proxy
from spillcache.tool.definition import ToolOptions
from tests.servers.caches import cache_on
from tests.servers.waiting import until

ROOT = Path(__file__).parents[3]
QUICK = Patience(first_s=0.01, longest_s=0.05)
CODE = {"PYTHONPATH": str(ROOT)}


def program(name: str, *arguments: str, env: Mapping[str, str] | None = None, **fields: Any) -> Upstream:
    """An upstream of `tests.mcp.proxy.upstreams`, as a child of the proxy."""
    args = ("-m", f"tests.mcp.proxy.upstreams.{name}", *arguments)
    return make_upstream(command=sys.executable, args=args, cwd=ROOT, env={**CODE, **(env or {})}, **fields)


@contextmanager
def web_program(*arguments: str, port: int = 0, trace: Path | None = None) -> Iterator[str]:
    """The server `everything` over HTTP; gives its URL."""
    number = port or free_port()
    command = [sys.executable, "-m", "tests.mcp.proxy.upstreams.everything", "--http", str(number), *arguments]
    env = {**os.environ, **CODE, **({} if trace is None else {"TRACE": str(trace)})}
    with subprocess.Popen(command, cwd=ROOT, env=env) as process:
        try:
            until(lambda: _accepts(number), "the upstream listens")
            yield f"http://127.0.0.1:{number}/mcp"
        finally:
            process.kill()


def free_port() -> int:
    """A port that nobody has at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@asynccontextmanager
async def before(
    upstreams: Mapping[str, Upstream] | Upstream,
    redis_url: str,
    *,
    mode: str = "auto",
    options: ToolOptions | None = None,
    name: str = "test",
    cache: SpillCache | None = None,
    **client: Any,
) -> AsyncIterator[Client]:
    """A client of a proxy in this process, over a pair of streams, as stdio has them."""
    async with cache or cache_on(redis_url, tool_name=(options or ToolOptions()).name) as store:
        server = build_proxy(
            store,
            options or ToolOptions(),
            {"": upstreams} if isinstance(upstreams, Upstream) else upstreams,
            environment=dict(os.environ),
            caller=Caller(),
            patience=QUICK,
        )
        info = Implementation(name=name, version="1")
        async with Client(_streams(server), mode=mode, client_info=info, cache=None, **client) as connected:
            yield connected


@asynccontextmanager
async def _streams(server: Server[Any]) -> AsyncIterator[Any]:
    async with create_client_server_memory_streams() as (clients, servers):
        serving = asyncio.ensure_future(server.run(*servers, server.create_initialization_options()))
        try:
            yield clients
        finally:
            serving.cancel()
            await asyncio.wait([serving])


def command(*arguments: str) -> list[str]:
    """The command line of a proxy in a process of its own."""
    return [sys.executable, "-m", "spillcache.cli", "proxy", *arguments]


def settings(redis_url: str, ring: Path, **more: str) -> dict[str, str]:
    """Its settings."""
    return {
        "SPILLCACHE_REDIS_URL": redis_url,
        "SPILLCACHE_KEYRING_FILE": str(ring),
        "SPILLCACHE_LOG_FORMAT": "json",
        **CODE,
        **more,
    }


def stdio_proxy(redis_url: str, ring: Path, *arguments: str, mode: str = "auto", **more: str) -> Client:
    """A client that starts the command and ends it."""
    program, *rest = command(*arguments)
    env = settings(redis_url, ring, **more)
    return Client(StdioServerParameters(command=program, args=rest, cwd=ROOT, env=env), mode=mode, cache=None)


@contextmanager
def http_proxy(redis_url: str, ring: Path, *arguments: str, **more: str) -> Iterator[str]:
    """The command with `--http`; gives its URL."""
    listening = command("--http", "--port", "0", "--metrics-port", "-1", *arguments)
    env = {**os.environ, **settings(redis_url, ring, SPILLCACHE_DRAIN_S="0", **more)}
    said = ring.with_name("said")  # not a pipe: nobody reads on, and a full one would stop the proxy
    with said.open("w") as errors, subprocess.Popen(listening, cwd=ROOT, env=env, stderr=errors) as process:
        try:
            until(lambda: '"listening"' in said.read_text() or process.poll() is not None, "it listens")
            line = next(line for line in said.read_text().splitlines() if '"listening"' in line)
            yield json.loads(line)["mcp"]
        finally:
            process.terminate()


@asynccontextmanager
async def web_client(
    url: str, *, mode: str = "auto", headers: dict[str, str] | None = None, **client: Any
) -> AsyncIterator[Client]:
    """A client over HTTP, with headers of its own on every request."""
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as web,
        Client(streamable_http_client(url, http_client=web), mode=mode, cache=None, **client) as connected,
    ):
        yield connected


def text_of(result: CallToolResult) -> str:
    """The text of a result's first block."""
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text


def answer_of(result: CallToolResult) -> dict[str, Any]:
    """The JSON object in it."""
    found: dict[str, Any] = json.loads(text_of(result))
    return found


async def walked(client: Client, spill_id: str, tool: str = "search_query_spill") -> str:
    """The whole of a spill, read page by page as an agent would."""
    chunks, arguments = [], {"spill_id": spill_id}
    while True:
        page = answer_of(await client.call_tool(tool, arguments))
        chunks.append(page["chunk"])
        if "next_cursor" not in page:
            assert page["status"] == "COMPLETE"
            return "".join(chunks)
        arguments = {"spill_id": spill_id, "cursor": page["next_cursor"]}
