"""Without any setting: the embedded server and its own key ring."""

from __future__ import annotations

from pathlib import Path

from tests.cli.commands import Program
from tests.servers.requirements import requires

pytestmark = requires("server binary")


def test_it_works_without_settings_and_says_once_what_it_started(unconfigured: Program, tmp_path: Path) -> None:
    """The first command starts a server and says so, the next ones use it in silence, until it is stopped."""
    assert unconfigured("embedded", "status", "--json").answer["running"] is False
    first = unconfigured("put", "-", "--json", stdin=b"kept between commands")
    assert "embedded" in first.err
    spill_id = first.answer["spill_id"]
    second = unconfigured("page", spill_id)
    assert second.out == b"kept between commands"
    assert "started" not in second.err
    assert unconfigured("page", spill_id, "--json").err == ""
    ring = tmp_path / "state" / "spillcache" / "keyring.json"
    assert str(ring) in second.err
    assert ring.stat().st_mode & 0o777 == 0o600
    ran = unconfigured("embedded", "status", "--json")
    assert ran.code == 0
    status = ran.answer
    assert (status["running"], status["url"].startswith("unix://")) == (True, True)
    assert unconfigured("embedded", "stop", "--json").answer == {"stopped": True}
    assert unconfigured("embedded", "stop", "--json").answer == {"stopped": False}
    gone = unconfigured("page", spill_id, "--json")
    assert (gone.code, gone.answer["code"]) == (1, "spill_not_found")


def test_status_and_help_start_nothing(unconfigured: Program, tmp_path: Path) -> None:
    """Looking leaves no trace."""
    ran = unconfigured("embedded", "status")
    assert (ran.code, ran.text.startswith("not running")) == (1, True)
    assert unconfigured("--help").code == 0
    assert not (tmp_path / "state").exists()


def test_doctor_finds_the_embedded_server_sound(unconfigured: Program) -> None:
    """What is started by default needs no change."""
    ran = unconfigured("doctor", "--strict", "--json")
    assert (ran.code, ran.answer["healthy"]) == (0, True)
