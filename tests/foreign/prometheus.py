"""A real Prometheus with a past: the one at SPILLCACHE_TEST_PROMETHEUS_URL, else one started on made-up samples.

Ranges are fixed and in the past, so the same query gives the same answer as often as it is asked.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scripts.foreign import debian_program
from spillcache.embedded.lifeline import TiedProcess
from tests.servers.process import free_port
from tests.servers.waiting import until

STEP_S = 2
_RANGE_S = 15 * 60
_CPUS, _MODES = 4, ("idle", "user", "system", "iowait", "irq", "softirq", "steal", "nice")

QUERIES = (
    "node_cpu_seconds_total",
    "rate(node_cpu_seconds_total[1m])",
    "irate(node_cpu_seconds_total[1m])",
    "increase(node_cpu_seconds_total[5m])",
    "sum by (mode) (rate(node_cpu_seconds_total[1m]))",
    "sum by (cpu) (rate(node_cpu_seconds_total[1m]))",
    "avg_over_time(node_load1[1m])",
    "node_load1",
    "node_memory_MemAvailable_bytes",
    "deriv(node_memory_MemAvailable_bytes[5m])",
    "max_over_time(node_memory_MemAvailable_bytes[5m])",
    "count(node_cpu_seconds_total)",
)
"""Twelve, as in the incident; the first four give every series, the others little."""


@dataclass(frozen=True, slots=True)
class Prometheus:
    """Where it is, and the range (Unix seconds) in which all of QUERIES have points."""

    url: str
    start: int
    end: int

    def query_range(self, query: str) -> object:
        """The `data` of the answer that Prometheus itself gives."""
        asked = {"query": query, "start": str(self.start), "end": str(self.end), "step": str(STEP_S)}
        with urllib.request.urlopen(f"{self.url}/api/v1/query_range?{urllib.parse.urlencode(asked)}") as answer:  # noqa: S310 - loopback
            return json.load(answer)["data"]


@contextmanager
def prometheus(directory: Path) -> Iterator[Prometheus]:
    """The configured one, else one of our own whose data is in `directory`."""
    if url := os.environ.get("SPILLCACHE_TEST_PROMETHEUS_URL"):
        end = int(time.time()) // 60 * 60 - 60
        yield Prometheus(url.rstrip("/"), end - _RANGE_S, end)
        return
    end = int(time.time()) // 60 * 60 - 3 * 3600  # blocks that old are never compacted into the head
    _backfill(directory, end)
    (directory / "prometheus.yml").write_text("{}")
    port = free_port()
    process = TiedProcess(
        [
            *(str(debian_program("prometheus").path), f"--config.file={directory / 'prometheus.yml'}"),
            *(f"--storage.tsdb.path={directory / 'data'}", f"--web.listen-address=127.0.0.1:{port}"),
        ],
        directory=directory,
        log=directory / "log",
    )
    try:
        url = f"http://127.0.0.1:{port}"
        until(lambda: _ready(url), "Prometheus is ready")
        yield Prometheus(url, end - _RANGE_S, end)
    finally:
        process.stop()


def _backfill(directory: Path, end: int) -> None:
    samples = directory / "samples.txt"
    samples.write_text("\n".join([*_samples(end), "# EOF\n"]))
    promtool = debian_program("prometheus").path.with_name("promtool")
    made = ["tsdb", "create-blocks-from", "openmetrics", str(samples), str(directory / "data")]
    subprocess.run([str(promtool), *made], check=True, capture_output=True)


def _samples(end: int) -> Iterator[str]:
    instants = range(end - 2 * _RANGE_S, end + 1, STEP_S)
    yield "# TYPE node_cpu_seconds counter"
    for cpu in range(_CPUS):
        for share, mode in enumerate(_MODES, start=1):
            labels = f'cpu="{cpu}",instance="node-a:9100",job="node",mode="{mode}"'
            for at in instants:
                yield f"node_cpu_seconds_total{{{labels}}} {(at - instants[0]) / share + cpu:.4f} {at}"
    for name, level, swing in (("node_load1", 1.5, 0.7), ("node_memory_MemAvailable_bytes", 8e9, 4e8)):
        yield f"# TYPE {name} gauge"
        for at in instants:
            yield f'{name}{{instance="node-a:9100",job="node"}} {level + swing * math.sin(at / 97):.4f} {at}'


def _ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/-/ready") as answer:  # noqa: S310 - loopback
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError):
        return False
