"""Wires: what an answer costs is what is sent."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.errors import ArgumentsInvalid
from spillcache.scan import scan
from spillcache.wire import MCP, PLAIN, Wire
from tests.strategies import ASCII, ASCII_MCP, TWO_COPIES, WIRES, payloads, texts, wires

valid_text = st.text(st.characters(codec="utf-8"), max_size=200)


def sent(answer: object, times: int, *, ascii_only: bool = False) -> bytes:
    """One copy of an answer as a face sends it: JSON text, or JSON text in a JSON string."""

    def dumps(value: object) -> bytes:
        return json.dumps(value, separators=(",", ":")).encode() if ascii_only else orjson.dumps(value)

    once = dumps(answer)
    return once if times == 1 else dumps(once.decode())


@given(valid_text, wires)
def test_size_is_the_bytes_of_every_copy_and_the_wrapper(text: str, wire: Wire) -> None:
    """Nothing is estimated: the serialiser that sends is the one that measures."""
    answer = {"chunk": text, "n": 1}
    copies = [sent(answer, times, ascii_only=wire.ascii_only) for times in wire.copies]
    assert wire.size(answer) == wire.wrapper + sum(map(len, copies))


@given(valid_text, wires)
def test_cost_is_what_a_text_adds_to_an_answer(text: str, wire: Wire) -> None:
    """The size of an answer is that of the empty one and the cost of its text."""
    assert wire.size({"chunk": text}) == wire.size({"chunk": ""}) + wire.cost(text)


@given(valid_text, valid_text, wires)
def test_costs_add_up(one: str, two: str, wire: Wire) -> None:
    """Escaping goes by character, so a page's cost is the sum of its slabs'; and no text costs less than its bytes."""
    assert wire.cost(one + two) == wire.cost(one) + wire.cost(two)
    assert wire.cost(one) >= len(one.encode()) * len(wire.copies)


@pytest.mark.parametrize(
    ("text", "once", "twice"),
    [
        ('"', 2, 4), ("\\", 2, 4), ("\n", 2, 3), ("\t", 2, 3), ("\x01", 6, 7),
        ("a", 1, 1), ("漢", 3, 3), ("😀", 4, 4), ("/", 1, 1),
    ],
)  # fmt: skip
def test_a_character_costs_what_escaping_makes_of_it(text: str, once: int, twice: int) -> None:
    """Quotes and backslashes double each time; short escapes grow by one, long ones by one."""
    assert (PLAIN.cost(text), MCP.cost(text), TWO_COPIES.cost(text)) == (once, twice, once + twice)


@pytest.mark.parametrize(("text", "once", "twice"), [("é", 6, 7), ("漢", 6, 7), ("😀", 12, 14), ("a", 1, 1)])
def test_an_ascii_face_pays_for_every_other_code_point(text: str, once: int, twice: int) -> None:
    """A face that escapes beyond ASCII sends six bytes for a CJK character and twelve for an emoji."""
    assert (ASCII.cost(text), ASCII_MCP.cost(text)) == (once, twice)


@given(texts)
def test_the_slab_table_s_costs_are_the_wire_s(payload: bytes) -> None:
    """What a page is planned with is what its text costs."""
    found = scan(payload)
    once, twice = int(found.slabs.extra_once.sum()), int(found.slabs.extra_twice.sum())
    for wire in (PLAIN, MCP, TWO_COPIES):
        assert wire.payload_cost(len(payload), once, twice, binary=False) == wire.cost(payload.decode())


@given(payloads)
def test_binary_data_costs_its_base64(payload: bytes) -> None:
    """Four characters for three bytes, none of them escaped, in each copy."""
    for wire in WIRES:
        assert wire.payload_cost(len(payload), 9, 9, binary=True) == -(-len(payload) // 3) * 4 * len(wire.copies)


@given(valid_text, wires)
def test_a_tool_s_own_result_is_measured_as_it_travels(text: str, wire: Wire) -> None:
    """A JSON result is a JSON text; a string is quoted first. In MCP's text block either is one JSON string."""
    document = sent({"text": text}, 1, ascii_only=wire.ascii_only).decode()
    quoted_document = sent(document, 1, ascii_only=wire.ascii_only)
    copies = [document.encode() if times == 1 else quoted_document for times in wire.copies]
    assert wire.carried(document, is_json=True) == wire.wrapper + sum(map(len, copies))
    quoted = len(sent(text, 1, ascii_only=wire.ascii_only))
    assert wire.carried(text, is_json=False) == wire.wrapper + quoted * len(wire.copies)


@pytest.mark.parametrize(("copies", "wrapper"), [((), 0), ((0,), 0), ((3,), 0), ((1, 4), 0), ((1,), -1)])
def test_a_wire_that_cannot_be_is_refused(copies: tuple[int, ...], wrapper: int) -> None:
    """At least one copy, escaped once or twice."""
    with pytest.raises(ArgumentsInvalid, match="copies"):
        Wire(copies=copies, wrapper=wrapper)


def test_the_wrapper_of_mcp_is_what_its_result_has_around_the_text() -> None:
    """Measured on the JSON of a tool result with one text block."""
    answer = {"status": "PARTIAL"}
    text = orjson.dumps(answer).decode()
    result = orjson.dumps({"content": [{"type": "text", "text": text}], "isError": False})
    assert MCP.size(answer) == len(result)
