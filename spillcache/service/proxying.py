"""The proxy over HTTP, behind the edge."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from spillcache import SpillCache
from spillcache.mcp.http import mcp_app
from spillcache.mcp.proxy.config import Upstream
from spillcache.mcp.proxy.server import build_proxy, check_upstreams
from spillcache.service.app import Faces
from spillcache.service.run import run_service
from spillcache.service.tooling import tool_options
from spillcache.service.upstreams import warn_of_unset
from spillcache.tool.results import LEAST_BUDGET_BYTES
from spillcache.wiring.environment import environment
from spillcache.wiring.settings import Settings

_log = logging.getLogger("spillcache")


def run_http_proxy(settings: Settings, upstreams: Mapping[str, Upstream]) -> None:
    """Serve MCP at /mcp until SIGTERM or SIGINT; as `run_service`, whose errors it raises.

    Upstreams that cannot be reached yet are a warning: they are tried again as long as somebody asks.
    """
    options = tool_options(settings, least=LEAST_BUDGET_BYTES)

    def faces(cache: SpillCache, settings: Settings) -> Faces:
        inherited = environment()
        warn_of_unset(upstreams, inherited)
        reached = asyncio.run(check_upstreams(options, upstreams, environment=inherited))
        for name, there in reached.items():
            if not there:
                _log.warning("upstream_unreachable_at_start", extra={"upstream": name})
        server = build_proxy(cache, options, upstreams, environment=inherited, max_callers=settings.max_callers)
        app, lifespan = mcp_app(server, max_request_bytes=settings.max_request_bytes, allowed_hosts=None)
        return Faces({"/mcp": app}, lifespan)

    run_service(settings, faces)
