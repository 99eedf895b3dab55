"""Servers that the faces are measured against: `python -m benchmarks.toolserver serve | stdio | http`.

`serve` is `spillcache serve` with one more tool, which does nothing; `stdio` and `http` are an MCP server that knows
nothing of spillcache, with a tool that does nothing and one that returns 5 MB.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import Any

import mcp_types as types
import orjson
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from benchmarks import corpora
from spillcache import SpillCache
from spillcache.http.app import rest_app
from spillcache.mcp.http import mcp_app
from spillcache.mcp.server import build_server
from spillcache.service.app import Faces
from spillcache.service.run import run_service
from spillcache.service.tooling import tool_options
from spillcache.wiring.settings import Settings, read_settings

NOOP, BIG = "noop", "big"
BIG_BYTES = 5 << 20

_NOTHING: dict[str, Any] = {"content": [{"type": "text", "text": "ok"}], "isError": False, "resultType": "complete"}
_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


def _faces(cache: SpillCache, settings: Settings) -> Faces:
    """What `serve` serves, with the tool that does nothing beside ours."""
    server = build_server(cache, tool_options(settings))
    ours, listed = server.get_request_handler("tools/call"), server.get_request_handler("tools/list")
    assert ours is not None
    assert listed is not None

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> Any:
        return _NOTHING if params.name == NOOP else await ours.handler(context, params)

    async def list_tools(context: Any, params: types.PaginatedRequestParams) -> types.ListToolsResult:
        found = await listed.handler(context, params)
        assert isinstance(found, types.ListToolsResult)
        return types.ListToolsResult(tools=[*found.tools, types.Tool(name=NOOP, input_schema=_SCHEMA)])

    server.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)
    server.add_request_handler("tools/list", types.PaginatedRequestParams, list_tools)
    mcp, lifespan = mcp_app(server, max_request_bytes=settings.max_request_bytes, allowed_hosts=None)
    rest = rest_app(cache, budget=settings.budget_bytes, max_page_bytes=settings.max_page_bytes)
    return Faces({"/mcp": mcp, "/v1": rest}, lifespan)


def upstream() -> Server[Any]:
    """A server of somebody else's."""
    big = enlarged(BIG_BYTES).decode()

    async def list_tools(_: object, __: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name=name, input_schema=_SCHEMA) for name in (NOOP, BIG)])

    async def call_tool(_: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        text = big if params.name == BIG else "ok"
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    return Server("upstream", on_list_tools=list_tools, on_call_tool=call_tool)


def enlarged(size: int) -> bytes:
    """The batch of queries, repeated as results of one document until it has about `size` bytes."""
    one = corpora.batch()
    return orjson.dumps({"results": [orjson.Fragment(one)] * max(1, size // len(one))})


async def _stdio() -> None:
    server = upstream()
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _http() -> None:
    app = upstream().streamable_http_app(stateless_http=True)
    with socket.create_server(("127.0.0.1", 0)) as bound:
        print(orjson.dumps({"event": "listening", "mcp": f"http://127.0.0.1:{bound.getsockname()[1]}/mcp"}).decode())
        sys.stdout.flush()
        uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[bound])


def main() -> None:
    """Start what the command line asks for."""
    match sys.argv[1]:
        case "serve":
            run_service(read_settings(port=0, metrics_port=-1, log_format="json"), _faces)
        case "stdio":
            asyncio.run(_stdio())
        case "http":
            _http()
        case _:
            sys.exit(str(__doc__))


if __name__ == "__main__":
    main()
