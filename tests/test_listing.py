"""Listings: a table of contents, a page at a time, that never passes for the data."""

from __future__ import annotations

import functools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.cursor import LEASE_EPOCH, Cursor, WalkKind, decode_cursor, encode_cursor
from spillcache.errors import BudgetTooSmall
from spillcache.inventory import Contents
from spillcache.listing import Listing, list_results
from spillcache.scan import Kind, scan
from spillcache.shown import shown_name
from spillcache.wire import MCP, PLAIN, Wire
from tests.memory import KEYRING, SPILL_ID, TENANT
from tests.strategies import payloads, wires


@functools.lru_cache(maxsize=4)
def contents_of(payload: bytes) -> tuple[Kind, Contents]:
    """What is stored of a payload's inventory."""
    found = scan(payload)
    return found.kind, Contents(found.inventory, int(found.slabs.extra_once.sum()), int(found.slabs.extra_twice.sum()))


def listed(payload: bytes, budget: int | None, *, position: int = 0, wire: Wire = PLAIN) -> Listing:
    """The entries of a payload's inventory from `position` on."""
    kind, contents = contents_of(payload)
    cursor = Cursor(WalkKind.INVENTORY, 0, LEASE_EPOCH, 1)
    return list_results(
        contents,
        spill_id=SPILL_ID,
        kind=kind,
        size=len(payload),
        position=position,
        budget=budget,
        wire=wire,
        page_budget=7_500,
        sign=lambda at: encode_cursor(cursor.at(at), KEYRING, SPILL_ID, TENANT),
    )


def walk(payload: bytes, budget: int, wire: Wire = PLAIN) -> list[Listing]:
    """All pages of the inventory."""
    pages = [listed(payload, budget, wire=wire)]
    while (text := pages[-1].next_cursor) is not None:
        position = decode_cursor(text, KEYRING, SPILL_ID, TENANT).position
        pages.append(listed(payload, budget, position=position, wire=wire))
    return pages


def batch(*names: str) -> bytes:
    """A batch of queries with these names."""
    return json.dumps({"results": [{"name": name, "values": [1, 2]} for name in names]}).encode()


@given(st.lists(st.text(max_size=200), min_size=2, max_size=120), wires, st.integers(0, 3_000))
def test_pages_of_an_inventory_name_every_result_once_and_fit(names: list[str], wire: Wire, more: int) -> None:
    """Whatever the names: in order, none twice, each page within its budget and none empty."""
    payload = batch(*names)
    budget = 1_600 + more
    pages = walk(payload, budget, wire)
    assert [entry.index for page in pages for entry in page.entries] == list(range(1, len(names) + 1))
    assert [entry for page in pages for entry in page.entries] == list(listed(payload, None, wire=wire).entries)
    assert all(wire.size(page.as_dict()) <= budget for page in pages)
    assert all(page.entries for page in pages)
    assert [page.inventory_status for page in pages] == ["PARTIAL"] * (len(pages) - 1) + ["COMPLETE"]


@given(payloads, wires)
def test_whatever_has_no_results_has_a_listing_too(payload: bytes, wire: Wire) -> None:
    """Every payload can be asked for its inventory; it fits, and is never called COMPLETE data."""
    for page in walk(payload, 4_000, wire):
        answer = page.as_dict()
        assert wire.size(answer) <= 4_000
        assert answer["status"] == "PARTIAL"
        assert "receipt" not in answer
        assert None not in answer.values()


def test_fields_come_in_the_contract_s_order() -> None:
    """What explains comes first, the list before what ends the answer."""
    payload = b'{"results":{"A":NaN,"B":[1],"A":{"x":1}},"z":['
    assert list(listed(payload, 4_000).as_dict()) == [
        "note", "kind", "size_bytes", "results", "path", "partial", "strict_json", "duplicate_keys", "entries",
        "status", "inventory_status",
    ]  # fmt: skip
    first = walk(batch(*map(str, range(90))), 1_600)[0].as_dict()
    assert list(first) == [
        "note", "kind", "size_bytes", "results", "path", "entries", "status", "inventory_status", "next_cursor",
    ]  # fmt: skip
    assert list(first["entries"][0])[:6] == ["index", "name", "path", "bytes", "pages", "type"]


def test_counts_that_do_not_apply_are_absent_and_zero_is_a_number() -> None:
    """Series and points of a result without any are 0; of what has none, they are not mentioned."""
    payload = (
        b'{"results":[{"name":"empty","data":{"result":[]}},{"name":"some","data":{"result":[{"values":[[1,"2"]]}]}}]}'
    )
    empty, some = (entry.as_dict() for entry in listed(payload, None).entries)
    assert empty["series"] == 0
    assert some["series"] == 1
    texts = listed(b'["a","b"]', None)
    assert all("series" not in entry.as_dict() for entry in texts.entries)


def test_ranges_are_the_results_own_bytes() -> None:
    """What an entry says of a result's place and size is where it lies in the payload."""
    payload = batch("a", "b", "c")
    for entry, name in zip(listed(payload, None).entries, "abc", strict=True):
        assert json.loads(payload[entry.start : entry.end])["name"] == name == entry.name
        assert entry.as_dict()["bytes"] == entry.end - entry.start
        assert entry.pages == 1


def test_thousands_of_names_are_paged() -> None:
    """Five thousand long names: many pages, none over its budget, no name longer than is shown."""
    names = [f"query {number} " + "x" * 300 for number in range(5_000)]
    pages = walk(batch(*names), 7_500)
    assert sum(len(page.entries) for page in pages) == 5_000
    assert all(PLAIN.size(page.as_dict()) <= 7_500 for page in pages)
    assert pages[7].entries[0].name == shown_name(names[pages[7].entries[0].index - 1])


@pytest.mark.parametrize("wire", [PLAIN, MCP])
@pytest.mark.parametrize("payload", [b"plain text", b"[]", batch("a", "b"), batch("\x01" * 80 + '"' * 80, "b")])
def test_a_budget_too_small_names_the_smallest_that_works(payload: bytes, wire: Wire) -> None:
    """Also where there is nothing to list; the budget it names gives a page, one byte less does not."""
    with pytest.raises(BudgetTooSmall) as error:
        listed(payload, 10, wire=wire)
    minimum = error.value.minimum
    assert wire.size(listed(payload, minimum, wire=wire).as_dict()) <= minimum
    with pytest.raises(BudgetTooSmall):
        listed(payload, minimum - 1, wire=wire)


@pytest.mark.parametrize("payload", [b"a line\n" * 900, b"\xff" * 900, b"a,b\n1,2\n" * 900, b"[" * 900])
def test_a_payload_without_named_results_does_not_look_empty(payload: bytes) -> None:
    """A list without entries says that this is no judgement of the data; an empty result list counts to zero."""
    answer = listed(payload, 4_000).as_dict()
    assert answer["entries"] == []
    assert "says nothing of the data" in answer["note"]
    assert "results" not in answer
    empty = listed(b'{"results":[]}', 4_000).as_dict()
    assert empty["results"] == 0
    assert "not the data" in empty["note"]


def test_a_partial_inventory_is_never_complete() -> None:
    """Where the scan could not see everything, the list is PARTIAL to its end."""
    assert listed(b'{"results":[{"name":"a"},{"name":"b"},{"na', None).inventory_status == "PARTIAL"
