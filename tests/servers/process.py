"""One server process: start it with any configuration, stop, kill, pause and restart it."""

from __future__ import annotations

import random
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from os import kill as send_signal
from pathlib import Path
from types import TracebackType
from typing import Self

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from spillcache.embedded.lifeline import TiedProcess
from tests.servers.waiting import NeverHappenedError, until

Config = Mapping[str, str | Sequence[str]]
"""Directive → value, or several values for a directive that may repeat (`user`, `rename-command`, …)."""

NO_RETRY = Retry(NoBackoff(), 0)
"""For a client whose first failure is what the test wants to see; by default it tries for seconds."""

_DATA_SERVER: Config = {"save": '""', "appendonly": "no", "repl-diskless-sync-delay": "0"}

# Below the ephemeral range, and so that a cluster node's bus port, 10,000 higher, is below it as well.
_PORTS = range(10_000, 22_000)
_ATTEMPTS = 5


@dataclass(slots=True)
class Admin:
    """Who the tests' own connections log in as, where the configuration demands a login."""

    username: str = "default"
    password: str = ""


@dataclass(slots=True)
class ServerProcess:
    """A running server on loopback. Make one with `start`; stop it with `stop` or as a context manager.

    It dies with the test process, whatever ends that.
    """

    binary: Path
    config: Config
    port: int
    directory: Path
    sentinel: bool
    admin: Admin | None
    _process: TiedProcess = field(repr=False)

    @classmethod
    def start(
        cls, binary: Path, config: Config | None = None, *, sentinel: bool = False, admin: Admin | None = None
    ) -> ServerProcess:
        """Start `binary` on a free loopback port and return when it answers.

        `config` overrides and adds to a server without persistence. `admin` is needed when `config` demands a
        login. Raises NeverHappenedError with the server's log when it does not come up.
        """
        for _ in range(_ATTEMPTS - 1):
            # Between finding a port free and the server's taking it, another test process may be quicker.
            with suppress(NeverHappenedError):
                return cls._start(binary, config or {}, sentinel, admin)
        return cls._start(binary, config or {}, sentinel, admin)

    @classmethod
    def _start(cls, binary: Path, config: Config, sentinel: bool, admin: Admin | None) -> ServerProcess:
        directory = Path(tempfile.mkdtemp(prefix="spillcache-test-"))
        server = cls.__new__(cls)
        server.binary, server.config, server.port = binary, config, free_port()
        server.directory, server.sentinel, server.admin = directory, sentinel, admin
        server._write_config()
        server._process = server._spawn()
        try:
            server._wait_until_ready()
        except NeverHappenedError as error:
            log = server.log()
            server.stop()
            raise NeverHappenedError(f"{error}\n{log}") from None
        return server

    @property
    def url(self) -> str:
        """A client's URL, with the admin's login if there is one."""
        login = f"{self.admin.username}:{self.admin.password}@" if self.admin else ""
        return f"redis://{login}127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process exists."""
        return self._process.poll() is None

    @contextmanager
    def client(self, timeout_s: float = 5.0) -> Iterator[redis.Redis]:
        """Open a connection of the test's own, as `admin` if there is one."""
        client = redis.Redis.from_url(
            self.url,
            socket_timeout=timeout_s,
            socket_connect_timeout=timeout_s,
            protocol=2,
            retry=NO_RETRY,
        )
        try:
            yield client
        finally:
            client.close()

    def log(self) -> str:
        """What the server wrote so far."""
        return (self.directory / "log").read_text(errors="replace")

    def kill(self) -> None:
        """SIGKILL, as a crash or the kernel's memory killer would. Keeps port and directory for `restart`."""
        self._process.kill()

    def restart(self) -> None:
        """Stop it if it runs and start it again, empty, on the same port with the same configuration."""
        self._process.stop()
        self._process = self._spawn()
        self._wait_until_ready()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """SIGSTOP inside the block: the server accepts connections and bytes but answers nothing."""
        send_signal(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            send_signal(self.pid, signal.SIGCONT)

    def stop(self) -> None:
        """End the process and remove its directory. Idempotent."""
        self._process.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def _spawn(self) -> TiedProcess:
        command = [str(self.binary), str(self.directory / "server.conf")]
        if self.sentinel:
            command.append("--sentinel")
        return TiedProcess(command, directory=self.directory, log=self.directory / "log")

    def _write_config(self) -> None:
        base: Config = {"port": str(self.port), "bind": "127.0.0.1", "dir": str(self.directory)}
        merged = {**base, **({} if self.sentinel else _DATA_SERVER), **self.config}
        lines = [
            f"{directive} {value}"
            for directive, values in merged.items()
            for value in ([values] if isinstance(values, str) else values)
        ]
        (self.directory / "server.conf").write_text("\n".join(lines) + "\n")

    def _wait_until_ready(self) -> None:
        until(self._ready, f"{self.binary.name} answers on port {self.port}")

    def _ready(self) -> bool:
        if not self.running:
            raise NeverHappenedError(f"{self.binary.name} ended by itself")
        try:
            with self.client() as client:
                return bool(client.ping())
        except (redis.AuthenticationError, redis.exceptions.NoPermissionError):
            return True  # it answers; the test asked for a server that does not let us in
        except (redis.ConnectionError, redis.TimeoutError):
            return False


def free_port() -> int:
    """A loopback port that is free now, with the one 10,000 above it, where a cluster node opens its bus."""
    while True:
        port = random.choice(_PORTS)  # noqa: S311 - nothing secret in a port
        with suppress(OSError):
            for candidate in (port, port + 10_000):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", candidate))
            return port
