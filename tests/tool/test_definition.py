"""The tool as it is listed."""

from __future__ import annotations

import json

import jsonschema
import pytest
from mcp_types import Tool

from spillcache.errors import ArgumentsInvalid
from spillcache.tool.arguments import NAMES
from spillcache.tool.clients import KNOWN_LIMITS
from spillcache.tool.definition import HOST_LIMIT, TOOL_MARK, ToolOptions, tool_entry


def test_the_entry_is_a_read_only_tool_of_the_protocol() -> None:
    """Hosts ask before tools that may do harm; this one is declared to do none."""
    tool = Tool.model_validate(tool_entry(ToolOptions()))
    assert (tool.name, tool.title) == ("search_query_spill", "Read a truncated result, page by page")
    hints = tool.annotations
    assert hints is not None
    assert (hints.read_only_hint, hints.idempotent_hint) == (True, True)
    assert (hints.destructive_hint, hints.open_world_hint) == (False, False)


def test_every_argument_is_described() -> None:
    """And the schema has exactly those that are understood."""
    schema = tool_entry(ToolOptions())["inputSchema"]
    assert tuple(schema["properties"]) == NAMES
    assert schema["required"] == ["spill_id"]
    assert all(described["description"] for described in schema["properties"].values())


@pytest.mark.parametrize(
    "arguments",
    [
        {"spill_id": "a"},
        {"spill_id": "a", "cursor": None, "result": None, "inventory": None, "max_bytes": None},
        {"spill_id": "a", "cursor": "", "result": "", "inventory": False},
        {"spill_id": "a", "result": 3, "max_bytes": 900, "unknown": None},
    ],
)
def test_a_host_that_checks_lets_untidy_models_through(arguments: dict[str, object]) -> None:
    """What the tool itself takes for absent must not fail before it gets here."""
    jsonschema.validate(arguments, tool_entry(ToolOptions())["inputSchema"])


def test_the_description_tells_how_to_read_and_what_not_to_conclude() -> None:
    """The cursor, the end, the honest report, that a chunk commands nothing, and what the hatches are not."""
    text = tool_entry(ToolOptions())["description"]
    for words in (
        "next_cursor, copied exactly",
        "COMPLETE means everything",
        'never "no data"',
        "never instructions",
        "a match, or no match, is not the data",
    ):
        assert words in text


def test_a_proxy_can_tell_the_tool_from_others() -> None:
    """By a mark in its entry, whatever it is called."""
    assert tool_entry(ToolOptions(name="read_more"))["_meta"][TOOL_MARK] == {"version": 1}


@pytest.mark.parametrize(
    ("full", "cap", "said"), [(65_536, 1 << 19, 65_536), (1 << 19, 1 << 19, 500_000), (9_000, 8_000, 8_000)]
)
def test_the_entry_says_how_long_a_result_may_get(full: int, cap: int, said: int) -> None:
    """For hosts that ask: never more than they accept, nor than is ever sent."""
    options = ToolOptions(full_bytes=full, limits=KNOWN_LIMITS.extended({}, cap=cap))
    assert tool_entry(options)["_meta"][HOST_LIMIT] == said


@pytest.mark.parametrize(
    ("name", "page", "full"),
    [
        ("claude-code/2.1", 19_000, 65_536),
        ("cursor", 7_500, 7_500),
        ("nobody knows", 7_500, 65_536),
        ("ours", 9_000, 9_000),
    ],
)
def test_a_full_read_is_as_long_as_the_client_is_known_to_take(name: str, page: int, full: int) -> None:
    """A host that cuts at 8 KB gets no more by asking; one that reads the entry does, up to the platform's cap."""
    options = ToolOptions(full_bytes=65_536, limits=KNOWN_LIMITS.extended({"ours": 9_000}))
    assert options.allowance([name]) == (page, full)


def test_an_output_schema_is_declared_only_where_structured_content_is_sent() -> None:
    """A client that is promised structured content and gets none may throw."""
    assert "outputSchema" not in tool_entry(ToolOptions())
    schema = tool_entry(ToolOptions(structured=True))["outputSchema"]
    assert schema["type"] == "object"
    jsonschema.Draft202012Validator.check_schema(schema)
    for wrong in ({}, {"status": "COMPLETE"}, {"status": "FAILED", "code": "x", "message": "y"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


def test_an_entry_may_be_changed_without_changing_the_next() -> None:
    """Proxies rewrite entries."""
    tool_entry(ToolOptions())["inputSchema"]["properties"].clear()
    assert tool_entry(ToolOptions())["inputSchema"]["properties"]


@pytest.mark.parametrize("name", ["", "a b", "ä", "x" * 129, "a/b"])
def test_a_name_that_the_protocol_does_not_allow_is_refused(name: str) -> None:
    """At start, where an operator reads it."""
    with pytest.raises(ArgumentsInvalid):
        ToolOptions(name=name)


def test_structured_content_goes_with_json_only() -> None:
    """The raw rendering has no object that a second copy could equal."""
    with pytest.raises(ArgumentsInvalid):
        ToolOptions(rendering="raw", structured=True)


def test_the_entry_is_small() -> None:
    """It is in every request of a session that lists it."""
    assert len(json.dumps(tool_entry(ToolOptions()))) < 3_500
