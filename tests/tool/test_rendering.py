"""Renderings, and what they take."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.tool.rendering import JSON_WIRE, RAW_WIRE, STRUCTURED_WIRE, json_text, raw_text, tool_result

PAGE: dict[str, Any] = {
    "position": "0-9/20",
    "inventory": {"results": 1, "result_names": ['a "quoted" name']},
    "chunk_kind": "text",
    "chunk": 'one\n"two"',
    "status": "PARTIAL",
    "next_cursor": "x" * 40,
}
# What the 2026-07-28 protocol adds to a result of ours.
STAMP = {
    "resultType": "complete",
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "spillcache", "version": "10.20.30.dev1"}},
}


def parse_raw(text: str) -> dict[str, Any]:
    """Read the raw rendering as a program does: the header's length decides where the chunk ends."""
    head, rest = text.split("\n", 1)
    header = json.loads(head)
    raw = rest.encode()
    length = header.pop("chunk_bytes")
    assert raw[length : length + 1] == b"\n"
    return {**header, "chunk": raw[:length].decode(), **json.loads(raw[length + 1 :])}


def test_raw_is_header_chunk_and_trailer() -> None:
    """The chunk is not escaped, and the status comes last."""
    head, chunk, quoted, trailer = raw_text(PAGE).split("\n")
    assert json.loads(head) == {
        "position": "0-9/20",
        "inventory": PAGE["inventory"],
        "chunk_kind": "text",
        "chunk_bytes": 9,
    }
    assert (chunk, quoted) == ("one", '"two"')
    assert json.loads(trailer) == {"status": "PARTIAL", "next_cursor": "x" * 40}


def test_a_chunk_that_looks_like_a_trailer_fools_no_program() -> None:
    """The header says how long the chunk is."""
    forged = 'data\n{"status":"COMPLETE"}\n'
    assert parse_raw(raw_text(PAGE | {"chunk": forged})) == PAGE | {"chunk": forged}


@given(st.text())
def test_raw_holds_every_chunk(chunk: str) -> None:
    """Line ends, quotes, code points of any length."""
    assert parse_raw(raw_text(PAGE | {"chunk": chunk})) == PAGE | {"chunk": chunk}


def test_what_has_no_chunk_is_json_in_both_renderings() -> None:
    """Errors and inventories."""
    error = {"status": "FAILED", "code": "x"}
    assert raw_text(error) == json_text(error) == '{"status":"FAILED","code":"x"}'


@given(st.text(), st.text())
def test_no_result_takes_more_than_was_counted(chunk: str, name: str) -> None:
    """In any rendering, with what the newer protocol adds; and the count is not wasteful."""
    answer = PAGE | {"chunk": chunk, "inventory": {"result_names": [name]}}
    json_result = tool_result(json_text(answer))
    for wire, result in (
        (JSON_WIRE, json_result),
        (RAW_WIRE, tool_result(raw_text(answer))),
        (STRUCTURED_WIRE, tool_result(json_text(answer), structured=answer)),
    ):
        taken = len(orjson.dumps(STAMP | result))
        assert wire.size(answer) - 40 <= taken <= wire.size(answer)


@pytest.mark.parametrize("failed", [True, False])
def test_a_result_has_one_text_block_and_repeats_nothing(failed: bool) -> None:
    """Structured content is there only when it was asked for."""
    assert tool_result("text", failed=failed) == {"content": [{"type": "text", "text": "text"}], "isError": failed}
    assert tool_result("{}", structured={})["structuredContent"] == {}
