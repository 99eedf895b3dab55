"""The REST face on a real socket: a server in a thread with its own loop, and clients that speak bytes."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from spillcache import defaults
from spillcache.caller import SCOPE_KEY, Caller
from spillcache.errors import SpillError
from spillcache.http.app import MOUNT, rest_app
from spillcache.watch import Verb, Watcher
from tests.servers.caches import cache_on
from tests.servers.waiting import until


class Edge:
    """Stands in for the service: tenant and request id come from headers that a test sets; all paths are REST's."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Put the caller and the place of the routes into the scope and go on."""
        headers = {name.decode(): value.decode("latin-1") for name, value in scope.get("headers", [])}
        scope[SCOPE_KEY] = Caller(headers.get("x-tenant", "default"), headers.get("x-request", ""))
        await self._app({**scope, "root_path": MOUNT}, receive, send)


@dataclass
class Heard(Watcher):
    """Notes the codes with which acts ended, and those that the face refused by itself."""

    acts: list[tuple[str, str]] = field(default_factory=list)
    refusals: list[tuple[str, str]] = field(default_factory=list)

    @contextmanager
    def act(self, verb: Verb, spill_id: str = "") -> Iterator[None]:
        """Note how it ends."""
        try:
            yield
        except SpillError as error:
            self.acts.append((verb, error.code))
            raise
        self.acts.append((verb, "done"))

    def failed(self, where: str, error: SpillError) -> None:
        """Note it."""
        self.refusals.append((where, error.code))


@contextmanager
def serving(
    redis_url: str,
    *,
    budget: int = defaults.BUDGET_BYTES,
    full_bytes: int = defaults.FULL_BYTES,
    max_page_bytes: int = defaults.MAX_PAGE_BYTES,
    **cache_options: Any,
) -> Iterator[str]:
    """A server; gives the URL of its routes. Its cache is its own, as another replica's is."""
    listener = socket.create_server(("127.0.0.1", 0))
    # asyncio does it only for sockets that name their protocol, and this one does not: each answer took 44 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    stop, ready = threading.Event(), threading.Event()

    async def serve() -> None:
        async with cache_on(redis_url, **cache_options) as cache:
            routes = rest_app(cache, budget=budget, full_bytes=full_bytes, max_page_bytes=max_page_bytes)
            app = Edge(routes)
            web = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None))
            running = asyncio.create_task(web.serve(sockets=[listener]))
            ready.set()
            await asyncio.to_thread(stop.wait)
            web.should_exit = web.force_exit = True
            await running

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        until(ready.is_set, "the server listens")
        yield f"http://127.0.0.1:{listener.getsockname()[1]}{MOUNT}"
    finally:
        stop.set()
        thread.join()


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """An answer as it came over a socket."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body's document."""
        return json.loads(self.body)


@contextmanager
def connected(url: str) -> Iterator[socket.socket]:
    """A connection to the server at `url`."""
    port = int(url.split(":")[2].split("/", maxsplit=1)[0])
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        yield connection


def head(method: str, path: str, **headers: str) -> bytes:
    """The head of a request; underscores in the names of headers stand for hyphens."""
    lines = [f"{method} {MOUNT}{path} HTTP/1.1", "Host: localhost"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def chunk(block: bytes) -> bytes:
    """A block as chunked coding sends it."""
    return b"%x\r\n%b\r\n" % (len(block), block)


def read_answer(connection: socket.socket) -> RawAnswer:
    """The next answer on the connection, which must announce its length."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += _more(connection)
    top, _, body = received.partition(b"\r\n\r\n")
    status, *lines = top.decode().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        body += _more(connection)
    return RawAnswer(int(status.split()[1]), headers, body)


def _more(connection: socket.socket) -> bytes:
    received = connection.recv(1 << 16)
    if not received:
        raise ConnectionError("the server closed the connection")
    return received
