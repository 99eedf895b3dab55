"""The proxy as an MCP server, for stdio (`mcp.stdio.serve_stdio`) or HTTP (`mcp.http.mcp_app`)."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any, Final

from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from spillcache import SpillCache, defaults
from spillcache.caller import Caller
from spillcache.errors import ArgumentsInvalid, SpillError
from spillcache.mcp.proxy.child import check_commands
from spillcache.mcp.proxy.config import Upstream
from spillcache.mcp.proxy.greeting import opened
from spillcache.mcp.proxy.link import Patience
from spillcache.mcp.proxy.links import Links
from spillcache.mcp.proxy.lists import ToolLists
from spillcache.mcp.proxy.relay import Relay
from spillcache.mcp.proxy.session import Greeting
from spillcache.tool.definition import ToolOptions

_log = logging.getLogger("spillcache")

SERVER_NAME: Final = "spillcache-proxy"


def build_proxy(
    cache: SpillCache,
    options: ToolOptions,
    upstreams: Mapping[str, Upstream],
    *,
    environment: Mapping[str, str],
    caller: Caller | None = None,
    patience: Patience | None = None,
    max_callers: int = defaults.MAX_CALLERS,
    ended: Callable[[], None] = lambda: None,
) -> Server[Any]:
    """A server that stands in front of `upstreams`, by namespace; a single one may have the namespace "".

    `environment` is this process's, of which child processes get what their upstream's table says. `caller` is whose
    requests these are where no edge says so (stdio); where one does, `max_callers` may have links at once. Links live
    as long as the server's lifespan; `ended` is called when they are gone. The lifespan of a server whose one client
    had to be refused, because an upstream has a tool named as the paging tool is, ends with that `ArgumentsInvalid`.
    Raises it here for an upstream whose command does not exist.
    """
    check_commands(upstreams, environment)
    links = Links(upstreams, environment=environment, patience=patience or Patience(), max_callers=max_callers)

    @asynccontextmanager
    async def lifespan(_server: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        try:
            async with links.running():
                yield {}
        finally:
            ended()
        if relay.refused is not None:
            raise relay.refused

    identity = _identity()
    relay = Relay(cache, options, links, caller=caller, identity=identity)
    server: Server[Any] = Server(
        identity["name"], version=identity["version"], lifespan=lifespan, on_subscriptions_listen=relay.listen
    )
    server.middleware.append(relay)
    return server


async def check_upstreams(
    options: ToolOptions, upstreams: Mapping[str, Upstream], *, environment: Mapping[str, str]
) -> dict[str, bool]:
    """Whether each upstream can be reached; for a proxy that serves many callers, before it serves the first.

    One that takes its callers' credentials is not asked. Raises `ArgumentsInvalid` for a tool named as the paging
    tool is, and for a command that does not exist.
    """
    check_commands(upstreams, environment)
    asked = {name: upstream for name, upstream in upstreams.items() if not upstream.forward_authorization}
    links = Links(asked, environment=environment, patience=Patience(call_s=10.0))
    refused: ArgumentsInvalid | None = None
    async with links.running():
        found = links.of("", Greeting(_identity(), {}))
        sessions = await opened(found)
        try:
            await ToolLists(options).checked(found)
        except ArgumentsInvalid as error:  # raised below: a task group would wrap it
            refused = error
        except (SpillError, MCPError) as error:  # it has no list; callers will be told the same
            _log.warning("upstream_failed", extra={"why": type(error).__name__})
    if refused is not None:
        raise refused
    return {name: session is not None for name, session in sessions.items()}


def _identity() -> dict[str, Any]:
    return {"name": SERVER_NAME, "version": version("spillcache")}
