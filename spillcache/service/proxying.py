"""The proxy as a process: on standard input and output for one client, or over HTTP behind the edge."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spillcache import SpillCache
from spillcache.caller import Caller
from spillcache.errors import ArgumentsInvalid
from spillcache.mcp.http import mcp_app
from spillcache.mcp.proxy.config import Upstream, load_upstreams, make_upstream
from spillcache.mcp.proxy.server import build_proxy, check_upstreams
from spillcache.mcp.stdio import serve_stdio
from spillcache.service.app import Faces
from spillcache.service.run import loop_factory, run_service
from spillcache.service.tooling import tool_options
from spillcache.wiring.environment import environment
from spillcache.wiring.events import Events
from spillcache.wiring.logs import configure_logs, confine_foreign_logs
from spillcache.wiring.opening import open_async_cache
from spillcache.wiring.settings import Settings
from spillcache.wiring.tracing import trace_watcher
from spillcache.wiring.watchers import Watchers

_log = logging.getLogger("spillcache")


def upstreams_of(config: Path | None, fields: Mapping[str, Any]) -> dict[str, Upstream]:
    """The upstreams of a configuration file, or the single one that `fields` describe. Raises `ArgumentsInvalid`."""
    if config is None:
        return {"": make_upstream(**fields)}
    if fields:
        raise ArgumentsInvalid(
            f"a configuration file is given, so {', '.join(sorted(fields))} must be set in it",
            next_step="Set it in the table of the upstream that it is for.",
        )
    return load_upstreams(config)


def run_http_proxy(settings: Settings, upstreams: Mapping[str, Upstream]) -> None:
    """Serve MCP at /mcp until SIGTERM or SIGINT; as `run_service`, whose errors it raises.

    Upstreams that cannot be reached yet are a warning: they are tried again as long as somebody asks.
    """
    configure_logs(settings.log_format)
    options = tool_options(settings)
    reached = asyncio.run(check_upstreams(options, upstreams, environment=environment()))
    for name, there in reached.items():
        if not there:
            _log.warning("upstream_unreachable_at_start", extra={"upstream": name})

    def faces(cache: SpillCache, settings: Settings) -> Faces:
        server = build_proxy(cache, options, upstreams, environment=environment())
        app, lifespan = mcp_app(server, max_request_bytes=settings.max_request_bytes, allowed_hosts=None)
        return Faces({"/mcp": app}, lifespan)

    run_service(settings, faces)


def run_stdio_proxy(settings: Settings, upstreams: Mapping[str, Upstream], session_id: str) -> None:
    """Serve one client until its end of standard input closes, or a signal. `session_id` begins its request ids."""
    if any(upstream.forward_authorization for upstream in upstreams.values()):
        raise ArgumentsInvalid(
            "there is no Authorization to forward on standard input",
            next_step="Serve over HTTP, or give the upstream headers of its own in a configuration file.",
        )
    confine_foreign_logs(configure_logs(settings.log_format))
    tracing = trace_watcher()
    watcher = Watchers(Events(), *([tracing] if tracing is not None else []))
    cache = open_async_cache(settings, watcher=watcher)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_serve_stdio(cache, settings, upstreams, session_id))


async def _serve_stdio(
    cache: SpillCache, settings: Settings, upstreams: Mapping[str, Upstream], session_id: str
) -> None:
    ending = _Ending()
    async with cache:
        server = build_proxy(
            cache,
            tool_options(settings),
            upstreams,
            environment=environment(),
            caller=Caller(settings.tenant, session_id),
            ended=ending.ended,
        )
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
