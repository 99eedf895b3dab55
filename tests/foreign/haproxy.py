"""haproxy in front of replicas: round-robin, no stickiness, and health by /readyz."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scripts.foreign import debian_program
from spillcache.embedded.lifeline import TiedProcess
from tests.servers.process import free_port
from tests.servers.waiting import until

_CONFIG = """
global
    stats socket {socket} level admin
defaults
    mode http
    timeout connect 2s
    timeout client 30s
    timeout server 30s
    {retrying}
frontend front
    bind 127.0.0.1:{port}
    default_backend replicas
backend replicas
    balance roundrobin
    option httpchk GET /readyz
    http-check expect status 200
    default-server check inter 100ms fall 1 rise 1
{servers}
"""

# Asking for the same page twice is harmless, so whatever a killed replica left unanswered goes to the next one.
_RETRYING = "option redispatch 1\n    retries 3\n    retry-on conn-failure empty-response"
_NOT_RETRYING = "retries 0"


@dataclass(frozen=True, slots=True)
class Balancer:
    """A running haproxy; `ports` are those of the replicas, which may come and go."""

    port: int
    ports: Sequence[int]
    socket: Path

    @property
    def url(self) -> str:
        """Where clients find the replicas."""
        return f"http://127.0.0.1:{self.port}"

    def until_up(self, *ports: int) -> None:
        """Return when exactly the replicas at `ports` are given requests."""
        until(lambda: self._up() == set(ports), f"haproxy uses {len(ports)} replicas")

    def answers(self) -> bool:
        """Whether it can be asked yet."""
        try:
            return bool(self._ask("show info"))
        except (FileNotFoundError, ConnectionRefusedError):
            return False

    def _up(self) -> set[int]:
        # The runtime API's columns: the fourth is the server's name, the sixth its operational state, 2 being up.
        rows = [line.split() for line in self._ask("show servers state replicas").splitlines()[2:]]
        return {int(row[3].removeprefix("at-")) for row in rows if len(row) > 5 and row[5] == "2"}

    def _ask(self, command: str) -> str:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.socket))
            connection.sendall(command.encode() + b"\n")
            return b"".join(iter(lambda: connection.recv(4096), b"")).decode()


@contextmanager
def haproxy(directory: Path, ports: Sequence[int], *, retrying: bool) -> Iterator[Balancer]:
    """Balance over the replicas at `ports`; `retrying` what a replica did not answer at all."""
    balancer = Balancer(free_port(), ports, directory / "socket")
    config = directory / "haproxy.cfg"
    config.write_text(
        _CONFIG.format(
            socket=balancer.socket,
            port=balancer.port,
            retrying=_RETRYING if retrying else _NOT_RETRYING,
            servers="\n".join(f"    server at-{port} 127.0.0.1:{port}" for port in ports),
        )
    )
    program = debian_program("haproxy")
    variables = [f"{name}={value}" for name, value in program.environment.items()]
    process = TiedProcess(
        ["/usr/bin/env", *variables, str(program.path), "-db", "-f", str(config)],
        directory=directory,
        log=directory / "haproxy.log",
    )
    try:
        until(balancer.answers, "haproxy answers")
        yield balancer
    finally:
        process.stop()
