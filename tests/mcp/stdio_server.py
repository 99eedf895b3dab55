"""A server over stdio, as a program: `python -m tests.mcp.stdio_server REDIS_URL RING_FILE [RENDERING]`."""

from __future__ import annotations

import asyncio
import sys

from spillcache import Keyring, SpillCache
from spillcache.caller import Caller
from spillcache.mcp.server import build_server
from spillcache.mcp.stdio import serve_stdio
from spillcache.tool.definition import ToolOptions


async def main(url: str, ring: str) -> None:
    """Serve until stdin ends."""
    async with SpillCache.from_url(url, keyring=Keyring.from_file(ring)) as cache:
        await serve_stdio(build_server(cache, ToolOptions(), caller=Caller()))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
