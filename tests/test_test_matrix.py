"""The table that closes the wide matrix."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import test_matrix
from scripts.test_matrix import Outcome, Run, UnavailableError


def test_counts_are_read_from_the_report_pytest_writes(tmp_path: Path) -> None:
    """Failures and errors are told apart from what passed."""
    report = tmp_path / "report.xml"
    report.write_text('<testsuites><testsuite tests="9" failures="2" errors="1" skipped="0"/></testsuites>')
    assert test_matrix.read_counts(report) == "6 passed, 2 failed, 1 errors"


def test_a_server_that_is_not_to_be_had_is_named_with_the_reason_and_is_no_failure() -> None:
    """What did not run stands in the table."""

    def nowhere() -> dict[str, str]:
        raise UnavailableError("not on PATH")

    outcome = test_matrix.run(Run("some-server", nowhere), ())
    assert not outcome.failed
    assert test_matrix.table([outcome]).splitlines()[1].split("  ")[-1] == "did not run: not on PATH"


def test_a_run_in_which_no_test_ran_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing run is not everything passed."""
    monkeypatch.setattr(test_matrix, "REPORTS", tmp_path)
    monkeypatch.setattr(test_matrix, "WORKERS", "0")
    outcome = test_matrix.run(Run("nothing", dict), ("tests/test_unasync.py",))
    assert outcome.failed
    assert outcome.counts == "0 passed, 0 failed, 0 errors"


def test_the_tables_columns_line_up() -> None:
    """Each column is as wide as its widest cell."""
    shown = test_matrix.table([Outcome("a", "Redis 7.0", "1 passed"), Outcome("long name", "", "", "did not run: x")])
    assert shown.splitlines() == [
        "run        server     outcome",
        "a          Redis 7.0  1 passed",
        "long name             did not run: x",
    ]
