"""`spillcache put`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import Program
from tests.servers.caches import metrics, noise


def test_put_prints_the_envelope_as_a_program_gets_it(program: Program, tmp_path: Path) -> None:
    """--json is the envelope's JSON, field for field in the contract's order."""
    (tmp_path / "batch.json").write_bytes(metrics())
    answer = program("put", "batch.json", "--tool", "metrics", "--json").answer
    assert list(answer) == [
        "completeness", "spill_id", "hint", "next", "size_bytes", "pages", "tokens_estimate", "kind", "inventory",
        "expires_in_s", "preview", "preview_tail",
    ]  # fmt: skip
    assert (answer["completeness"], answer["size_bytes"], answer["kind"]) == ("truncated", len(metrics()), "json")
    assert answer["inventory"]["results"] == 6


def test_put_for_people_begins_with_the_id_and_ends_with_what_to_type_next(program: Program, tmp_path: Path) -> None:
    """The first line holds the spill id; the commands at the end work as they stand."""
    (tmp_path / "batch.json").write_bytes(metrics())
    printed = program("put", "batch.json").text.splitlines()
    spill_id = printed[0].split()[-1]
    assert len(spill_id) == 26
    words = printed[-1].split()
    assert words == ["spillcache", "page", spill_id]
    assert metrics().startswith(program(*words[1:]).out)


def test_standard_input_is_streamed_whole(program: Program) -> None:
    """`put -` stores what comes through a pipe, over many blocks, byte for byte."""
    payload = noise(3_300_000)
    assert program("walk", program.put(payload)).out == payload


def test_an_empty_payload_is_stored_as_one(program: Program) -> None:
    """Nothing on standard input is an empty payload, whose walk is COMPLETE."""
    ran = program("walk", program.put(b""), "--json")
    assert (ran.code, ran.answer["chunk"], ran.answer["status"]) == (0, "", "COMPLETE")


def test_writing_needs_no_key(program: Program) -> None:
    """A writer without a key ring stores; only reading needs one."""
    payload = b'{"a":1}'
    spill_id = program.put(payload, SPILLCACHE_KEYRING_FILE="")
    assert program("page", spill_id).out == payload


def test_global_options_go_over_the_environment_and_into_the_next_command(program: Program, tmp_path: Path) -> None:
    """What was given on the command line is obeyed, and repeated in what to type next."""
    (tmp_path / "note.txt").write_text("hello")
    printed = program("--tenant", "o'neil", "--prefix", "other", "put", "note.txt").text
    spill_id = printed.split()[2]
    assert f"spillcache --tenant 'o'\"'\"'neil' --prefix other page {spill_id}" in printed
    assert program("--prefix", "other", "--tenant", "o'neil", "page", spill_id).out == b"hello"
    assert program("--prefix", "other", "page", spill_id, "--json").answer["code"] == "spill_not_found"


def test_an_unknown_number_of_results_is_not_zero(program: Program) -> None:
    """A document that was cut off: as many as were named, at least, and why no more is known; `show` says it too."""
    payload = b'{"results":[{"name":"a","v":[1]},{"name":"b","v":[2]},{"name":"c'
    printed = program("put", "-", stdin=payload).text
    assert "at least 2 named (the document is truncated): a, b" in printed
    shown = program("show", printed.split()[2]).text
    assert "at least 2 named" in shown
    assert "the document is truncated" in shown


def test_a_binary_preview_says_that_it_is_base64(program: Program) -> None:
    """Letters that are not the payload's are not shown as if they were."""
    assert "first bytes in base64" in program("put", "-", stdin=noise(9_000)).text


@pytest.mark.parametrize("payload", [b"", b"x", b'{"a":1}'])
def test_what_fits_a_page_is_said_to(program: Program, payload: bytes) -> None:
    """A tiny payload is one page, not about one."""
    printed = program("put", "-", stdin=payload).text
    assert "1 page (it fits)" in printed
    assert "about 1 page" not in printed


def test_a_failed_put_says_that_nothing_was_stored(program: Program) -> None:
    """For people; the JSON is the library's."""
    ran = program("put", "-", stdin=b"x" * 2_000, SPILLCACHE_MAX_PAYLOAD_BYTES="1000")
    assert "Next: Nothing was stored. " in ran.err
    assert "SPILLCACHE_MAX_PAYLOAD_BYTES" in ran.err


def test_a_payload_over_the_limit_is_refused(program: Program) -> None:
    """Nothing is stored, no id is issued, and the error is typed."""
    ran = program("put", "-", "--json", stdin=b"x" * 2_000, SPILLCACHE_MAX_PAYLOAD_BYTES="1000")
    assert (ran.code, ran.answer["code"]) == (1, "payload_too_large")


def test_a_file_that_is_not_there_is_a_usage_error(program: Program) -> None:
    """Exit code 2, and nothing on standard output."""
    ran = program("put", "absent.json", "--json")
    assert (ran.code, ran.out) == (2, b"")
    assert "absent.json" in ran.err
