"""The demo, run as a user runs it."""

from __future__ import annotations

import hashlib
import json
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
    """Three readers, one killed: COMPLETE, equal digests, and every series as it is in the payload."""
    ran = program("demo", "--json")
    answer = ran.answer
    assert ran.code == 0
    assert (answer["status"], answer["sha256"]) == ("COMPLETE", hashlib.sha256(sample.payload()).hexdigest())
    assert all(answer["checks"].values())
    assert [reader["killed"] for reader in answer["readers"]].count(True) == 1
    assert sum(reader["pages"] for reader in answer["readers"]) == answer["pages"]
    assert len({reader["pid"] for reader in answer["readers"]}) == 3
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
def test_the_demo_for_people_shows_the_three_side_by_side(program: Program) -> None:
    """A row for each series, and how it ended."""
    ran = program("demo")
    assert ran.code == 0
    assert {"no data", "Unavailable"} <= {cell.strip() for line in ran.text.splitlines() for cell in line.split("  ")}
    assert ran.text.splitlines()[-1].startswith("COMPLETE 343,790 bytes")
    assert "SIGKILL" in ran.err
