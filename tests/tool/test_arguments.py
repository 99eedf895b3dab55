"""What the tool was called with: lenient where models are untidy, strict where a mistake would change the answer."""

from __future__ import annotations

from typing import Any

import pytest

from spillcache.cursor import Cursor, WalkKind, encode_cursor
from spillcache.errors import ArgumentsInvalid, CursorMalformed, PatternInvalid, SpillError, SpillIdMalformed
from spillcache.ids import new_id
from spillcache.tool.arguments import NAMES, Search, ToolCall, parse_arguments
from tests.servers.caches import KEYRING

ID = new_id(bytes(15))


@pytest.mark.parametrize("nothing", [None, "", "  ", False])
@pytest.mark.parametrize("name", [*NAMES[1:], "unknown"])
def test_an_empty_optional_counts_as_absent(name: str, nothing: object) -> None:
    """Models fill in what they leave out, even an argument that there is not. But blanks can be searched for."""
    read = parse_arguments({"spill_id": ID, name: nothing})
    assert read == ToolCall(ID, search=Search("  ") if (name, nothing) == ("pattern", "  ") else None)


def test_every_argument_is_understood() -> None:
    """Names, numbers, flags and cursors arrive as they were given."""
    assert parse_arguments({"spill_id": ID, "cursor": "abc", "result": "cpu", "max_bytes": 900}) == ToolCall(
        ID, cursor="abc", result="cpu", max_bytes=900
    )
    assert parse_arguments({"spill_id": ID, "inventory": True}) == ToolCall(ID, inventory=True)
    assert parse_arguments({"spill_id": ID, "series": True, "result": 2}) == ToolCall(ID, series=True, result=2)
    assert parse_arguments({"spill_id": ID, "view": "compact"}) == ToolCall(ID, view="compact")
    assert parse_arguments({"spill_id": ID, "return_full": True, "cursor": "abc"}) == ToolCall(
        ID, full=True, cursor="abc"
    )


def test_a_search_is_understood() -> None:
    """Only what was given is handed on; the cache has its own defaults."""
    assert parse_arguments({"spill_id": ID, "pattern": " a+ "}).search == Search(" a+ ")
    search = parse_arguments(
        {"spill_id": ID, "pattern": "x", "literal": True, "ignore_case": "true", "max_matches": "3", "context": 40.0}
    ).search
    assert search == Search("x", {"literal": True, "ignore_case": True, "max_matches": 3, "context": 40})


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ({"max_bytes": "4000"}, ToolCall(ID, max_bytes=4000)),
        ({"max_bytes": 4000.0}, ToolCall(ID, max_bytes=4000)),
        ({"max_bytes": 0}, ToolCall(ID)),
        ({"max_bytes": "0"}, ToolCall(ID)),
        ({"result": 2.0}, ToolCall(ID, result=2)),
        ({"result": 0}, ToolCall(ID, result=0)),
        ({"inventory": "TRUE"}, ToolCall(ID, inventory=True)),
        ({"inventory": "false"}, ToolCall(ID)),
        ({"series": "True"}, ToolCall(ID, series=True)),
        ({"view": "raw"}, ToolCall(ID)),
        ({"view": " Compact"}, ToolCall(ID, view="compact")),
        ({"max_matches": 10, "context": 120}, ToolCall(ID)),
        ({"view": "RAW", "pattern": ""}, ToolCall(ID)),
        ({"pattern": "x", "literal": False}, ToolCall(ID, search=Search("x"))),
        ({"pattern": " ", "literal": True}, ToolCall(ID, search=Search(" ", {"literal": True}))),
        ({"pattern": "x", "context": 0}, ToolCall(ID, search=Search("x", {"context": 0}))),
        ({"pattern": "x", "max_matches": "0"}, ToolCall(ID, search=Search("x", {"max_matches": 0}))),
    ],
)
def test_untidy_values_mean_what_they_say(raw: dict[str, Any], read: ToolCall) -> None:
    """Numbers as text, whole floats and flags as words; result 0 stays 0, because numbers count from 1."""
    assert parse_arguments({"spill_id": ID, **raw}) == read


@pytest.mark.parametrize(
    ("raw", "error", "step"),
    [
        (None, ArgumentsInvalid, "only spill_id"),
        ({}, ArgumentsInvalid, "only spill_id"),
        ({"spill_id": 5}, SpillIdMalformed, "Copy spill_id"),
        ({"spill_id": ID, "cursor": 7}, CursorMalformed, "Start over"),
        ({"spill_id": ID, "cursor": ["a"]}, CursorMalformed, "Start over"),
        ({"spill_id": ID, "next_cursor": "abc"}, ArgumentsInvalid, "as cursor"),
        ({"spill_id": ID, "find": "abc"}, ArgumentsInvalid, "Leave out"),
        ({"spill_id": ID, "pattern": "abc", "cursor": "abc"}, ArgumentsInvalid, "leave out cursor"),
        ({"spill_id": ID, "pattern": "abc", "return_full": True}, ArgumentsInvalid, "one of them: pattern, or return"),
        ({"spill_id": ID, "pattern": "abc", "inventory": True}, ArgumentsInvalid, "one of them: inventory, or pattern"),
        ({"spill_id": ID, "pattern": "abc", "view": "compact"}, ArgumentsInvalid, "Leave out pattern"),
        ({"spill_id": ID, "pattern": 7}, ArgumentsInvalid, "Correct"),
        ({"spill_id": ID, "pattern": "abc", "max_matches": -1}, ArgumentsInvalid, "Correct"),
        ({"spill_id": ID, "literal": True}, ArgumentsInvalid, "Add pattern"),
        ({"spill_id": ID, "literal": True, "pattern": ""}, PatternInvalid, "Nothing was searched"),
        ({"spill_id": ID, "return_full": True, "result": "cpu"}, ArgumentsInvalid, "without result"),
        ({"spill_id": ID, "return_full": True, "view": "compact"}, ArgumentsInvalid, "Leave out return_full"),
        ({"spill_id": ID, "return_full": "all"}, ArgumentsInvalid, "Correct"),
        ({"spill_id": ID, "series": True, "inventory": True}, ArgumentsInvalid, "inventory, or series"),
        ({"spill_id": ID, "view": "table"}, ArgumentsInvalid, 'view: "compact"'),
        ({"spill_id": ID, "inventory": True, "result": "cpu"}, ArgumentsInvalid, "inventory: true"),
        ({"spill_id": ID, "inventory": 1}, ArgumentsInvalid, "Correct"),
        ({"spill_id": ID, "inventory": "yes"}, ArgumentsInvalid, "Correct"),
        ({"spill_id": ID, "result": True}, ArgumentsInvalid, "Correct"),
        ({"spill_id": ID, "result": 1.5}, ArgumentsInvalid, "Correct"),
        ({"spill_id": ID, "result": {}}, ArgumentsInvalid, "Correct"),
        ({"spill_id": ID, "max_bytes": -1}, ArgumentsInvalid, "Correct"),
        ({"spill_id": ID, "max_bytes": True}, ArgumentsInvalid, "Correct"),
        ({"spill_id": ID, "max_bytes": "much"}, ArgumentsInvalid, "Correct"),
        ({"spill_id": ID, "max_bytes": float("inf")}, ArgumentsInvalid, "Correct"),
        ({"spill_id": ID, "max_bytes": float("nan")}, ArgumentsInvalid, "Correct"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_way_out(
    raw: dict[str, Any] | None, error: type[SpillError], step: str
) -> None:
    """Nothing is guessed; the next step says what to call instead."""
    with pytest.raises(error) as refused:
        parse_arguments(raw)
    assert step in refused.value.next_step


def test_no_message_repeats_what_was_given() -> None:
    """A cursor in the wrong place, as a value or as a name, must not get into a log."""
    misplaced = "AbCdEfGh"
    for raw in ({"spill_id": ID, misplaced: "x"}, {"spill_id": ID, "max_bytes": misplaced}, {"cursor": misplaced}):
        with pytest.raises(SpillError) as refused:
            parse_arguments(raw)
        assert misplaced not in str(refused.value.as_dict())


@pytest.mark.parametrize("kind", WalkKind)
def test_a_cursor_says_by_itself_what_it_continues(kind: WalkKind) -> None:
    """So a model that leaves out inventory: true, series: true or the view goes on where it was."""
    cursor = encode_cursor(Cursor(kind, 3, 1_800_000_000, 1), KEYRING, ID, "default")
    call = parse_arguments({"spill_id": ID, "cursor": cursor})
    assert (call.inventory, call.series, call.view == "compact") == (
        kind is WalkKind.INVENTORY,
        kind is WalkKind.SERIES,
        kind is WalkKind.COMPACT,
    )
    with pytest.raises(ArgumentsInvalid):
        parse_arguments({"spill_id": ID, "cursor": cursor, "pattern": "cpu"})
    if kind is WalkKind.COMPACT:
        with pytest.raises(ArgumentsInvalid, match="continues the compact view"):
            parse_arguments({"spill_id": ID, "cursor": cursor, "view": "raw"})
    if kind in {WalkKind.INVENTORY, WalkKind.SERIES, WalkKind.COMPACT}:
        with pytest.raises(ArgumentsInvalid):
            parse_arguments({"spill_id": ID, "cursor": cursor, "return_full": True})
