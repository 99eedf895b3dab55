"""Output that cannot be written, is not read, or is broken off."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.cli.commands import Program
from tests.servers.caches import keys, metrics, noise
from tests.servers.proxy import Proxy, proxy
from tests.servers.waiting import until

FULL = "/dev/full"
PAYLOAD = metrics(results=3, points=200)


@pytest.fixture
def relay(redis_url: str) -> Iterator[Proxy]:
    """A relay to the session's server, through which a command can be held."""
    with proxy(redis_url) as running:
        yield running


@pytest.mark.parametrize("command", ["walk", "page", "show"])
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_full_standard_output_is_a_typed_error(program: Program, command: str, options: list[str]) -> None:
    """Exit code 1, no traceback; as JSON it is on standard error, where it can still be read."""
    ran = program.into(FULL, command, program.store(PAYLOAD), *options)
    assert ran.code == 1
    assert "Traceback" not in ran.err
    assert "No space left" in ran.err
    if options:
        assert json.loads(ran.err)["code"] == "output_failed"
    else:
        assert "FAILED output_failed: " in ran.err


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_the_id_of_what_was_stored_is_not_lost_with_the_output(program: Program, options: list[str]) -> None:
    """Standard error names the spill, which can be read."""
    ran = program.into(FULL, "put", "-", *options, stdin=PAYLOAD)
    assert (ran.code, "output_failed" in ran.err) == (1, True)
    found = re.search(r"stored as ([a-z2-7]{26})", ran.err)
    assert found is not None
    assert program("walk", found[1]).out == PAYLOAD


def test_help_that_cannot_be_written_is_a_typed_error_too(program: Program) -> None:
    """No command has begun yet: the same words."""
    ran = program.into(FULL, "--help")
    assert (ran.code, ran.err.startswith("FAILED output_failed: ")) == (1, True)


@pytest.mark.parametrize("arguments", [["put", "note.txt"], ["put", "note.txt", "--json"], ["--help"], ["doctor"]])
def test_an_output_that_nobody_reads_ends_it_quietly(program: Program, arguments: list[str]) -> None:
    """`put | true`: exit code 141 and not a word."""
    (program.directory / "note.txt").write_text("hello")
    read_end, write_end = os.pipe()
    os.close(read_end)
    with program.start(*arguments, stdout=write_end) as running:
        os.close(write_end)
        _, complaint = running.communicate(timeout=60)
    assert (running.returncode, complaint) == (141, b"")


@pytest.mark.parametrize(("words", "status"), [(["page", "--budget", "1500"], b"PARTIAL"), (["walk"], b"COMPLETE")])
def test_remarks_begin_a_line_where_both_streams_are_one(program: Program, words: list[str], status: bytes) -> None:
    """`2>&1`: the payload, which has no newline at its end, and then what it is. Apart from it, not a byte is added."""
    command = program.command(words[0], program.store(PAYLOAD), *words[1:])
    one = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(program.environment), check=False
    ).stdout
    apart = subprocess.run(command, capture_output=True, env=dict(program.environment), check=False)
    assert re.search(rb"(?m)^(\xe2\x94\x80\xe2\x94\x80 )?" + status, one) is not None
    assert PAYLOAD.startswith(apart.stdout)
    assert apart.stdout in one


def test_remarks_that_cannot_be_written_change_nothing(program: Program) -> None:
    """A full standard error takes nothing from the answer."""
    with open(FULL, "wb") as full:  # noqa: PTH123 - a device
        ran = subprocess.run(
            program.command("walk", program.store(PAYLOAD)),
            stdout=subprocess.PIPE, stderr=full, env=dict(program.environment), check=True,
        )  # fmt: skip
    assert ran.stdout == PAYLOAD


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_an_interrupted_put_says_that_nothing_was_stored(
    program: Program, relay: Proxy, redis_url: str, options: list[str]
) -> None:
    """Ctrl-C in the middle of a stream: typed, exit code 130, and nothing is left on the server."""
    with program.start("put", "-", *options, stdin=subprocess.PIPE, SPILLCACHE_REDIS_URL=relay.url) as running:
        assert running.stdin is not None
        running.stdin.write(noise(3_000_000))
        running.stdin.flush()
        until(lambda: "HSET" in relay.names, "the first part is on its way")
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    said = json.loads(out)["next_step"] if options else err.decode()
    assert "Nothing was stored" in said
    assert "interrupted" in (out if options else err).decode()
    assert keys(redis_url) == []


def test_ctrl_c_while_it_is_loaded_is_quiet(program: Program) -> None:
    """Interrupted at any import after `main` was called: exit code 130 and no traceback."""
    for module in ("click", "spillcache.cli.root", "spillcache.cli.put", "rich.console"):
        ran = program.python(
            "import sys, signal, importlib.abc\n"
            "class Interrupt(importlib.abc.MetaPathFinder):\n"
            "    def find_spec(self, name, path, target=None):\n"
            f"        if name == {module!r}: signal.raise_signal(signal.SIGINT)\n"
            "from spillcache.cli import main\n"
            "sys.meta_path.insert(0, Interrupt())\n"
            "main(['put', '-'])\n"
        )
        assert (ran.code, ran.out, ran.err) == (130, b"", ""), module


def test_an_ignored_interrupt_stays_ignored(program: Program) -> None:
    """Under `nohup`, or in a script's background, Ctrl-C for the terminal is not for us."""
    ran = program.python(
        "import signal\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from spillcache.cli import main\n"
        "import atexit; atexit.register(lambda: print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN))\n"
        "main(['embedded', 'status', '--json'])\n"
    )
    assert ran.text.splitlines()[-1] == "True"


def test_help_says_what_ctrl_c_does(program: Program) -> None:
    """3 for a walk, 130 for all else."""
    said = " ".join(program("--help").text.split())
    assert "3 PARTIAL (whatever command printed it; also a walk that Ctrl-C ended)" in said
    assert "130 interrupted" in said


def test_a_standard_output_that_was_closed_before_is_a_typed_error(program: Program) -> None:
    """`>&-`: nothing is written into whatever took its number."""
    ran = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *program.command("page", program.store(b"text"))],
        capture_output=True, env=dict(program.environment), check=False,
    )  # fmt: skip
    assert (ran.returncode, b"output_failed" in ran.stderr) == (1, True)
