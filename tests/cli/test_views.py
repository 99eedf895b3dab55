"""`spillcache series`, and the compact view of `page` and `walk`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spillcache.compact import expand
from spillcache.demo import sample
from tests.cli.commands import Program
from tests.servers.caches import metrics

PAYLOAD = sample.payload()


def test_series_as_json_are_what_an_agent_gets(program: Program) -> None:
    """All of them, or a page of the list; PARTIAL, because it is not the data."""
    spill_id = program.store(PAYLOAD)
    whole = program("series", spill_id, "--json").answer
    assert (whole["status"], whole["series_status"], len(whole["entries"])) == ("PARTIAL", "COMPLETE", 87)
    first = program("series", spill_id, "--budget", "4000", "--json").answer
    second = program("series", spill_id, "--budget", "4000", "--cursor", first["next_cursor"], "--json").answer
    begun = [{**entry, "cursor": ""} for entry in first["entries"] + second["entries"]]
    assert begun == [{**entry, "cursor": ""} for entry in whole["entries"][: len(begun)]]


def test_series_for_people_are_a_table_and_what_it_is_not(program: Program) -> None:
    """On standard error: PARTIAL, derived, and the command that reads the values."""
    spill_id = program.store(PAYLOAD)
    ran = program("series", spill_id, "--result", "2")
    values = [value for _, value in json.loads(PAYLOAD)["results"][1]["result"][0]["values"]]
    assert ran.code == 3
    assert all(spelled in ran.text for spelled in (values[-1], max(values, key=float), min(values, key=float)))
    assert "PARTIAL 1 series, 1 listed" in ran.err
    assert "not the data" in ran.err
    command = ran.err.split("to read the values: spillcache ")[1].split()
    assert f"{values[-1]}>" in program(*command).text


def test_a_payload_without_series_says_that_this_says_nothing(program: Program) -> None:
    """The list is empty and PARTIAL of the data; the compact view of it is refused with the way out."""
    spill_id = program.store(b'{"data":[1,2,3]}')
    ran = program("series", spill_id)
    assert (ran.code, ran.out) == (3, b"")
    assert "says nothing of the data" in ran.err
    refused = program("page", spill_id, "--view", "compact", "--json")
    assert (refused.code, refused.answer["code"]) == (1, "arguments_invalid")


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_that_none_is_known_is_no_success(program: Program, words: tuple[str, ...]) -> None:
    """What looks like series and was not understood gives neither a number nor exit code 0."""
    ran = program("series", program.store(metrics(points=20)), *words)
    assert ran.code == 3
    assert "there may be some" in (ran.text if words else ran.err)
    assert '"series"' not in ran.text
    assert words or "PARTIAL unknown series" in ran.err


def test_a_compact_page_leads_to_the_next_by_its_cursor_alone(program: Program) -> None:
    """The view is named beside the text, and the command that goes on needs not say it."""
    spill_id = program.store(PAYLOAD)
    ran = program("page", spill_id, "--view", "compact")
    assert "PARTIAL in the compact view" in ran.err
    following = ran.err.split("next: spillcache ")[1].split()
    assert "compact view" in program(*following).err


@pytest.mark.parametrize("output", ["out.txt", "-"])
def test_a_compact_walk_has_every_value_and_a_range_receipt(program: Program, tmp_path: Path, output: str) -> None:
    """COMPLETE with the view named; what it wrote expands to the payload's values."""
    spill_id = program.store(PAYLOAD)
    ran = program("walk", spill_id, "--view", "compact", "-o", output)
    text = ran.text if output == "-" else (tmp_path / output).read_text()
    assert ran.code == 0
    assert json.loads(expand(text)) == json.loads(PAYLOAD)
    assert "COMPLETE" in ran.err
    assert "in the compact view" in ran.err
    assert "\nreceipt" not in ran.err
    written = len(ran.out or (tmp_path / output).read_bytes())
    assert f"{len(PAYLOAD):,} bytes) of the payload" in ran.err
    assert f"({written:,} bytes)" in ran.err.partition("; written: ")[2]
    proof = ran.err.partition("range_receipt ")[2].split()[0]
    assert program("claims", spill_id, proof).code == 0


def test_the_sum_of_a_compact_walk_names_its_view(program: Program) -> None:
    """And neither a digest nor a receipt, which are of bytes that it did not serve; what was written is no payload."""
    spill_id = program.store(PAYLOAD)
    answer = program("walk", spill_id, "--view", "compact", "-o", "out.txt", "--json").answer
    assert list(answer) == [
        *("spill_id", "size_bytes", "pages", "payload_bytes", "written_bytes", "view", "output", "status"),
        "range_receipt",
    ]
    assert (answer["payload_bytes"], answer["view"], answer["status"]) == (len(PAYLOAD), "compact", "COMPLETE")
    assert answer["written_bytes"] == (program.directory / "out.txt").stat().st_size
    assert program("claims", spill_id, answer["range_receipt"], "--json").answer["served_compact"] == [
        [0, len(PAYLOAD)]
    ]
