"""Ranges of a payload, for programs: exactly the bytes asked for, or an error."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import redis
from hypothesis import given, settings
from hypothesis import strategies as st

from spillcache import SpillCache
from spillcache.errors import ArgumentsInvalid, SpillLost
from spillcache.frame import CHUNK_BYTES, SEGMENT_CHUNKS
from tests.servers.caches import cache_on, key_of, noise, sync_cache_on

SEGMENT = CHUNK_BYTES * SEGMENT_CHUNKS


@pytest.fixture
async def cache(redis_url: str) -> AsyncIterator[SpillCache]:
    """A cache on a server that works."""
    async with cache_on(redis_url) as made:
        yield made


async def _span(cache: SpillCache, spill_id: str, start: int, end: int) -> bytes:
    return b"".join([block async for block in cache.span(spill_id, start, end)])


def test_any_range_is_exactly_its_bytes(redis_url: str) -> None:
    """Within a chunk, over chunk edges, over a segment's edge, empty, and all of it."""
    payload = noise(SEGMENT + 5 * CHUNK_BYTES + 7)
    edges = [0, 1, CHUNK_BYTES, 64 * CHUNK_BYTES, SEGMENT, len(payload)]
    places = st.one_of(
        st.integers(0, len(payload)),
        st.sampled_from(edges).flatmap(lambda edge: st.integers(max(0, edge - 2), min(len(payload), edge + 2))),
    )
    with sync_cache_on(redis_url) as cache:
        spill_id = cache.put(payload).spill_id

        @settings(max_examples=60, deadline=None)
        @given(places, places)
        def check(one: int, other: int) -> None:
            start, end = sorted((one, other))
            assert b"".join(cache.span(spill_id, start, end)) == payload[start:end]

        check()
        assert b"".join(cache.span(spill_id, 0, len(payload))) == payload


@pytest.mark.parametrize(("start", "end"), [(-1, 3), (3, 2), (0, 101), (101, 101)])
async def test_a_range_outside_the_payload_is_an_error(cache: SpillCache, start: int, end: int) -> None:
    """Never fewer bytes than were asked for."""
    envelope = await cache.put(noise(100))
    with pytest.raises(ArgumentsInvalid, match="100"):
        await _span(cache, envelope.spill_id, start, end)


async def test_a_range_in_a_spill_of_which_a_part_is_gone_is_lost(cache: SpillCache, redis_url: str) -> None:
    """Also where the missing part lies outside the range: the spill is no longer whole."""
    envelope = await cache.put(noise(2 * SEGMENT))
    with redis.Redis.from_url(redis_url) as client:
        client.delete(key_of(envelope.spill_id, 1))
    with pytest.raises(SpillLost):
        await _span(cache, envelope.spill_id, 0, 10)
