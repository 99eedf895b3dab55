"""A full read: one large page that says what part it is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spillcache import MCP, PLAIN
from spillcache.errors import BudgetTooSmall
from spillcache.frame import SEGMENT_BYTES
from spillcache.sync import SpillCache
from tests.servers.caches import cache_on, metrics, sync_cache_on

PAYLOAD = metrics(results=6, points=3_000)


@pytest.fixture
def cache(redis_url: str) -> Iterator[SpillCache]:
    """A cache without asyncio, on the session's server."""
    with sync_cache_on(redis_url) as made:
        yield made


def test_what_fits_the_cap_is_complete(cache: SpillCache) -> None:
    """Everything in one answer, with its receipt."""
    spill_id = cache.put(PAYLOAD).spill_id
    assert spill_id is not None
    page = cache.full(spill_id, cap=400_000)
    assert (page.status, page.data, page.next_cursor) == ("COMPLETE", PAYLOAD, None)
    assert page.receipt is not None


@pytest.mark.parametrize("wire", [PLAIN, MCP])
def test_what_does_not_is_partial_and_goes_on(cache: SpillCache, wire: object) -> None:
    """Within its cap on the wire; windows and pages are one chain, which ends COMPLETE."""
    assert wire in (PLAIN, MCP)
    how = PLAIN if wire is PLAIN else MCP
    spill_id = cache.put(PAYLOAD).spill_id
    assert spill_id is not None
    first = cache.full(spill_id, cap=50_000, wire=how)
    assert (first.status, first.start) == ("PARTIAL", 0)
    assert 40_000 < how.size(first.as_dict()) <= 50_000
    second = cache.full(spill_id, cursor=first.next_cursor, wire=how)
    assert second.start == first.end
    rest = list(cache.walk(spill_id, cursor=second.next_cursor, budget=48_000, wire=how))
    assert b"".join([first.data, second.data, *(page.data for page in rest)]) == PAYLOAD
    assert rest[-1].status == "COMPLETE"


def test_a_window_ends_where_a_segment_does(cache: SpillCache) -> None:
    """However large the cap: it never looks like the whole."""
    spill_id = cache.put(b"x" * (SEGMENT_BYTES + 10)).spill_id
    assert spill_id is not None
    page = cache.full(spill_id, cap=16 << 20)
    assert (page.status, page.end) == ("PARTIAL", SEGMENT_BYTES)
    assert page.next_cursor is not None


def test_from_the_middle_of_a_walk_it_ends_as_that_walk_does(cache: SpillCache) -> None:
    """A cursor inside a result stays inside it."""
    spill_id = cache.put(PAYLOAD).spill_id
    assert spill_id is not None
    page = cache.page(spill_id, result=2)
    window = cache.full(spill_id, cursor=page.next_cursor, cap=400_000)
    assert (window.status, window.result_status) == ("PARTIAL", "COMPLETE")
    assert window.end == cache.inventory(spill_id).entries[1].end


async def test_too_small_a_cap_is_refused(redis_url: str) -> None:
    """With the least that works."""
    async with cache_on(redis_url) as cache:
        spill_id = (await cache.put(PAYLOAD)).spill_id
        assert spill_id is not None
        with pytest.raises(BudgetTooSmall):
            await cache.full(spill_id, cap=100)
