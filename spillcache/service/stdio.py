"""The tool over standard input and output: one caller, whose tenant the settings name, and no edge."""

from __future__ import annotations

import asyncio

from spillcache.caller import Caller
from spillcache.mcp.server import build_server
from spillcache.mcp.stdio import serve_stdio
from spillcache.service.tooling import tool_options
from spillcache.wiring.events import Events
from spillcache.wiring.logs import configure_logs, confine_foreign_logs
from spillcache.wiring.opening import open_async_cache
from spillcache.wiring.settings import Settings
from spillcache.wiring.tracing import trace_watcher
from spillcache.wiring.watchers import Watchers


async def run_stdio(settings: Settings, session_id: str) -> None:
    """Serve until standard input ends. `session_id` begins the id of every request in the log."""
    confine_foreign_logs(configure_logs(settings.log_format))
    tracing = trace_watcher()
    watcher = Watchers(Events(), *([tracing] if tracing is not None else []))
    cache = await asyncio.to_thread(open_async_cache, settings, watcher=watcher)
    async with cache:
        await serve_stdio(build_server(cache, tool_options(settings), caller=Caller(settings.tenant, session_id)))
