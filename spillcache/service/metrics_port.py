"""The second port, where Prometheus reads: a thread of its own, so that it also answers while the loop is busy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, start_http_server

from spillcache.errors import ArgumentsInvalid


@contextmanager
def metrics_port(registry: CollectorRegistry, host: str, port: int) -> Iterator[int | None]:
    """Expose a registry at `/metrics` inside the block; gives the real port, None where `port` is -1.

    Raises `ArgumentsInvalid` when the port cannot be had.
    """
    if port < 0:
        yield None
        return
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise ArgumentsInvalid(
            f"cannot listen on {host}:{port} for metrics ({error.strerror or type(error).__name__})",
            next_step="Set SPILLCACHE_METRICS_PORT (--metrics-port) to a free port, 0 for any, or -1 for none.",
        ) from None
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
