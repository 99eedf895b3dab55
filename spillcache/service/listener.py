"""Listening: one uvicorn server on one socket, which ends in three steps.

A signal begins the drain: `/readyz` says 503 and every answer asks for its connection to be closed, but new ones are
still accepted, because balancers learn of it late. When the drain is over nothing more is accepted, and what is being
answered may finish within the grace. A second signal ends it at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from spillcache.errors import ArgumentsInvalid
from spillcache.service.phase import Phase
from spillcache.service.protocol import BoundedProtocol

_log = logging.getLogger("spillcache")

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_KEEP_ALIVE_S: Final = 75  # longer than balancers keep idle connections (60 s), or they would send into closing ones
_BACKLOG: Final = 2048  # connections not yet accepted: a burst waits here and is not refused; the kernel may take fewer


@dataclass(frozen=True, slots=True)
class Ending:
    """How long to go on accepting after a signal, and how long what is being answered may then still take."""

    drain_s: float
    grace_s: float


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket bound to an address; port 0 takes a free one. Raises `ArgumentsInvalid`."""
    # The protocol is named: asyncio turns Nagle's delay (40 ms an answer) off only where it is.
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if host == "::" and socket.has_dualstack_ipv6():
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        bound.bind((host, port))
        bound.listen(_BACKLOG)  # now, so that a port that is taken is found before anything else is begun
    except OSError as error:
        bound.close()
        raise ArgumentsInvalid(
            f"cannot listen on {host}:{port} ({error.strerror or type(error).__name__})",
            next_step="Choose another --host or --port (SPILLCACHE_HOST, SPILLCACHE_PORT); port 0 takes a free one.",
        ) from None
    return bound


async def listen(
    app: ASGIApp, socket_: socket.socket, *, phase: Phase, ending: Ending, ready: Callable[[], None]
) -> None:
    """Serve until a signal has ended it. `ready` is called once connections are accepted."""
    server = _Server(app, ending, ready)
    serving = asyncio.create_task(server.serve(sockets=[socket_]))
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if phase.draining:
            serving.cancel()
            return
        phase.draining = True
        _log.info("draining", extra={"drain_s": ending.drain_s})
        loop.call_later(ending.drain_s, server.stop)

    for number in _SIGNALS:
        loop.add_signal_handler(number, on_signal)
    try:
        with suppress(asyncio.CancelledError):
            await serving
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
    await server.abandon()


class _Server(uvicorn.Server):
    """uvicorn's server, whose signals are ours."""

    def __init__(self, app: ASGIApp, ending: Ending, ready: Callable[[], None]) -> None:
        self._ready = ready
        super().__init__(
            uvicorn.Config(
                app,
                http=BoundedProtocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=_KEEP_ALIVE_S,
                timeout_graceful_shutdown=math.ceil(ending.grace_s),
            )
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """None: uvicorn would stop accepting at the first one, and end with it instead of exit code 0."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's, and then say so."""
        await super().startup(sockets)
        self._ready()

    def stop(self) -> None:
        """Accept nothing more, and end when what is being answered is."""
        self.should_exit = True

    async def abandon(self) -> None:
        """Cancel what the grace did not suffice for, and wait for it to be undone."""
        tasks = list(self.server_state.tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            _log.warning("abandoned", extra={"requests": len(tasks)})
            await asyncio.wait(tasks, timeout=1)
