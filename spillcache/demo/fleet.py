"""The fleet: replicas of `spillcache serve` that share Redis and the key ring; one does not live to the end."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import IO, Self, cast

import orjson

from spillcache.errors import UpstreamUnavailable

_STARTS_WITHIN_S = 60.0  # a slow machine that imports three times at once
_NEXT_STEP = "Run: pip install '.[embedded,serve]', and then the demo again."


class Replica:
    """One server process. `pages` counts what it has served, `name` tells it from the others."""

    def __init__(self, name: str, environment: Mapping[str, str]) -> None:
        self.name = name
        self.pages = 0
        self._url = ""
        self._said: list[bytes] = []
        self._heard = threading.Event()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "spillcache.cli", "serve", "--port", "0", "--metrics-port", "-1"],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for us; we then end the replicas
        )
        self._listener = threading.Thread(target=self._listen, args=(cast("IO[bytes]", self._process.stderr),))
        self._listener.start()

    @property
    def url(self) -> str:
        """Where it serves MCP, once it does. Raises `UpstreamUnavailable`."""
        if not self._heard.wait(_STARTS_WITHIN_S) or not self._url:
            last_words = b" ".join(self._said[-3:]).decode(errors="replace")
            raise UpstreamUnavailable(f"{self.name} did not start: {last_words}", next_step=_NEXT_STEP)
        return self._url

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs, -9 when SIGKILL ended it."""
        return self._process.poll()

    def kill(self) -> None:
        """SIGKILL: no handler runs, nothing is handed over."""
        self._process.kill()
        self._process.wait()
        self._listener.join()

    def _listen(self, log: IO[bytes]) -> None:
        """Read its log to the end, whatever it says: a full pipe would stop it."""
        with log:
            for line in log:
                with contextlib.suppress(orjson.JSONDecodeError):
                    said = orjson.loads(line)
                    if said.get("event") == "listening":
                        self._url = said["mcp"]
                        self._heard.set()
                        continue
                self._said.append(line.strip())
        self._heard.set()


class Fleet:
    """Replicas that take turns. A context manager; leaving it ends them all."""

    def __init__(self, names: tuple[str, ...], environment: Mapping[str, str]) -> None:
        self.replicas = [Replica(name, environment) for name in names]
        self._turn = 0
        self.handed_on = 0

    def next_replica(self) -> Replica:
        """Whose turn it is."""
        return self.replicas[self._turn % len(self.replicas)]

    def take_turn(self) -> Replica:
        """Whose turn it is; then it is the next one's."""
        replica = self.next_replica()
        self._turn += 1
        return replica

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for replica in self.replicas:
            replica.kill()
