"""`spillcache` as a process that listens: started, asked where, and ended in the ways that a platform ends it."""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx

from spillcache.embedded.lifeline import TiedProcess
from tests.servers.waiting import until

COMMAND = (sys.executable, "-m", "spillcache.cli")


def new_keyring() -> str:
    """A key ring of this run, as the setting takes it."""
    return json.dumps({"sign": "test", "keys": {"test": b64encode(secrets.token_bytes(32)).decode()}})


def settings(redis_url: str, keyring: str, **more: str) -> dict[str, str]:
    """The environment of a process on `redis_url`; `more` are further settings, by their names in lower case."""
    given = {"redis_url": redis_url, "keyring": keyring, "log_format": "json", "drain_s": "0", **more}
    return {f"SPILLCACHE_{name.upper()}": value for name, value in given.items()}


@dataclass(frozen=True)
class Served:
    """A running process; `log` is what it said so far."""

    log: Path
    process: TiedProcess = field(repr=False)

    @cached_property
    def listening(self) -> Mapping[str, str]:
        """Its addresses by face: `mcp`, `v1`, `metrics`."""
        until(lambda: bool(self._said("listening")) or self.process.poll() is not None, "the server listens")
        assert self.process.poll() is None, self.log.read_text()
        return self._said("listening")[0]

    @property
    def mcp(self) -> str:
        """Where MCP is."""
        return self.listening["mcp"]

    def put(self, payload: bytes, *, token: str | None = None) -> str:
        """Store a payload through REST; its spill id."""
        credentials = {"Authorization": f"Bearer {token}"} if token else {}
        answer = httpx.post(f"{self.listening['v1']}/spills", content=payload, headers=credentials)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["spill_id"])

    def delete(self, spill_id: str) -> None:
        """Delete a spill through REST."""
        assert httpx.delete(f"{self.listening['v1']}/spills/{spill_id}").status_code == 204

    def terminate(self) -> None:
        """Ask it to end, as a platform does that wants its place."""
        os.kill(self.process.pid, signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()

    def until_ended(self) -> int:
        """Wait for its end; the exit code."""
        until(lambda: self.process.poll() is not None, "the server ends")
        return self.process.poll() or 0

    def _said(self, event: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
        return [line for line in lines if line.get("event") == event]


@contextmanager
def serving(
    arguments: Sequence[str], environment: Mapping[str, str], directory: Path, *, port: int = 0
) -> Iterator[Served]:
    """Run `spillcache ARGUMENTS…` on `port` of loopback, a free one by default, until the block ends."""
    log = directory / f"{'-'.join(arguments[:1])}-{secrets.token_hex(4)}.log"
    variables = {**environment, "SPILLCACHE_PORT": str(port), "SPILLCACHE_METRICS_PORT": "-1"}
    assigned = [f"{name}={value}" for name, value in variables.items()]
    process = TiedProcess(["/usr/bin/env", *assigned, *COMMAND, *arguments], directory=directory, log=log)
    try:
        yield Served(log, process)
    finally:
        process.stop()
