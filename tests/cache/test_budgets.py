"""Budgets over a real server: every answer fits, as it is sent; a lower one continues from the same byte."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spillcache import MCP, PLAIN, Wire
from spillcache.errors import BudgetTooSmall
from spillcache.page import reserve
from spillcache.sync import SpillCache
from tests.servers.caches import metrics, sync_cache_on
from tests.strategies import TWO_COPIES, WIRES, budgets, smallest_budget, wires

PAYLOAD = metrics(results=5, points=400)
HOSTILE = ['"' * 300, "\x01" * 300, "漢" * 300, "😀" * 300, "\\" * 300, "\u202e" * 9 + "x", "a" * 10_000, ""]


@pytest.fixture
def cache(redis_url: str) -> Iterator[SpillCache]:
    """A cache without asyncio, on the session's server."""
    with sync_cache_on(redis_url) as made:
        yield made


@settings(max_examples=30)
@given(
    names=st.lists(st.one_of(st.text(max_size=90), st.sampled_from(HOSTILE)), max_size=90),
    wire=wires,
    more=st.integers(0, 3_000),
)
def test_page_one_fits_whatever_the_names_are(cache: SpillCache, names: list[str], wire: Wire, more: int) -> None:
    """Its inventory takes at most a quarter, so there is always room for the payload; the envelope fits as well."""
    payload = json.dumps({"results": [{"name": name, "v": [1, 2, 3]} for name in names]}, ensure_ascii=False)
    budget = 1_900 + more
    envelope = cache.put(payload.encode("utf-8", "surrogatepass"), budget=budget, wire=wire)
    assert wire.size(envelope.as_dict()) <= budget
    least = smallest_budget(wire) + more
    page = cache.page(envelope.spill_id, budget=least, wire=wire)
    assert wire.size(page.as_dict()) <= least
    assert page.data


@settings(max_examples=25)
@given(wire=wires, data=st.data())
def test_the_same_cursor_at_any_budget_starts_at_the_same_byte(
    cache: SpillCache, wire: Wire, data: st.DataObject
) -> None:
    """What a host cut is asked for again with less: nothing is skipped, and the walk is still unbroken."""
    stored = cache.put(PAYLOAD).spill_id
    page = cache.page(stored, budget=7_500, wire=wire)
    parts = [page.data]
    while page.next_cursor is not None:
        cursor = page.next_cursor
        cut = cache.page(stored, cursor=cursor, budget=48_000, wire=wire)
        page = cache.page(stored, cursor=cursor, budget=data.draw(budgets(wire)) + 1_500, wire=wire)
        assert cut.start == page.start
        parts.append(page.data)
    assert b"".join(parts) == PAYLOAD
    assert page.status == "COMPLETE"


@pytest.mark.parametrize("wire", WIRES, ids=str)
@pytest.mark.parametrize("budget", [-1, 0, 1, 100])
def test_a_budget_too_small_names_the_smallest_that_works(cache: SpillCache, wire: Wire, budget: int) -> None:
    """For page 1, a later page, a result and the inventory; the minimum then serves."""
    stored = cache.put(PAYLOAD).spill_id
    cursor = cache.page(stored, budget=7_500, wire=wire).next_cursor
    for arguments in ({}, {"cursor": cursor}, {"result": "query 2"}):
        with pytest.raises(BudgetTooSmall) as error:
            cache.page(stored, budget=budget, wire=wire, **arguments)
        page = cache.page(stored, budget=error.value.minimum, wire=wire, **arguments)
        assert page.data
        assert wire.size(page.as_dict()) <= error.value.minimum
    with pytest.raises(BudgetTooSmall) as error:
        cache.inventory(stored, budget=budget, wire=wire)
    assert cache.inventory(stored, budget=error.value.minimum, wire=wire).entries


def test_a_refused_budget_leaves_nothing_stored(cache: SpillCache) -> None:
    """An envelope that cannot be made is found out before anything is written."""
    with pytest.raises(BudgetTooSmall) as error:
        cache.put(PAYLOAD, budget=200)
    envelope = cache.put(PAYLOAD, budget=error.value.minimum)
    assert PLAIN.size(envelope.as_dict()) <= error.value.minimum


def test_a_large_budget_is_one_page(cache: SpillCache) -> None:
    """A page may span chunks, all of them if it must: still COMPLETE with a receipt."""
    payload = metrics(results=6, points=6_000)
    (page,) = cache.walk(cache.put(payload).spill_id, budget=5_000_000)
    assert (page.data, page.status, page.chunk_kind) == (payload, "COMPLETE", "json")


@pytest.mark.parametrize("wire", [PLAIN, MCP, TWO_COPIES], ids=str)
def test_pages_are_within_a_tenth_of_the_fewest(cache: SpillCache, wire: Wire) -> None:
    """Good edges cost little: at 1,500, 7,500 and 48,000 bytes."""
    payload = metrics(results=9, points=1_500)
    stored = cache.put(payload).spill_id
    for budget in (1_500, 7_500, 48_000):
        pages = list(cache.walk(stored, budget=budget, wire=wire))
        fewest = -(-wire.cost(payload.decode()) // (budget - reserve(wire)))
        assert len(pages) <= 1.1 * fewest + 1


def test_the_wire_of_the_cache_is_what_answers_are_measured_by(redis_url: str) -> None:
    """Set once for a face, it holds for every verb; one call may differ."""
    payload = b'"' * 60_000
    with sync_cache_on(redis_url, wire=MCP) as cache:
        stored = cache.put(payload).spill_id
        pages = list(cache.walk(stored))
        assert all(6_000 < MCP.size(page.as_dict()) <= 7_500 for page in pages[1:-1])
        assert len(list(cache.walk(stored, wire=PLAIN))) < len(pages)
