"""The scan against `orjson.loads`, as figures: measured in `benchmarks.scan`."""

from __future__ import annotations

from statistics import median

from benchmarks import scan
from benchmarks.figure import Figure, Findings, Spread, Table
from benchmarks.scale import Scale, mib, say


def measure(scale: Scale) -> Findings:
    """The part of its bar that the scan uses, over all corpora of `benchmarks.scan`."""
    runs = [_run(scale, turn) for turn in range(scale.repeats)]
    rows = [_middle(repeats) for repeats in zip(*runs, strict=True)]
    worst = max(rows, key=lambda row: row.used)
    figure = Figure(
        "scan of about 1 and 5 MB: the worst corpus over what it may take",
        Spread.of(max(row.used for row in run) for run in runs),
        bar=f"≤ {scan.FLOOR_MS} ms + {scan.FACTOR} × orjson.loads",
        limit=1.0,
        note=f"{worst.corpus}, {worst.size / 1e6:.1f} MB: {worst.scan_ms:.2f} of {worst.bar_ms:.2f} ms; "
        f"the median of {len(rows)} corpora {median(row.used for row in rows):.2f} ×",
    )
    return Findings((figure,), (_detail(rows),))


def _run(scale: Scale, turn: int) -> list[scan.Row]:
    say(f"scans: repeat {turn + 1} of {scale.repeats}, each shape in {', '.join(map(mib, scale.scanned))}")
    return scan.rows(scale.scanned)


def _middle(repeats: tuple[scan.Row, ...]) -> scan.Row:
    """Of the repeats of one corpus the one that used the median part of its bar."""
    return sorted(repeats, key=lambda row: row.used)[len(repeats) // 2]


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
