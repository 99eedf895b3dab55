"""The scan against `orjson.loads`, as figures: measured in `benchmarks.scan`."""

from __future__ import annotations

from statistics import median

from benchmarks import scan
from benchmarks.figure import Figure, Findings, Spread, Table
from benchmarks.scale import Scale, mib, say


def measure(scale: Scale) -> Findings:
    """The part of its bar that the scan uses, over all corpora of `benchmarks.scan`."""
    rows = []
    for size in scale.scanned:
        say(f"scans: {mib(size)} of each shape")
        rows += scan.rows((size,))
    worst = max(rows, key=lambda row: row.used)
    figure = Figure(
        "scan of 1 MB and more: the worst corpus over what it may take",
        Spread.of([worst.used]),
        bar=f"≤ {scan.FLOOR_MS} ms + {scan.FACTOR} × orjson.loads",
        limit=1.0,
        note=f"{worst.corpus}, {worst.size / 1e6:.1f} MB: {worst.scan_ms:.2f} of {worst.bar_ms:.2f} ms; "
        f"the median of {len(rows)} corpora {median(row.used for row in rows):.2f} ×",
    )
    return Findings((figure,), (_detail(rows),))


def _detail(rows: list[scan.Row]) -> Table:
    return Table(
        "Scan of each corpus",
        ("corpus", "MB", "scan ms", "orjson.loads ms", "may take ms", "used"),
        tuple(
            (
                row.corpus,
                f"{row.size / 1e6:.1f}",
                f"{row.scan_ms:.2f}",
                f"{row.orjson_ms:.2f}",
                f"{row.bar_ms:.2f}",
                f"{row.used:.2f}",
            )
            for row in rows
        ),
    )
