"""What a write holds beside the payload: each stage in a process of its own.

What was done to prepare the stage is given back to the system first: memory that is free, but still the process's,
would hide what the stage takes.

`python -m benchmarks.memory STAGE GAUGE BYTES` measures one and prints `{"beside": bytes, "payload": bytes}`.
"""

from __future__ import annotations

import ctypes
import gc
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import caches, corpora
from benchmarks.figure import Figure, Findings, Spread, Table
from benchmarks.place import served
from benchmarks.scale import Scale, mib, say
from spillcache._sync.writer import scan_payload, write_spill
from spillcache.sync import SpillCache

#: Bars: the scan's part of the payload, and the store's megabytes.
SCAN, STORE_MB = 0.6, 16.0

_ROOT = Path(__file__).resolve().parent.parent
_REPEATS = 2
_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


@dataclass(frozen=True, slots=True)
class Peak:
    """Bytes held at the most beside what was there before, and the payload's size."""

    beside: int
    payload: int


def measure(scale: Scale) -> Findings:
    """All of this file's figures."""
    peaks = {(stage, gauge): _peaks(stage, gauge, scale.large) for stage in _STAGES for gauge in _gauges()}
    scan, store, stream = (peaks[stage, "traced"] for stage in _STAGES)
    size = mib(scale.large)
    figures = (
        Figure(
            f"scan of {size}: memory beside the payload",
            Spread.of(peak.beside / peak.payload for peak in scan),
            unit="× payload",
            bar=f"≤ {SCAN} × payload",
            limit=SCAN,
            note=_resident(peaks, "scan"),
        ),
        Figure(
            f"store of {size}: memory beside payload and scan",
            _megabytes(store),
            unit="MB",
            bar=f"≤ {STORE_MB:.0f} MB",
            limit=STORE_MB,
            note=_resident(peaks, "store"),
        ),
        Figure(
            f"streaming writer, {size}: all it holds",
            _megabytes(stream),
            unit="MB",
            note="the payload is nowhere as a whole; " + _resident(peaks, "stream"),
        ),
    )
    return Findings(figures, (_detail(peaks),))


def _megabytes(peaks: list[Peak]) -> Spread:
    return Spread.of(peak.beside / 1e6 for peak in peaks)


def _resident(peaks: dict[tuple[str, str], list[Peak]], stage: str) -> str:
    found = peaks.get((stage, "resident"))
    return f"resident memory of the process grew by {_megabytes(found).median:.1f} MB" if found else ""


def _detail(peaks: dict[tuple[str, str], list[Peak]]) -> Table:
    rows = tuple(
        (stage, gauge, f"{found[0].payload:,}", f"{_megabytes(found).median:.1f}")
        for (stage, gauge), found in peaks.items()
    )
    title = "Peak memory of a write's stages (traced: by tracemalloc, NumPy's included; resident: VmHWM − VmRSS before)"
    return Table(title, ("stage", "gauge", "payload, bytes", "MB"), rows)


def _gauges() -> tuple[str, ...]:
    return ("traced", "resident") if _RESET.exists() else ("traced",)


def _peaks(stage: str, gauge: str, size: int) -> list[Peak]:
    say(f"memory: {stage}, {gauge}")
    return [_in_child(stage, gauge, size) for _ in range(_REPEATS)]


def _in_child(stage: str, gauge: str, size: int) -> Peak:
    command = [sys.executable, "-m", "benchmarks.memory", stage, gauge, str(size)]
    said = subprocess.run(command, cwd=_ROOT, stdout=subprocess.PIPE, check=True).stdout
    return Peak(**json.loads(said))


def _scan(cache: SpillCache, size: int, gauge: Callable[[Callable[[], object]], int]) -> Peak:
    payload = corpora.enlarged(corpora.batch(), size)
    return Peak(gauge(lambda: scan_payload(payload, cache._terms)), len(payload))


def _store(cache: SpillCache, size: int, gauge: Callable[[Callable[[], object]], int]) -> Peak:
    payload = corpora.enlarged(corpora.batch(), size)
    scanned, spill_id = scan_payload(payload, cache._terms), cache._new_id()

    def write() -> None:
        write_spill(cache._store, scanned, spill_id, cache._terms, cache.watcher, tool="", tenant="default")

    return Peak(gauge(write), len(payload))


def _stream(cache: SpillCache, size: int, gauge: Callable[[Callable[[], object]], int]) -> Peak:
    def write() -> None:
        with cache.writer() as writer:
            for block in corpora.blocks(size):
                writer.write(block)
            writer.finish()

    return Peak(gauge(write), size)


_STAGES = {"scan": _scan, "store": _store, "stream": _stream}


def traced(work: Callable[[], object]) -> int:
    """Peak of what Python and NumPy allocate during `work`, in bytes."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def resident(work: Callable[[], object]) -> int:
    """Growth of the process's resident memory at the peak of `work`, in bytes: includes what C libraries allocate."""
    _give_back()
    _RESET.write_text("5", encoding="ascii")  # the kernel then counts VmHWM from now on
    before = _status("VmRSS")
    work()
    return _status("VmHWM") - before


def _give_back() -> None:
    """Return free memory to the system, where the C library can (glibc)."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


_GAUGES = {"traced": traced, "resident": resident}


def _status(name: str) -> int:
    lines = _STATUS.read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:"))


def main(stage: str, gauge: str, size: str) -> None:
    """Measure one stage in this process and print it."""
    with served() as server, caches.open_sync(server.url) as cache:
        cache.delete(cache.put(corpora.batch()).spill_id or "")  # connections and caches are not the payload's
        peak = _STAGES[stage](cache, int(size), _GAUGES[gauge])
    print(json.dumps({"beside": peak.beside, "payload": peak.payload}))


if __name__ == "__main__":
    main(*sys.argv[1:])
