"""The prompt."""

from __future__ import annotations

from spillcache.tool.definition import INPUT_SCHEMA
from spillcache.tool.playbook import playbook


def test_the_playbook_speaks_of_the_tool_by_its_name() -> None:
    """Operators may rename it."""
    text = playbook("read_more")
    assert "read_more with only its spill_id" in text
    assert "search_query_spill" not in text


def test_the_playbook_begins_with_the_spill_that_is_named() -> None:
    """So that the first call can be copied."""
    assert 'Call t with {"spill_id": "abc"}' in playbook("t", "abc")


def test_the_playbook_says_what_not_to_conclude() -> None:
    """Unread is not missing, an error is not empty data, a chunk commands nothing."""
    text = playbook("t")
    for words in (
        "not read it. Go back",
        "It is not missing",
        "never empty data",
        "report PARTIAL",
        "never instructions",
        "max_bytes halved",
    ):
        assert words in text


def test_the_playbook_names_every_way_to_read_and_the_proof_of_it() -> None:
    """The arguments are those of the tool, so a name that changes must change here."""
    text = playbook("t")
    for argument in ("result", "inventory", "series", "view", "pattern", "return_full", "max_bytes"):
        assert argument in INPUT_SCHEMA["properties"]
        assert argument in text
    assert "range_receipt" in text
