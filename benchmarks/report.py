"""The results as Markdown, for people, and as JSON, for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from benchmarks.figure import Figure, Findings, Table

_METHOD = """\
Measured values are medians of several repeats, with the least and the largest in brackets where they differ. What is
compared was called in turn within one run, in a new order each round, warm, with the garbage collector on. A figure
without a bar is there to be compared with.

Other work on the machine does not slow all calls alike: a call of ten milliseconds is preempted several times where one
of half a millisecond is not, so under load the ratios of writes and scans come out too high. Trust them only where the
load at the beginning and at the end of the run is about what the run itself makes, 1."""


@dataclass(frozen=True, slots=True)
class Report:
    """All that a run found, with where, how and on what."""

    command: str
    scale: str
    surroundings: dict[str, str]
    corpora: tuple[tuple[str, int], ...]
    groups: dict[str, Findings]

    @property
    def figures(self) -> list[Figure]:
        """The figures of all groups."""
        return [figure for findings in self.groups.values() for figure in findings.figures]

    @property
    def missed(self) -> list[Figure]:
        """Those whose bar was not met."""
        return [figure for figure in self.figures if not figure.met]


def to_markdown(report: Report) -> str:
    """The whole report as one Markdown document."""
    tables = [table for findings in report.groups.values() for table in findings.tables]
    corpora = Table("Corpora", ("payload", "bytes"), tuple((name, f"{size:,}") for name, size in report.corpora))
    versions = Table("Versions and machine", ("what", "which"), tuple(report.surroundings.items()))
    parts = [
        "# Benchmark results",
        f"Made by `{report.command}` ({report.scale} run). {_summary(report)}",
        _METHOD,
        *_sections(_main(report.figures), versions, corpora),
        *_sections(*tables),
    ]
    return "\n\n".join(parts) + "\n"


def to_json(report: Report) -> str:
    """The same for programs: each figure with its verdict."""
    found = asdict(report)
    found["groups"] = {
        name: {
            "figures": [asdict(figure) | {"met": figure.met, "verdict": figure.verdict} for figure in findings.figures],
            "tables": [asdict(table) for table in findings.tables],
        }
        for name, findings in report.groups.items()
    }
    return json.dumps(found, indent=2, ensure_ascii=False)


def _summary(report: Report) -> str:
    barred = [figure for figure in report.figures if figure.limit is not None]
    return f"Of {len(barred)} figures with a bar, {len(barred) - len(report.missed)} are met."


def _main(figures: Iterable[Figure]) -> Table:
    rows = tuple((figure.what, figure.bar or "—", figure.value, figure.verdict, figure.note) for figure in figures)
    return Table("Figures", ("what", "bar", "measured", "verdict", "how it came about"), rows)


def _sections(*tables: Table) -> list[str]:
    return [f"## {table.title}\n\n{_grid(table.header, table.rows)}" for table in tables]


def _grid(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
