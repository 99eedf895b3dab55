"""A TCP relay in front of a server that sees every command, and can end or hold a connection at any of them."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum, auto
from typing import BinaryIO
from urllib.parse import urlsplit, urlunsplit

_RELAY_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Command:
    """A command on its way to the server: its number since the last `watch`, name in capitals, and first argument."""

    number: int
    name: str
    key: bytes


class Fate(Enum):
    """What becomes of a command."""

    FORWARD = auto()
    #: It never reaches the server. All before it are executed; then the connection ends, without their replies.
    CUT = auto()
    #: It is executed, then the connection ends without its reply.
    LOSE_REPLY = auto()
    #: It, and all after it on its connection, wait for `release`.
    HOLD = auto()


Rule = Callable[[Command], Fate]


def forward(command: Command) -> Fate:
    """The rule of a proxy that only counts."""
    del command
    return Fate.FORWARD


def only_number(number: int, fate: Fate) -> Rule:
    """One command meets its fate, all others pass."""
    return lambda command: fate if command.number == number else Fate.FORWARD


def from_number_on(number: int, fate: Fate) -> Rule:
    """The first `number` commands pass, all others meet their fate."""
    return lambda command: fate if command.number >= number else Fate.FORWARD


class Proxy:
    """A running relay. `url` leads through it; `seen` are the commands since the last `watch`."""

    def __init__(self, url: str, port: int) -> None:
        login, at, _ = urlsplit(url).netloc.rpartition("@")
        self.url = urlunsplit(urlsplit(url)._replace(netloc=f"{login}{at}127.0.0.1:{port}"))
        self.target = (urlsplit(url).hostname or "127.0.0.1", urlsplit(url).port or 6379)
        self.seen: list[Command] = []
        self.alter: Callable[[bytes], bytes] = lambda reply: reply
        self._rule: Rule = forward
        self._lock = threading.Lock()
        self._released = threading.Event()

    def watch(self, rule: Rule = forward) -> None:
        """Begin to count anew, under `rule`."""
        with self._lock:
            self.seen = []
            self._rule = rule

    @property
    def names(self) -> list[str]:
        """The names of the commands seen."""
        return [command.name for command in self.seen]

    def release(self) -> None:
        """Let go of what is held, and hold nothing any more."""
        self._released.set()

    def judge(self, arguments: list[bytes]) -> Fate:
        """Count a command and say what becomes of it."""
        with self._lock:
            key = arguments[1] if len(arguments) > 1 else b""
            command = Command(len(self.seen), arguments[0].decode().upper(), key)
            self.seen.append(command)
            return self._rule(command)

    def relay(self, client: socket.socket) -> None:
        """Serve one connection until either side ends it or a command's fate does."""
        with socket.create_connection(self.target) as server, client.makefile("rb") as stream:
            muted = threading.Event()
            back = threading.Thread(target=self._relay_replies, args=(server, client, muted), daemon=True)
            back.start()
            while command := _read_command(stream):
                raw, arguments = command
                fate = self.judge(arguments)
                if fate is Fate.HOLD:
                    self._released.wait()
                if fate in (Fate.CUT, Fate.LOSE_REPLY):
                    muted.set()
                if fate is not Fate.CUT:
                    server.sendall(raw)
                if muted.is_set():
                    break
            # A server executes what it was sent before it sees that nothing follows; then it hangs up.
            server.shutdown(socket.SHUT_WR)
            back.join()

    def _relay_replies(self, server: socket.socket, client: socket.socket, muted: threading.Event) -> None:
        with suppress(OSError):
            while data := server.recv(_RELAY_BYTES):
                if not muted.is_set():
                    client.sendall(self.alter(data))
        with suppress(OSError):  # the client may have gone first
            client.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxy(url: str) -> Iterator[Proxy]:
    """Relay connections on a free loopback port to the server at `url` (`redis://`)."""
    running: Proxy

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):  # either side may hang up at any time
                running.relay(self.request)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as listening:
        listening.daemon_threads = True
        running = Proxy(url, listening.server_address[1])
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield running
        finally:
            running.release()
            listening.shutdown()
            thread.join()


def _read_command(stream: BinaryIO) -> tuple[bytes, list[bytes]] | None:
    """The next command as it came and its parts; None where the stream ends, be it in the middle of one."""
    head = stream.readline()
    if not head.endswith(b"\r\n"):
        return None
    raw, arguments = [head], []
    for _ in range(int(head[1:])):
        size = stream.readline()
        body = stream.read(int(size[1:]) + 2) if size.endswith(b"\r\n") else b""
        if not body.endswith(b"\r\n"):
            return None
        raw += [size, body]
        arguments.append(body[:-2])
    return b"".join(raw), arguments
