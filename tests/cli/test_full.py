"""`spillcache full`: one large page, and an exit code that says whether that was all."""

from __future__ import annotations

from tests.cli.commands import Program
from tests.servers.caches import metrics


def test_what_is_all_of_it_is_complete(program: Program) -> None:
    """Exit code 0, the bytes on standard output, and the receipt beside."""
    payload = metrics(points=100)
    spill_id = program.store(payload)
    ran = program("full", spill_id)
    assert (ran.code, ran.out) == (0, payload)
    assert "COMPLETE" in ran.err
    assert program("full", spill_id, "--json").answer["status"] == "COMPLETE"


def test_what_is_not_is_partial_and_says_how_it_goes_on(program: Program) -> None:
    """Exit code 3 until the last window; the windows are the payload."""
    payload = metrics()
    spill_id = program.store(payload)
    ran = program("full", spill_id, SPILLCACHE_FULL_BYTES="40000")
    assert ran.code == 3
    assert 30_000 < len(ran.out) < 40_000
    assert "PARTIAL" in ran.err
    following = ran.err.split("next: spillcache ")[1].split()
    rest = program(*following)
    assert (rest.code, ran.out + rest.out) == (0, payload)


def test_a_cap_on_the_command_line_goes_over_the_setting(program: Program) -> None:
    """And is repeated in the command that goes on."""
    spill_id = program.store(metrics())
    ran = program("full", spill_id, "--cap", "9000", SPILLCACHE_FULL_BYTES="40000")
    assert len(ran.out) < 9_000
    assert ran.err.rstrip().endswith("--cap 9000")
