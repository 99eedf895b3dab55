"""The tool's own server, which knows nothing of spillcache: `python -m spillcache.demo.upstream` speaks MCP on stdio.

Its one tool answers with the whole batch, 345 KB in one text block, as such tools do.
"""

from __future__ import annotations

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from spillcache.demo import sample

_TOOL = types.Tool(
    name=sample.TOOL,
    description="Runs twelve range queries against Prometheus and returns their results.",
    input_schema={"type": "object", "properties": {}},
)


async def _list_tools(_: object, __: object) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[_TOOL])


async def _call_tool(_: object, __: object) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=sample.payload().decode())])


async def serve() -> None:
    """Serve until standard input ends."""
    server: Server[dict[str, object]] = Server("prometheus", on_list_tools=_list_tools, on_call_tool=_call_tool)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(serve)
