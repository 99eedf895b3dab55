"""Running: one process from settings to its exit, whatever faces it serves."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from spillcache import SpillCache
from spillcache.service.app import Faces, edge_app, serve_faces
from spillcache.service.beginning import begin
from spillcache.service.listener import Ending, bound_socket, listen
from spillcache.service.loops import loop_factory
from spillcache.service.metrics_port import metrics_port
from spillcache.service.phase import Phase
from spillcache.service.probes import StoreSeen
from spillcache.wiring.metrics import Metrics
from spillcache.wiring.opening import open_async_cache
from spillcache.wiring.settings import Settings
from spillcache.wiring.watchers import Watchers, watching

_log = logging.getLogger("spillcache")

MakeFaces = Callable[[SpillCache, Settings], Faces]


@dataclass(frozen=True, slots=True)
class Watched:
    """Who hears what the process does: all of them as one, and those that are asked later."""

    all: Watchers
    metrics: Metrics
    store: StoreSeen


def watched() -> Watched:
    """Metrics, events, the store's last state and, where OpenTelemetry is, spans."""
    metrics, store = Metrics(), StoreSeen()
    return Watched(watching(metrics, store), metrics, store)


def run_service(settings: Settings, faces: MakeFaces = serve_faces) -> None:
    """Serve until SIGTERM or SIGINT. Once it accepts connections it says so: one log event `listening`, with the URLs.

    Raises `SpillError` for what keeps it from starting: no key ring, no credentials where they are needed, a port that
    is taken, settings that contradict each other.
    """
    begin(settings)
    seen, phase = watched(), Phase()
    cache = open_async_cache(settings, watcher=seen.all)
    with ExitStack() as stack:
        made = faces(cache, settings)
        app = edge_app(made.apps, settings, phase=phase, store=seen.store, watcher=seen.all)
        bound = stack.enter_context(bound_socket(settings.host, settings.port))
        metrics = stack.enter_context(metrics_port(seen.metrics.registry, settings.host, settings.metrics_port))
        urls = _urls(made, settings.host, bound, metrics)

        async def serve() -> None:
            async with cache, made.lifespan:
                await listen(
                    app,
                    bound,
                    phase=phase,
                    ending=Ending(settings.drain_s, settings.grace_s),
                    ready=lambda: _ready(urls),
                )

        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(serve())
    _log.info("stopped")


def _ready(urls: dict[str, Any]) -> None:
    # What imports have left lives as long as the process: looking through it again in each full collection holds the
    # loop for 0.1 s.
    gc.collect()
    gc.freeze()
    _log.info("listening", extra=urls)


def _urls(faces: Faces, host: str, bound: socket.socket, metrics: int | None) -> dict[str, Any]:
    shown = f"[{host}]" if ":" in host else host
    port = bound.getsockname()[1]
    urls = {path.strip("/"): f"http://{shown}:{port}{path}" for path in faces.apps}
    return urls | ({"metrics": f"http://{shown}:{metrics}/metrics"} if metrics is not None else {})
