"""What a run says about itself at its end: which server it used, and which tests did not run and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pytest

from tests.servers.requirements import missing

_NEEDS_BINARY = {"own_server", "cluster", "cluster_url"}
_SERVER_FIXTURES = {"server", "redis_url", *_NEEDS_BINARY}


@dataclass(slots=True)
class RunReport:
    """Collected in each test process; with xdist the workers' reports are added up in the one that prints."""

    servers: set[str] = field(default_factory=set)
    not_run: Counter[str] = field(default_factory=Counter)

    def merge(self, servers: list[str], not_run: dict[str, int]) -> None:
        """Add a worker's report. Every worker collects all tests, so the counts are the same in each."""
        self.servers.update(servers)
        self.not_run |= Counter(not_run)

    def lines(self) -> list[str]:
        """For the terminal."""
        return [
            *(f"server: {server}" for server in sorted(self.servers)),
            *(f"did not run: {count} tests need {reason}" for reason, count in sorted(self.not_run.items())),
        ]


REPORT = pytest.StashKey[RunReport]()


def sort_out(items: list[pytest.Item], report: RunReport) -> list[pytest.Item]:
    """Remove from `items` those that need what this machine lacks, count them, and return them.

    Marks those that stay and use a server's fixtures with `server`.
    """
    removed: list[pytest.Item] = []
    for item in list(items):
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & _SERVER_FIXTURES:
            item.add_marker(pytest.mark.server)
        reason = _what_is_missing(item, fixtures)
        if reason:
            report.not_run[reason] += 1
            items.remove(item)
            removed.append(item)
    return removed


def _what_is_missing(item: pytest.Item, fixtures: set[str]) -> str | None:
    names = [name for mark in item.iter_markers("requires") for name in mark.args]
    if fixtures & _NEEDS_BINARY:
        names.append("server binary")
    for name in names:
        if reason := missing(name):
            return f"{name} ({reason})"
    return None
