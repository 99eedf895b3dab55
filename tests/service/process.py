"""A serving process: started on free ports, watched by its own log, ended by a signal."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.cli.commands import Program, clean_environment
from tests.servers.waiting import until

END_S = 30.0


class Service:
    """A running `spillcache serve`. `url` is where it listens; `lines` are what it has logged so far."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.lines: list[str] = []
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        until(
            lambda: bool(self.events("listening")) or process.poll() is not None, "it listens or ends", deadline_s=END_S
        )
        assert process.poll() is None, self.lines
        (said,) = self.events("listening")
        self.url = said["v1"].removesuffix("/v1")
        self.mcp_url = said["mcp"]
        self.metrics_url = said["metrics"]

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.lines.append(line.decode())

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def events(self, name: str) -> list[dict[str, Any]]:
        """The events of that name that it has logged so far."""
        logged = [json.loads(line) for line in list(self.lines)]
        return [event for event in logged if event["event"] == name]

    def signal(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Send a signal and return at once."""
        self._process.send_signal(number)

    def wait(self) -> int:
        """Wait until it has ended and all of its log has come; its exit code."""
        code = self._process.wait(END_S)
        self._reading.join()
        return code

    def metrics_page(self) -> str:
        """Its metrics as they are exposed."""
        return httpx.get(self.metrics_url).text

    def metrics(self) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
        """Its metrics now: value by name and sorted labels."""
        return {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(self.metrics_page())
            for sample in family.samples
        }

    def metric(self, name: str, **labels: str) -> float:
        """One of them, 0 where it has not begun to count."""
        return self.metrics().get((name, tuple(sorted(labels.items()))), 0.0)


class InThread:
    """A request under way in a thread of its own; `result` is there once it no longer is."""

    def __init__(self, request: Callable[[], httpx.Response]) -> None:
        def run() -> None:
            try:
                self.result = request()
            except httpx.HTTPError as error:
                self.error: httpx.HTTPError | None = error

        self.error = None
        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether it is under way."""
        return self._thread.is_alive()

    def wait(self) -> httpx.Response:
        """Its answer, when it has come. Raises what the request raised."""
        self._thread.join(END_S)
        if self.error is not None:
            raise self.error
        return self.result


@contextmanager
def serving(redis_url: str, directory: Path, *options: str, **settings: str) -> Iterator[Service]:
    """A process that serves until the block ends. Those in one directory share a key ring, as replicas do."""
    program = Program(environment(redis_url, directory, **settings), directory)
    with program.start("serve", "--port", "0", "--metrics-port", "0", *options, stdout=subprocess.DEVNULL) as process:
        try:
            yield Service(process)
        finally:
            process.kill()


def environment(redis_url: str, directory: Path, **settings: str) -> Mapping[str, str]:
    """The environment of such a process."""
    given = {"REDIS_URL": redis_url, "KEYRING_FILE": str(directory / "ring.json"), "DRAIN_S": "0"} | settings
    return clean_environment(directory / "state", **{f"SPILLCACHE_{name}": value for name, value in given.items()})
