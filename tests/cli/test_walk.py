"""`spillcache walk`: whole or not at all."""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from tests.cli.commands import Program
from tests.servers.caches import key_of, metrics, noise
from tests.servers.proxy import Command, Fate, Proxy, proxy
from tests.servers.waiting import until

PAYLOAD = metrics(results=12, points=2_000)


@pytest.fixture
def relay(redis_url: str) -> Iterator[Proxy]:
    """A relay to the session's server, through which a walk can be held at a page."""
    with proxy(redis_url) as running:
        yield running


@pytest.fixture
def slow(program: Program, relay: Proxy) -> Program:
    """The program on the relay, with so long a deadline that a page held there waits."""
    through = {"SPILLCACHE_REDIS_URL": relay.url, "SPILLCACHE_DEADLINE_S": "50,50"}
    return Program({**program.environment, **through}, program.directory)


def _names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()} - {"keyring.json", "state"}


def _from_page(number: int, fate: Fate) -> tuple[list[Command], object]:
    met: list[Command] = []

    def rule(command: Command) -> Fate:
        if command.name != "HMGET":
            return Fate.FORWARD
        met.append(command)
        return fate if len(met) > number else Fate.FORWARD

    return met, rule


@pytest.mark.parametrize("budget", ["1500", "7500", "48000"])
def test_a_walk_into_a_file_is_the_payload(program: Program, tmp_path: Path, budget: str) -> None:
    """Byte for byte at any budget, with the sum of it on standard output."""
    spill_id = program.store(PAYLOAD)
    ran = program("walk", spill_id, "-o", "out.json", "--budget", budget, "--json")
    assert (tmp_path / "out.json").read_bytes() == PAYLOAD
    assert list(ran.answer) == [
        *("spill_id", "size_bytes", "pages", "payload_bytes", "written_bytes", "sha256", "output", "status", "receipt"),
    ]
    assert (ran.code, ran.answer["status"]) == (0, "COMPLETE")
    assert ran.answer["sha256"] == hashlib.sha256(PAYLOAD).hexdigest()
    assert _names(tmp_path) == {"out.json"}


def test_without_a_file_the_payload_goes_to_standard_output(program: Program) -> None:
    """Nothing but the payload; how it ended is on standard error."""
    ran = program("walk", program.store(PAYLOAD))
    assert (ran.code, ran.out) == (0, PAYLOAD)
    assert "COMPLETE" in ran.err


def test_json_without_a_file_is_a_page_a_line(program: Program) -> None:
    """Every line is a page as an agent gets it; only the last says COMPLETE and holds a receipt."""
    pages = program("walk", program.store(PAYLOAD), "--json").answers
    assert "".join(page["chunk"] for page in pages).encode() == PAYLOAD
    assert [page["status"] for page in pages] == ["PARTIAL"] * (len(pages) - 1) + ["COMPLETE"]
    assert ["receipt" in page for page in pages] == [False] * (len(pages) - 1) + [True]


def test_binary_data_comes_back_exactly(program: Program, tmp_path: Path) -> None:
    """Pages of base64 decode to the payload."""
    payload = noise(100_001)
    program("walk", program.store(payload), "-o", "out.bin")
    assert (tmp_path / "out.bin").read_bytes() == payload


def test_a_device_is_written_to_not_replaced(program: Program) -> None:
    """`-o /dev/null` leaves the device in its place."""
    assert program("walk", program.store(b"text"), "-o", os.devnull).code == 0
    assert not Path(os.devnull).is_file()


def test_a_link_stays_a_link(program: Program, tmp_path: Path) -> None:
    """What a link points to is replaced, with the mode that it had."""
    (tmp_path / "real.json").touch(0o640)
    (tmp_path / "link.json").symlink_to("real.json")
    program("walk", program.store(b"text"), "-o", "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_bytes() == b"text"
    assert (tmp_path / "real.json").stat().st_mode & 0o777 == 0o640


def test_a_spill_that_is_lost_part_way_is_partial_and_leaves_the_old_file(
    program: Program, redis_url: str, tmp_path: Path
) -> None:
    """Exit code 3, a typed error, and whatever was there before is untouched."""
    spill_id = program.store(PAYLOAD)
    with redis.Redis.from_url(redis_url) as client:
        client.hdel(key_of(spill_id), "3")
    (tmp_path / "out.json").write_text("old")
    ran = program("walk", spill_id, "-o", "out.json", "--json")
    assert (ran.code, ran.answer["status"], ran.answer["code"]) == (3, "PARTIAL", "spill_lost")
    assert 0 < ran.answer["payload_bytes"] < ran.answer["size_bytes"]
    assert not {"written_bytes", "sha256", "receipt"} & set(ran.answer)
    *pages, last = program("walk", spill_id, "--json").answers
    assert (pages[0]["status"], last["status"], last["code"]) == ("PARTIAL", "PARTIAL", "spill_lost")
    assert (tmp_path / "out.json").read_text() == "old"
    assert _names(tmp_path) == {"out.json"}


def test_a_spill_that_is_not_there_is_failed(program: Program, tmp_path: Path) -> None:
    """Exit code 1 when nothing came, and no file."""
    spill_id = program.store(b"text")
    program("rm", spill_id)
    ran = program("walk", spill_id, "-o", "out.json", "--json")
    assert (ran.code, ran.answer["code"]) == (1, "spill_not_found")
    assert _names(tmp_path) == set()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 3), (signal.SIGTERM, 143)])
def test_an_interrupted_walk_leaves_no_file(
    program: Program, slow: Program, relay: Proxy, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    """Ctrl-C, or SIGTERM, in the middle of a walk: neither the file nor a draft of it stays."""
    spill_id = program.store(PAYLOAD)
    met, rule = _from_page(5, Fate.HOLD)
    relay.watch(rule)  # type: ignore[arg-type]
    with slow.start("walk", spill_id, "-o", "out.json") as running:
        until(lambda: len(met) > 5, "the walk waits in the middle")
        assert {name.rpartition(".")[2] for name in _names(tmp_path)} == {"partial"}
        running.send_signal(number)
        running.communicate(timeout=60)
    assert running.returncode == code
    assert _names(tmp_path) == set()


def test_a_killed_walk_leaves_nothing_that_looks_whole(
    program: Program, slow: Program, relay: Proxy, tmp_path: Path
) -> None:
    """SIGKILL, which nothing handles, leaves a draft whose name says so."""
    spill_id = program.store(PAYLOAD)
    met, rule = _from_page(5, Fate.HOLD)
    relay.watch(rule)  # type: ignore[arg-type]
    with slow.start("walk", spill_id, "-o", "out.json") as running:
        until(lambda: len(met) > 5, "the walk waits in the middle")
        running.kill()
    (left,) = _names(tmp_path)
    assert left.startswith(".out.json.")
    assert left.endswith(".partial")


def test_a_reader_that_goes_away_ends_it_quietly(program: Program) -> None:
    """`walk | head`: an exit code of its own, which is not 0, and nothing said."""
    spill_id = program.store(PAYLOAD)
    with program.start("walk", spill_id) as running:
        assert running.stdout is not None
        running.stdout.read(10)
        running.stdout.close()
        assert running.stderr is not None
        complaint = running.stderr.read()
    assert (running.returncode, complaint) == (141, b"")


def test_a_directory_that_is_not_there_is_said(program: Program) -> None:
    """A file that cannot be written ends the walk with its reason."""
    spill_id = program.store(b"text")
    ran = program("walk", spill_id, "-o", "absent/out.json")
    assert ran.code == 1
    assert "No such file" in ran.err
    as_json = program("walk", spill_id, "-o", "absent/out.json", "--json")
    assert (as_json.code, as_json.answer["code"]) == (1, "output_failed")
    assert "absent/out.json" in as_json.answer["message"]
