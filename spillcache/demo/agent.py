"""The agent's host: the official MCP client. It calls the tool through the proxy, and reads what was truncated.

It does what the envelope and the pages say, and nothing else: that is all an agent has.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
import orjson
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from spillcache.demo.fleet import Fleet
from spillcache.errors import UpstreamUnavailable

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Session:
    """What the agent was given: the envelope of its call, then every page as text, in order."""

    envelope: str
    pages: list[str]
    killed: str | None


async def call_through_proxy(tool: str, environment: Mapping[str, str]) -> str:
    """Call the oversized tool through `spillcache proxy`, which starts the tool's server; the first text block."""
    upstream = [sys.executable, "-m", "spillcache.demo.upstream"]
    proxy = StdioServerParameters(
        command=sys.executable,
        args=["-m", "spillcache.cli", "proxy", "--", *upstream],
        env=dict(environment),
    )
    with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        # Its log is for an operator's collector, and would stand in the middle of what is told here.
        try:
            async with Client(stdio_client(proxy, errlog=log)) as client:
                return _text(await client.call_tool(tool, {}))
        except Exception as error:
            log.seek(0)
            last_words = " ".join(log.read().splitlines()[-3:])
            raise UpstreamUnavailable(f"the proxy failed: {last_words}") from error


class Reader:
    """Pages through a spill, each call to the next replica, as behind a load balancer that knows no session."""

    def __init__(self, fleet: Fleet, tell: Tell) -> None:
        self._fleet = fleet
        self._tell = tell

    async def read(self, envelope: str, kill_at: int) -> Session:
        """Every page from the first to the last. Once `kill_at` bytes have come, the replica that is next dies."""
        following = orjson.loads(envelope)["next"]
        arguments, pages, delivered, killed = dict(following["arguments"]), list[str](), 0, None
        async with httpx2.AsyncClient() as http:
            while True:
                if killed is None and delivered >= kill_at:
                    killed = self._kill(delivered)
                pages.append(await self._ask(http, following["tool"], arguments))
                page = orjson.loads(pages[-1])
                delivered += len(page.get("chunk", "").encode())
                if "next_cursor" not in page:
                    return Session(envelope, pages, killed)
                arguments["cursor"] = page["next_cursor"]

    async def _ask(self, http: httpx2.AsyncClient, tool: str, arguments: dict[str, Any]) -> str:
        """The answer of whoever is next; of the one after, when that one is gone."""
        answer = ""
        for _ in self._fleet.replicas:
            replica = self._fleet.take_turn()
            try:
                # A client anew for each call: no session that a replica could remember.
                async with Client(streamable_http_client(replica.url, http_client=http)) as client:
                    answer = _text(await client.call_tool(tool, arguments))
                    replica.pages += 1
            except* httpx2.TransportError:
                self._fleet.handed_on += 1
            if answer:
                return answer
        raise UpstreamUnavailable("no replica is left")

    def _kill(self, delivered: int) -> str:
        victim = self._fleet.next_replica()
        victim.kill()
        self._tell(f"SIGKILL for {victim.name} (process {victim.pid}) after {delivered:,} bytes; the walk goes on.")
        return victim.name


def _text(result: Any) -> str:
    """The first text block: some hosts show their model nothing else."""
    return next(block.text for block in result.content if isinstance(block, TextContent))
