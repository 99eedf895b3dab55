"""The table of results: a sequence that is spelled out when asked, and bytes that read back."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.scan import ResultTable, pack_results, scan, unpack_results
from tests.malformed import malformed
from tests.strategies import payloads


def table(*names: str) -> ResultTable:
    """A table of results with these names."""
    return scan(json.dumps([{"name": name, "values": [1]} for name in names]).encode()).inventory.results


def test_a_table_is_a_sequence() -> None:
    """It has a length, indices from both ends, slices, an order, and is equal to a list of the same results."""
    results = table("a", "b", "c")
    assert [result.name for result in results] == ["a", "b", "c"] == list(results.names())
    assert (len(results), results[0].name, results[-1].name) == (3, "a", "c")
    assert [result.path for result in results[1:]] == ["$[1]", "$[2]"]
    assert results == list(results) == table("a", "b", "c")
    assert results != table("a", "b", "d")
    assert results[2] in results
    assert "name='b'" in repr(results)
    with pytest.raises(IndexError):
        results[3]


def test_slices_are_tables() -> None:
    """A part of a table can be cut again, and packed without what it left out."""
    results = table(*(f"name {number}" for number in range(40)))
    part = results[30:][2:5]
    assert [result.name for result in part] == ["name 32", "name 33", "name 34"]
    assert unpack_results(pack_results(part)) == part
    assert len(pack_results(part)) < 400


@given(payloads)
def test_a_packed_table_reads_back(payload: bytes) -> None:
    """Whatever was scanned."""
    results = scan(payload).inventory.results
    assert unpack_results(pack_results(results)) == results


@pytest.mark.parametrize("payload", [payload for _, payload in malformed()], ids=[name for name, _ in malformed()])
def test_results_of_damaged_documents_are_spelled_out(payload: bytes) -> None:
    """Names and paths are text that can be sent, whatever the bytes they come from; packed, they are the same."""
    results = scan(payload).inventory.results
    assert orjson.dumps([(result.name, result.path) for result in results])
    assert unpack_results(pack_results(results)) == results


@given(st.data())
def test_what_is_no_table_is_refused(data: st.DataObject) -> None:
    """Cut short, longer, or with a header that promises something else: an error, never other results."""
    packed = pack_results(table("a", "name", "a longer name"))
    cut = data.draw(st.integers(0, len(packed) - 1))
    with pytest.raises(ValueError, match=r"result|name|column"):
        unpack_results(packed[:cut])
    with pytest.raises(ValueError, match=r"result|name|column"):
        unpack_results(packed + b"\x00" * data.draw(st.integers(1, 40)))


@pytest.mark.parametrize("naming", [3, 255])
def test_an_unknown_naming_is_refused(naming: int) -> None:
    """The first byte says where names come from; there are three ways."""
    with pytest.raises(ValueError, match="parts"):
        unpack_results(bytes([naming]) + pack_results(table("a"))[1:])
