"""`spillcache page`."""

from __future__ import annotations

import os
import pty
import subprocess

import pytest

from tests.cli.commands import Program
from tests.servers.caches import metrics, noise


def test_a_chain_of_cursors_gives_the_payload(program: Program) -> None:
    """Each page's next_cursor leads to the next; the chunks are the payload, the last page says COMPLETE."""
    payload = metrics(results=3, points=300)
    spill_id = program.store(payload)
    chunks: list[str] = []
    cursor: list[str] = []
    while True:
        page = program("page", spill_id, *cursor, "--budget", "3000", "--json").answer
        chunks.append(page["chunk"])
        if "next_cursor" not in page:
            break
        cursor = ["--cursor", page["next_cursor"]]
    assert "".join(chunks).encode() == payload
    assert (page["status"], "receipt" in page) == ("COMPLETE", True)
    assert len(chunks) > 2


def test_a_page_for_people_puts_the_chunk_on_standard_output_alone(program: Program) -> None:
    """Where it is, its status and the command for the next page are on standard error."""
    payload = metrics(results=2, points=400)
    spill_id = program.store(payload)
    ran = program("page", spill_id, "--budget", "1500")
    assert payload.startswith(ran.out)
    assert f"0-{len(ran.out)}/{len(payload)}" in ran.err
    assert "PARTIAL" in ran.err
    following = ran.err.split("next: spillcache ")[1].split()
    assert payload[len(ran.out) :].startswith(program(*following).out)


def test_a_named_result_is_read_alone(program: Program) -> None:
    """--result begins at that result, and its end is its own COMPLETE, not the payload's."""
    spill_id = program.store(metrics(results=3, points=20))
    page = program("page", spill_id, "--result", "query 1", "--json").answer
    assert page["chunk"].startswith('{"name":"query 1"')
    assert (page["status"], page["result_status"]) == ("PARTIAL", "COMPLETE")


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_the_exit_code_is_that_of_the_printed_status(program: Program, options: list[str]) -> None:
    """3 for PARTIAL, whichever command prints it; 0 for COMPLETE."""
    spill_id, small = program.store(metrics(results=3, points=300)), program.store(b"text")
    words = ["page", "full", "show", "series", "grep"]
    asked = [
        [word, spill_id, *(["query"] if word == "grep" else ["--cap", "9000"] if word == "full" else [])]
        for word in words
    ]
    for command in [*asked, ["page", spill_id, "--result", "1"]]:
        ran = program(*command, *options)
        assert ran.code == 3, command
        assert '"PARTIAL"' in ran.text if options else "PARTIAL" in ran.err
    for word in ("page", "full", "walk"):
        ran = program(word, small, *options)
        assert (ran.code, "COMPLETE" in (ran.text if options else ran.err)) == (0, True)


def test_a_binary_page_is_bytes_in_a_pipe(program: Program) -> None:
    """What a terminal would see as base64 goes out as the bytes themselves."""
    payload = noise(2_000)
    assert program("page", program.store(payload)).out == payload


def test_a_terminal_is_not_sent_the_control_characters_of_a_payload(program: Program) -> None:
    """An escape sequence in stored text is shown on a terminal, never obeyed."""
    spill_id = program.store("log \x1b]0;owned\x07 and \x9b31m end\n".encode())
    ours, theirs = pty.openpty()
    try:
        with program.start("page", spill_id, stdout=theirs) as running:
            running.communicate(timeout=60)
        shown = os.read(ours, 10_000).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert shown.split("\r\n")[0] == r"log \x1b]0;owned\x07 and \x9b31m end"


def test_a_closed_pipe_ends_it_quietly(program: Program) -> None:
    """When nobody reads, there is an exit code for it and no complaint."""
    spill_id = program.store(b"some text")
    read_end, write_end = os.pipe()
    os.close(read_end)
    with program.start("page", spill_id, "--json", stdout=write_end) as running:
        os.close(write_end)
        _, complaint = running.communicate(timeout=60)
    assert (running.returncode, complaint) == (141, b"")


def test_the_module_and_the_command_are_the_same(program: Program) -> None:
    """The entry point that is installed leads to the same function."""
    ran = subprocess.run(
        [*program.command()[:1], "-c", "from spillcache.cli import main; main(['--help'])"],
        capture_output=True, env=dict(program.environment), check=True,
    )  # fmt: skip
    assert ran.stdout == program("--help").out
