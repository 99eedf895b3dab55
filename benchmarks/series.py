"""What telling a payload's series costs when it is written, and what pages of the compact view cost and show."""

from __future__ import annotations

from pathlib import Path

import zstandard

from benchmarks import caches, corpora
from benchmarks.figure import Figure, Findings, Spread, Table
from benchmarks.place import served
from benchmarks.scale import Scale, mib, say
from benchmarks.timing import Times, interleave
from spillcache.scan import scan
from spillcache.series import encode_series, find_series
from spillcache.sync import SpillCache

#: The bar: finding and packing the series, as a part of the scan's own time.
BAR = 1.5

_DATA = Path(__file__).resolve().parent.parent / "tests" / "data"
_SAMPLES = (
    "prom_query_range_matrix_cpu.json",
    "prom_query_instant_vector_all.json",
    "grafana_ds_query_frames.json.zst",
    "loki_query_range_streams.json.zst",
)
_SPILL = "a" * 26  # where it is only packed, no spill is written
_ROUNDS, _WARM = 20, 3


def measure(scale: Scale) -> Findings:
    """All of this file's figures."""
    say("series: told while writing")
    payloads = _payloads(scale)
    told = {name: [_told(payload) for _ in range(scale.repeats)] for name, payload in payloads.items()}
    with served() as server, caches.open_sync(server.url) as cache:
        say("series: pages of the compact view")
        read = [_read(cache, corpora.batch(), scale.page_rounds // 10) for _ in range(scale.repeats)]
    figures = [_figure(name, payloads[name], runs) for name, runs in told.items()]
    pages = Figure("a page of the compact view, over a raw one", Spread.of(run["compact"] / run["raw"] for run in read))
    return Findings((*figures, pages), (_detail(told, payloads),))


def _payloads(scale: Scale) -> dict[str, bytes]:
    found = {"batch of twelve": corpora.batch(), "batch enlarged": corpora.enlarged(corpora.batch(), scale.enlarged)}
    for name in _SAMPLES:
        raw = (_DATA / name).read_bytes()
        found[name.removesuffix(".zst")] = zstandard.decompress(raw) if name.endswith(".zst") else raw
    return found


def _told(payload: bytes) -> Times:
    calls = {
        "scan": lambda _: scan(payload),
        "series": lambda _: encode_series(find_series(payload, whole=True), _SPILL),
    }
    return interleave(calls, _ROUNDS, warm=_WARM)


def _read(cache: SpillCache, payload: bytes, rounds: int) -> Times:
    spill_id = cache.put(payload).spill_id
    assert spill_id is not None
    raw, compact = cache.page(spill_id).next_cursor, cache.page(spill_id, view="compact").next_cursor
    calls = {
        "raw": lambda _: cache.page(spill_id, cursor=raw),
        "compact": lambda _: cache.page(spill_id, cursor=compact),
    }
    return interleave(calls, rounds)


def _figure(name: str, payload: bytes, runs: list[Times]) -> Figure:
    return Figure(
        f"series of {name} ({mib(len(payload))}), over its scan",
        Spread.of(run["series"] / run["scan"] for run in runs),
        bar=f"≤ {BAR} × the scan",
        limit=BAR,
    )


def _detail(told: dict[str, list[Times]], payloads: dict[str, bytes]) -> Table:
    rows = []
    for name, runs in told.items():
        table = find_series(payloads[name], whole=True)
        scanned, spent = (Spread.of(run[what] / 1000 for run in runs).median for what in ("scan", "series"))
        stored = len(encode_series(table, _SPILL))
        rows.append((name, str(len(table.series)), f"{scanned:.2f}", f"{spent:.2f}", f"{stored:,}"))
    return Table("Series of each sample", ("sample", "series", "scan ms", "series ms", "stored bytes"), tuple(rows))
