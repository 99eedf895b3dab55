"""Spills of several segments of which one is lost, swapped or damaged."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from spillcache.errors import SpillCorrupt, SpillLost, SpillNotFound
from spillcache.frame import SEGMENT_BYTES, SEGMENT_CHUNKS
from spillcache.sync import SpillCache
from tests.cache.faults import DAMAGES, Stored, flip
from tests.servers.caches import noise, sync_cache_on

PAYLOAD = noise(2 * SEGMENT_BYTES + 50_000)
BUDGET = 700_000


@pytest.fixture
def cache(redis_url: str) -> Iterator[SpillCache]:
    """A cache with large pages."""
    with sync_cache_on(redis_url, budget_bytes=BUDGET) as made:
        yield made


@pytest.fixture
def stored(redis_url: str, cache: SpillCache) -> Iterator[Stored]:
    """A spill of three segments, the last one small."""
    with redis.Redis.from_url(redis_url) as admin:
        yield Stored(admin, cache.put(PAYLOAD).spill_id)


@pytest.mark.parametrize("segment", range(3))
def test_a_segment_that_is_lost_under_way_ends_the_walk_where_it_begins(
    cache: SpillCache, stored: Stored, segment: int
) -> None:
    """All that was served is exact, nothing of the lost segment or beyond is served, nothing says COMPLETE."""
    page = cache.page(stored.spill_id)
    stored.drop(segment)
    served = page.data
    with pytest.raises(SpillLost):  # noqa: PT012 - the walk itself is what must raise, at some page of it
        for later in cache.walk(stored.spill_id, cursor=page.next_cursor):
            assert later.status == "PARTIAL"
            served += later.data
    assert PAYLOAD.startswith(served)
    assert len(served) == max(len(page.data), segment * SEGMENT_BYTES)


@pytest.mark.parametrize("segment", range(3))
def test_a_segment_that_is_lost_before_the_first_page_is_found_by_it(
    cache: SpillCache, stored: Stored, segment: int
) -> None:
    """Page 1 and a whole read raise before any byte is served."""
    stored.drop(segment)
    error = SpillLost if segment else SpillNotFound
    for read in (cache.page, cache.fetch, cache.inventory, cache.stat):
        with pytest.raises(error):
            read(stored.spill_id)


@pytest.mark.parametrize("field", ["m", "0"])
def test_a_field_of_another_segment_is_corrupt(cache: SpillCache, stored: Stored, field: str) -> None:
    """Manifest copies differ by their seal, chunks of the same number by their place."""
    cursor = _cursor_into(cache, stored.spill_id, 1)
    one, two = stored.fields(1)[field], stored.fields(2)[field]
    for wrong in (two, stored.fields(0)[field]):
        stored.set(field, wrong, 1)
        with pytest.raises(SpillCorrupt):
            cache.page(stored.spill_id, cursor=cursor)
    stored.set(field, one, 1)
    assert cache.page(stored.spill_id, cursor=cursor).start >= SEGMENT_BYTES


def test_two_segments_that_changed_places_are_corrupt(cache: SpillCache, stored: Stored) -> None:
    """Whole hashes under each other's key."""
    cursor = _cursor_into(cache, stored.spill_id, 1)
    first, second = stored.fields(0), stored.fields(1)
    for field in (str(index) for index in range(0, SEGMENT_CHUNKS, 16)):
        stored.set(field, second[field], 0)
        stored.set(field, first[field], 1)
    stored.set("m", second["m"], 0)
    stored.set("m", first["m"], 1)
    for at in (None, cursor):
        with pytest.raises(SpillCorrupt):
            cache.page(stored.spill_id, cursor=at)


@pytest.mark.parametrize("how", DAMAGES)
def test_each_segments_manifest_is_checked_where_it_is_read(cache: SpillCache, stored: Stored, how: str) -> None:
    """A damaged copy is told by the pages of its own segment; a lost one as well."""
    damage, error = DAMAGES[how]
    cursor = _cursor_into(cache, stored.spill_id, 2)
    stored.damage("m", damage, 2)
    with pytest.raises(error):
        cache.page(stored.spill_id, cursor=cursor)
    stored.lose("m", 2)
    with pytest.raises(SpillLost):
        cache.page(stored.spill_id, cursor=cursor)


def test_a_whole_read_finds_a_chunk_that_is_damaged_anywhere(cache: SpillCache, stored: Stored) -> None:
    """In the first, a middle and the last chunk of each segment."""
    for segment, chunks in enumerate((SEGMENT_CHUNKS, SEGMENT_CHUNKS, 4)):
        for index in (0, chunks // 2, chunks - 1):
            sound = stored.fields(segment)[str(index)]
            stored.damage(str(index), flip(1 + index), segment)
            with pytest.raises(SpillCorrupt):
                cache.fetch(stored.spill_id)
            stored.set(str(index), sound, segment)
    assert cache.fetch(stored.spill_id) == PAYLOAD


def _cursor_into(cache: SpillCache, spill_id: str, segment: int) -> str:
    for page in cache.walk(spill_id):
        if page.end >= segment * SEGMENT_BYTES and page.next_cursor:
            return page.next_cursor
    raise AssertionError("the walk does not reach that segment")
