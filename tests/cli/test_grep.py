"""`spillcache grep`: matches are shown, and never pass for the data."""

from __future__ import annotations

import os
import pty
import re

import pytest

from spillcache.demo import sample
from tests.cli.commands import Program
from tests.servers.caches import metrics


def test_json_is_what_an_agent_gets(program: Program) -> None:
    """Total, shown, searched, and a cursor that leads to the match; exit code 3, because this is not the data."""
    spill_id = program.store(metrics())
    ran = program("grep", spill_id, "QUERY 3", "-i", "-m", "1", "-C", "10", "--json")
    assert ran.code == 3
    assert (ran.answer["status"], ran.answer["matches_total"], ran.answer["searched"]) == ("PARTIAL", 1, len(metrics()))
    (match,) = ran.answer["matches"]
    assert match["in"] == "label"
    assert "query 3" in program("page", spill_id, "--cursor", match["cursor"], "--json").answer["chunk"]


def test_for_people_the_commands_that_read_on_stand_beside_each_match(program: Program) -> None:
    """Range, kind and path on standard output; what it is not, on standard error."""
    spill_id = program.store(sample.payload())
    ran = program("grep", spill_id, '"mode":"idle"', "-F")
    assert ran.code == 3
    place, text, command = ran.text.splitlines()[:3]
    assert " label $.results[0].result[0].metric.mode" in place
    assert '"mode":"idle"' in text
    assert command.strip().startswith("spillcache ")
    assert program(*command.split()[1:]).out.startswith(b"{")
    assert ran.err.startswith("PARTIAL ")
    assert "no value was matched" in ran.err
    assert "read result 1, rate(node_cpu_seconds_total[1m]): spillcache " in ran.err


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_no_match_has_an_exit_code_of_its_own(program: Program, flags: list[str]) -> None:
    """It is not that of success, and it is said what was searched."""
    ran = program("grep", program.store(metrics()), "absent", *flags)
    assert ran.code == 4
    said = ran.answer["note"] if flags else ran.err
    assert "No match is not the absence of data" in said


def test_a_pattern_that_cannot_be_is_failed(program: Program) -> None:
    """With what is wrong; never no match."""
    ran = program("grep", program.store(metrics()), "(?!x)", "--json")
    assert (ran.code, ran.answer["status"], ran.answer["code"]) == (1, "FAILED", "pattern_invalid")
    said = program("grep", program.store(metrics()), "(?!x)").err
    assert "lookaround" in said
    assert "Next: Correct the pattern, or take it as plain text with -F." in said


def test_options_mean_the_same_as_in_the_library(program: Program) -> None:
    """No context is one; no matches to show, and no pattern, are refused in its words."""
    spill_id = program.store(metrics())
    bare = program("grep", spill_id, "query 3", "-C", "0", "--json")
    assert [match["text"] for match in bare.answer["matches"]] == ["query 3"]
    for words, code in (
        (("x", "-m", "0"), "arguments_invalid"),
        (("x", "-C", "5000"), "arguments_invalid"),
        (("",), "pattern_invalid"),
    ):
        ran = program("grep", spill_id, *words, "--json")
        assert (ran.code, ran.answer["status"], ran.answer["code"]) == (1, "FAILED", code)


def test_half_a_code_point_can_match_and_be_shown(program: Program) -> None:
    """Where a pattern asks for single bytes."""
    ran = program("grep", program.store("x é needle".encode()), r"\C needle")
    assert (ran.code, "needle" in ran.text) == (3, True)


def on_a_terminal(program: Program, *words: str) -> str:
    """What a terminal is sent."""
    ours, theirs = pty.openpty()
    try:
        with program.start("grep", *words, stdout=theirs, TERM="xterm", COLUMNS="200") as running:
            running.communicate(timeout=60)
        return os.read(ours, 10_000).decode()
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_terminal_sees_the_match_in_color_and_no_control_characters(program: Program) -> None:
    """What is in the payload colors nothing."""
    shown = on_a_terminal(program, program.store(b"before \x1b[31m needle\nafter"), "needle")
    assert "\x1b[1;31mneedle\x1b[0m⏎after" in shown
    assert "before \x1b" not in shown


@pytest.mark.parametrize(
    ("pattern", "marked"),
    [(r"\Axx", "xx"), ("(?m)^a", "a"), (r"x\z", "x"), (r"\x1b.", r"\x1b["), (r"\C needle", "é needle")],
)
def test_what_is_colored_is_what_was_matched(program: Program, pattern: str, marked: str) -> None:
    """Not what the pattern would match in the text around it: edges of that are none, and controls are spelled."""
    spill_id = program.store("xx a xx\na \x1b[31m é needle xx".encode())
    shown = on_a_terminal(program, spill_id, pattern, "-C", "5")
    assert re.findall(r"\x1b\[1;31m(.*?)\x1b\[0m", shown) == [marked]
