"""The conformance suite of the protocol's makers, run against a server, and what it found check by check."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.foreign.node import run_npm

SUITES = {
    "2025": ("@modelcontextprotocol/conformance", ()),
    "2026": ("conformance-2026", ("--requirements", "2026-07-28")),
}
"""Era → package and how it is told to run every scenario of that era."""

_EXTENSIONS = ("tasks-",)
"""Scenarios of protocol extensions; they say nothing of a server that announces none."""

_EXPECTED = Path(__file__).with_name("conformance.toml")


@dataclass(frozen=True, slots=True)
class Found:
    """The outcome by "scenario/check"; what is neither is information, or did not apply."""

    passed: frozenset[str]
    failed: frozenset[str]


async def conformance(era: str, url: str, directory: Path) -> Found:
    """Run the era's suite against the server at `url`; `directory` takes the results."""
    package, arguments = SUITES[era]
    results = directory / f"conformance-{era}"
    ended = await run_npm(
        package, "server", "--url", url, "--output-dir", str(results), *arguments, directory=directory
    )
    assert results.exists(), ended.errors
    checks: list[tuple[str, dict[str, Any]]] = [
        (_scenario(report.parent.name), check)
        for report in sorted(results.rglob("checks.json"))
        if not _scenario(report.parent.name).startswith(_EXTENSIONS)
        for check in json.loads(report.read_text())
    ]
    failed = frozenset(f"{scenario}/{check['id']}" for scenario, check in checks if check["status"] == "FAILURE")
    passed = frozenset(f"{scenario}/{check['id']}" for scenario, check in checks if check["status"] == "SUCCESS")
    return Found(passed - failed, failed)


def expected_failures(server: str, era: str) -> frozenset[str]:
    """The checks that fail on this server; conformance.toml says why that is right."""
    groups = tomllib.loads(_EXPECTED.read_text())[server][era]
    return frozenset(check for group in groups for check in group["checks"])


def _scenario(directory: str) -> str:
    """`server-tools-list-2026-11-30T16-35-58-751Z` → `tools-list`."""
    return directory.removeprefix("server-").rsplit("-", 6)[0]
