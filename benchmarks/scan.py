"""What a scan costs, against `orjson.loads` of the same bytes: interleaved, on one core.

Run `python -m benchmarks.scan`. Where orjson refuses a payload (NDJSON) it parses the lines one by one.
"""

from __future__ import annotations

import json
import os
import random
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import orjson

from spillcache.scan import scan

#: The bar: 1.5 ms + 1.3 × orjson.loads, for payloads of a megabyte and more.
FLOOR_MS, FACTOR = 1.5, 1.3
#: The bar of extra memory at 100 MB, as a part of the payload.
MEMORY = 0.6

_DATA = Path(__file__).parent.parent / "tests" / "data"


@dataclass(frozen=True, slots=True)
class Row:
    """One corpus: median times, and what of the bar was used (1.0 is just met)."""

    corpus: str
    size: int
    scan_ms: float
    orjson_ms: float

    @property
    def bar_ms(self) -> float:
        """What the scan may take."""
        return FLOOR_MS + FACTOR * self.orjson_ms

    @property
    def used(self) -> float:
        """The scan's time as a part of that."""
        return self.scan_ms / self.bar_ms


def corpora(size: int) -> Iterator[tuple[str, bytes]]:
    """Payloads of about `size` bytes of every shape that tools return."""
    generator = random.Random(7)  # noqa: S311
    matrix = (_DATA / "prom_query_range_matrix_cpu.json").read_bytes()
    yield "metrics, matrix", _list_of(matrix, size)
    yield "metrics, vector", _vector((_DATA / "prom_query_instant_vector_all.json").read_bytes(), size)
    yield "numbers", _list_of(orjson.dumps([generator.random() * 1e6 for _ in range(2000)]), size)
    yield "small integers", _list_of(orjson.dumps([n % 1000 for n in range(9000)]), size)
    text = orjson.dumps(["lorem ipsum, dolor: sit amet " * 40 + "é"] * 8)
    yield "long strings", _list_of(text, size)
    log = orjson.dumps(
        {"name": "n", "lines": [f'ts={n} level=info msg="said \\"{n}\\"" path=/var/log\n' * 4 for n in range(300)]}
    )
    yield "strings with escapes", _list_of(log, size)
    small = [{"id": n, "ok": n % 3 == 0, "tag": f"t{n % 17}"} for n in range(size // 36)]
    yield "small objects, a list", orjson.dumps(small)
    yield "a map of results", orjson.dumps({f"result {n}": {"cpu": n, "v": [1, 2]} for n in range(size // 38)})
    yield (
        "pretty-printed",
        json.dumps([{"id": n, "v": [n, n + 1], "m": {"k": "x" * 9}} for n in range(size // 130)], indent=2).encode(),
    )
    yield (
        "NDJSON log",
        b"\n".join(
            orjson.dumps({"ts": n, "level": "info", "msg": f"request {n} took {n % 97} ms"}) for n in range(size // 58)
        ),
    )


def _list_of(document: bytes, size: int) -> bytes:
    return b'{"results":[' + b",".join([document] * max(2, size // len(document))) + b"]}"


def _vector(document: bytes, size: int) -> bytes:
    start, end = document.index(b"[{") + 1, document.rindex(b"]}")
    return document[:start] + b",".join([document[start:end]] * max(1, size // (end - start))) + document[end:]


def _parse(payload: bytes) -> Callable[[], object]:
    try:
        orjson.loads(payload)
    except orjson.JSONDecodeError:
        lines = payload.split(b"\n")
        return lambda: [orjson.loads(line) for line in lines]
    return lambda: orjson.loads(payload)


def measure(corpus: str, payload: bytes, rounds: int = 9) -> Row:
    """Both, in turn, `rounds` times."""
    parse = _parse(payload)
    scans: list[float] = []
    parses: list[float] = []
    for _ in range(rounds):
        for run, times in ((lambda: scan(payload), scans), (parse, parses)):
            begin = time.perf_counter()
            result = run()
            times.append((time.perf_counter() - begin) * 1000)
            del result
    return Row(corpus, len(payload), median(scans), median(parses))


def rows(sizes: tuple[int, ...] = (1 << 20, 5 << 20)) -> list[Row]:
    """All corpora in all sizes."""
    return [measure(corpus, payload) for size in sizes for corpus, payload in corpora(size)]


def memory(size: int = 100 << 20) -> float:
    """The scan's peak extra memory as a part of a payload of metrics."""
    payload = next(corpora(size))[1]
    tracemalloc.start()
    try:
        scan(payload)
        return tracemalloc.get_traced_memory()[1] / len(payload)
    finally:
        tracemalloc.stop()


def main() -> None:
    """Print the table."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print("| corpus | MB | scan ms | orjson.loads ms | bar ms | used |\n|---|---|---|---|---|---|")
    for row in rows():
        times = f"{row.scan_ms:.2f} | {row.orjson_ms:.2f} | {row.bar_ms:.2f} | {row.used:.2f}"
        print(f"| {row.corpus} | {row.size / 1e6:.1f} | {times} |")
    print(f"\npeak memory beside 100 MB of metrics: {memory():.2f} × payload (bar {MEMORY})")


if __name__ == "__main__":
    main()
