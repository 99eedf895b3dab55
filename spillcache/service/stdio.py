"""The tool, or the proxy, over standard input and output: one caller, whose tenant the settings name, and no edge."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping

from spillcache import SpillCache
from spillcache.caller import Caller
from spillcache.errors import ArgumentsInvalid
from spillcache.mcp.proxy.config import Upstream
from spillcache.mcp.proxy.server import build_proxy
from spillcache.mcp.server import build_server
from spillcache.mcp.stdio import serve_stdio
from spillcache.service.beginning import begin
from spillcache.service.loops import loop_factory
from spillcache.service.tooling import tool_options
from spillcache.service.upstreams import warn_of_unset
from spillcache.tool.definition import ToolOptions
from spillcache.tool.results import LEAST_BUDGET_BYTES
from spillcache.wiring.environment import environment
from spillcache.wiring.opening import open_async_cache
from spillcache.wiring.settings import Settings
from spillcache.wiring.watchers import watching


async def run_stdio(settings: Settings, session_id: str) -> None:
    """Serve until standard input ends. `session_id` begins the id of every request in the log."""
    begin(settings)
    options = tool_options(settings)
    cache = await asyncio.to_thread(open_async_cache, settings, watcher=watching())
    async with cache:
        await serve_stdio(build_server(cache, options, caller=Caller(settings.tenant, session_id)))


def run_stdio_proxy(settings: Settings, upstreams: Mapping[str, Upstream], session_id: str) -> None:
    """Serve one client until its end of standard input closes, or a signal. `session_id` begins its request ids."""
    if any(upstream.forward_authorization for upstream in upstreams.values()):
        raise ArgumentsInvalid(
            "there is no Authorization to forward on standard input",
            next_step="Serve over HTTP, or give the upstream headers of its own in a configuration file.",
        )
    begin(settings)
    warn_of_unset(upstreams, environment())
    options = tool_options(settings, least=LEAST_BUDGET_BYTES)
    cache = open_async_cache(settings, watcher=watching())
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_proxied(cache, options, upstreams, Caller(settings.tenant, session_id)))


async def _proxied(cache: SpillCache, options: ToolOptions, upstreams: Mapping[str, Upstream], caller: Caller) -> None:
    ending = _Ending()
    async with cache:
        server = build_proxy(cache, options, upstreams, environment=environment(), caller=caller, ended=ending.ended)
        serving = asyncio.ensure_future(serve_stdio(server))
        ending.of(serving)
        await serving


class _Ending:
    """A signal ends the upstreams in order, and then the process at once.

    A thread waits for standard input and cannot be told to stop, so nothing after the upstreams can be waited for.
    """

    def __init__(self) -> None:
        self._number: int | None = None

    def of(self, serving: asyncio.Future[None]) -> None:
        """From now on signals end what is served."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end, number, serving)

    def ended(self) -> None:
        """The upstreams are gone."""
        if self._number is not None:
            os._exit(128 + self._number)

    def _end(self, number: int, serving: asyncio.Future[None]) -> None:
        self._number = number
        serving.cancel()
