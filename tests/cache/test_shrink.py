"""Hosts that cut pages: whatever they left, the walk goes on at the byte after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spillcache import Page
from spillcache.errors import ArgumentsInvalid
from spillcache.sync import SpillCache
from spillcache.wire import Wire
from tests.servers.caches import cache_on, metrics, sync_cache_on
from tests.strategies import payloads, wires

PAYLOAD = metrics(results=4, points=250)


@pytest.fixture
def cache(redis_url: str) -> Iterator[SpillCache]:
    """A cache without asyncio, on the session's server."""
    with sync_cache_on(redis_url) as made:
        yield made


def walk_of_a_cutting_host(cache: SpillCache, first: Page, keep: list[float], wire: Wire, budget: int) -> list[Page]:
    """The pages as delivered: the host leaves these shares of the first ones, and all of the rest."""
    pages, page = [], first
    for share in keep:
        page = page.shrink(page.chunk[: int(share * len(page.chunk))])
        pages.append(page)
        if page.next_cursor is None:
            return pages
        page = cache.page(page.spill_id, cursor=page.next_cursor, budget=budget, wire=wire)
    pages.append(page)
    while (cursor := pages[-1].next_cursor) is not None:
        pages.append(cache.page(first.spill_id, cursor=cursor, budget=budget, wire=wire))
    return pages


@settings(max_examples=40)
@given(payload=payloads, wire=wires, keep=st.lists(st.floats(0, 1), max_size=6), budget=st.integers(1_000, 9_000))
def test_a_walk_through_a_cutting_host_loses_and_repeats_nothing(
    cache: SpillCache, payload: bytes, wire: Wire, keep: list[float], budget: int
) -> None:
    """The delivered parts are the payload, and the last page is COMPLETE with its receipt."""
    stored = cache.put(payload).spill_id
    pages = walk_of_a_cutting_host(cache, cache.page(stored, budget=budget, wire=wire), keep, wire, budget)
    assert b"".join(page.data for page in pages) == payload
    assert [page.end for page in pages[:-1]] == [page.start for page in pages[1:]]
    assert [page.status for page in pages] == ["PARTIAL"] * (len(pages) - 1) + ["COMPLETE"]
    assert all(wire.size(page.as_dict()) <= budget for page in pages)


@settings(max_examples=20)
@given(number=st.integers(1, 4), keep=st.lists(st.floats(0, 1), max_size=4), budget=st.integers(600, 4_000))
def test_a_result_s_walk_stays_inside_it(cache: SpillCache, number: int, keep: list[float], budget: int) -> None:
    """Cut pages of one result go on inside that result and end with it."""
    stored = cache.put(PAYLOAD).spill_id
    entry = cache.inventory(stored).entries[number - 1]
    first = cache.page(stored, result=number, budget=budget)
    pages = walk_of_a_cutting_host(cache, first, keep, Wire(), budget)
    assert b"".join(page.data for page in pages) == PAYLOAD[entry.start : entry.end]
    assert [page.result_status for page in pages] == [None] * (len(pages) - 1) + ["COMPLETE"]
    assert {page.receipt for page in pages} == {None}


def test_cutting_a_last_page_takes_its_claims_away(cache: SpillCache) -> None:
    """A COMPLETE page of which a byte is missing is PARTIAL, without receipt, and has a cursor for the rest."""
    stored = cache.put(PAYLOAD).spill_id
    *_, last = cache.walk(stored)
    cut = last.shrink(last.chunk[:-1])
    assert (cut.status, cut.receipt) == ("PARTIAL", None)
    rest = cache.page(stored, cursor=cut.next_cursor)
    assert cut.data + rest.data == last.data
    assert (rest.status, rest.receipt is not None) == ("COMPLETE", True)


def test_the_inventory_of_page_one_survives_a_cut(cache: SpillCache) -> None:
    """It stands before the chunk, so a host that cut the chunk delivered it."""
    page = cache.page(cache.put(PAYLOAD).spill_id)
    assert page.shrink(page.chunk[:100]).as_dict()["inventory"] == page.as_dict()["inventory"]


def test_asking_again_with_less_is_the_other_way(cache: SpillCache) -> None:
    """Without the library, the same cursor with a lower budget gives a page that fits, from the same byte."""
    stored = cache.put(PAYLOAD).spill_id
    cursor = cache.page(stored).next_cursor
    whole = cache.page(stored, cursor=cursor)
    half = cache.page(stored, cursor=cursor, budget=3_750)
    assert half.start == whole.start
    assert whole.data.startswith(half.data)
    assert half.data


@pytest.mark.parametrize("delivered", ["…", "x", "\ufffd", "{}"])
def test_what_a_host_rewrote_cannot_be_counted_from(cache: SpillCache, delivered: str) -> None:
    """A summary, or text with replaced characters, is refused instead of guessed at."""
    page = cache.page(cache.put(PAYLOAD).spill_id)
    with pytest.raises(ArgumentsInvalid):
        page.shrink(page.chunk[:50] + delivered * 3)


async def test_a_page_of_the_asynchronous_side_shrinks_without_the_server(redis_url: str) -> None:
    """The cursor is signed on the spot; the server is asked only for the next page."""
    async with cache_on(redis_url) as cache:
        stored = (await cache.put(PAYLOAD)).spill_id
        page = (await cache.page(stored)).shrink('{"sta')
        following = await cache.page(stored, cursor=page.next_cursor)
    assert (page.data, following.start) == (b'{"sta', 5)
