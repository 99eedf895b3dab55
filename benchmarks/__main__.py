"""`python -m benchmarks`: measure every figure, say which bars are missed, and write `benchmarks/RESULTS.md`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks import (
    choices,
    corpora,
    faces,
    footprint,
    memory,
    pages,
    renewals,
    scans,
    searches,
    series,
    walks,
    writes,
)
from benchmarks.place import load, pin, surroundings
from benchmarks.report import Report, to_json, to_markdown
from benchmarks.scale import FULL, QUICK, say

RESULTS = Path(__file__).resolve().parent / "RESULTS.md"

GROUPS = {
    "pages": pages.measure,
    "writes": writes.measure,
    "scans": scans.measure,
    "memory": memory.measure,
    "footprint": footprint.measure,
    "walks": walks.measure,
    "renewals": renewals.measure,
    "searches": searches.measure,
    "series": series.measure,
    "faces": faces.measure,
    "choices": choices.measure,
}


def main(arguments: list[str]) -> None:
    """Run the groups that were asked for. Ends with 0 whatever was measured: a bar is a finding, not a failure."""
    options = _parser().parse_args(arguments)
    report = _run(options)
    markdown = to_markdown(report)
    target = options.output or (RESULTS if not (options.quick or options.only) else None)
    if target is not None:
        target.write_text(markdown, encoding="utf-8")
    print(to_json(report) if options.json else markdown)
    for figure in report.missed:
        say(f"MISSED: {figure.what}: {figure.value}, bar {figure.bar} ({figure.verdict.strip('*')})")
    say(f"{len(report.missed)} of {len(report.figures)} figures missed their bar")


def _run(options: argparse.Namespace) -> Report:
    around = surroundings()  # before the run loads the machine
    pin()
    scale = QUICK if options.quick else FULL
    groups = {}
    for name in options.only or GROUPS:
        begin = time.monotonic()
        groups[name] = GROUPS[name](scale)
        say(f"{name}: done in {time.monotonic() - begin:.0f} s")
    around["load when it ended"] = load()
    samples = tuple((name, len(payload)) for name, payload in corpora.samples().items())
    return Report(_command(options), scale.name, around, samples, groups)


def _command(options: argparse.Namespace) -> str:
    """What to type for the same run; without where it was written, which is nobody else's business."""
    only = [f"--only {name}" for name in options.only or ()]
    return " ".join(["python -m benchmarks", *(["--quick"] if options.quick else []), *only])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke: small sizes, few repeats; writes no file")
    parser.add_argument("--json", action="store_true", help="print JSON in place of Markdown")
    parser.add_argument("--only", action="append", choices=GROUPS, metavar="GROUP", help=f"one of {', '.join(GROUPS)}")
    parser.add_argument("-o", "--output", type=Path, help=f"where to write Markdown (a full run: {RESULTS.name} here)")
    return parser


if __name__ == "__main__":
    main(sys.argv[1:])
