"""The lease: what reads renew, what they leave alone, and how expired is told from lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import redis

from spillcache import SpillCache
from spillcache.errors import SpillExpired, SpillLost, SpillNotFound
from spillcache.frame import SEGMENT_BYTES
from spillcache.watch import Watcher
from tests.servers.caches import cache_on, gather, key_of, metrics, noise
from tests.servers.proxy import Command, Fate, proxy
from tests.servers.waiting import until

NOW = 1_800_000_000.0


@dataclass(slots=True)
class Clock:
    """A clock that a test sets."""

    now: float = NOW

    def __call__(self) -> float:
        """Unix seconds."""
        return self.now


class _RoundTrips(Watcher):
    """Notes each operation on Redis: it is one round trip."""

    def __init__(self) -> None:
        self.operations: list[str] = []

    def redis_used(self, operation: str, waited_s: float, took_s: float) -> None:
        """Note it."""
        self.operations.append(operation)


@pytest.fixture
def admin(redis_url: str) -> Iterator[redis.Redis]:
    """The test's own connection."""
    with redis.Redis.from_url(redis_url) as client:
        yield client


def ttl_of(admin: redis.Redis, spill_id: str, segment: int = 0) -> int:
    """A segment's TTL in whole seconds, rounded up."""
    return -(-int(admin.pttl(key_of(spill_id, segment))) // 1000)


def shorten(admin: redis.Redis, spill_id: str, segments: int = 1) -> None:
    """Make the segments look as if time had passed: 100 s are left."""
    for segment in range(segments):
        assert admin.pexpire(key_of(spill_id, segment), 100_000)


async def test_a_read_renews_all_segments_once_a_quarter_has_passed(redis_url: str, admin: redis.Redis) -> None:
    """Not before; and then the segments that this page does not touch as well."""
    clock = Clock()
    async with cache_on(redis_url, clock=clock, ttl_s=900) as cache:
        page = await cache.page((await cache.put(noise(SEGMENT_BYTES + 1))).spill_id)
        shorten(admin, page.spill_id, 2)
        clock.now += 224
        page = await cache.page(page.spill_id, cursor=page.next_cursor)
        assert [ttl_of(admin, page.spill_id, segment) for segment in range(2)] == [100, 100]
        clock.now += 1
        page = await cache.page(page.spill_id, cursor=page.next_cursor)
        assert [ttl_of(admin, page.spill_id, segment) for segment in range(2)] == [1200, 1200]
        shorten(admin, page.spill_id, 2)
        clock.now += 224
        await cache.page(page.spill_id, cursor=page.next_cursor)
        assert ttl_of(admin, page.spill_id) == 100


@pytest.mark.parametrize("first", ["page", "result", "inventory", "fetch"])
async def test_whatever_begins_a_reading_renews(redis_url: str, admin: redis.Redis, first: str) -> None:
    """A first cursor is minted for a lease that is whole."""
    async with cache_on(redis_url) as cache:
        spill_id = (await cache.put(metrics())).spill_id
        shorten(admin, spill_id)
        await begin(cache, first, spill_id)
        assert ttl_of(admin, spill_id) == 1200


@pytest.mark.parametrize("first", ["page", "inventory", "fetch", "stat"])
async def test_whatever_begins_a_reading_finds_a_lost_segment(redis_url: str, admin: redis.Redis, first: str) -> None:
    """Before the agent has read anything."""
    async with cache_on(redis_url) as cache:
        spill_id = (await cache.put(noise(SEGMENT_BYTES + 1))).spill_id
        admin.delete(key_of(spill_id, 1))
        with pytest.raises(SpillLost):
            await begin(cache, first, spill_id)


async def test_asking_about_a_spill_does_not_renew_it(redis_url: str, admin: redis.Redis) -> None:
    """`stat` says how long the lease lasts and leaves it so."""
    async with cache_on(redis_url) as cache:
        spill_id = (await cache.put(metrics())).spill_id
        shorten(admin, spill_id)
        assert 99 < (await cache.stat(spill_id)).lease_left_s <= 100
        assert ttl_of(admin, spill_id) == 100


async def test_beyond_the_maximum_age_nothing_renews_and_nothing_is_shortened(
    redis_url: str, admin: redis.Redis
) -> None:
    """The spill stays readable to the end of its last lease, and no longer."""
    clock = Clock()
    async with cache_on(redis_url, clock=clock, max_age_s=0.001) as cache:
        spill_id = (await cache.put(metrics())).spill_id
        _wait_a_millisecond(admin)
        assert admin.pexpire(key_of(spill_id), 5_000_000)
        page = await cache.page(spill_id)
        clock.now += 1_000
        await cache.page(spill_id, cursor=page.next_cursor)
        assert ttl_of(admin, spill_id) == 5_000
        assert (await gather(cache.walk(spill_id)))[0] == metrics()


async def test_an_old_spill_of_which_a_segment_is_gone_is_lost(redis_url: str, admin: redis.Redis) -> None:
    """Though nothing renews it, a page 1 still looks whether all of it is there."""
    async with cache_on(redis_url, max_age_s=0.001) as cache:
        spill_id = (await cache.put(noise(SEGMENT_BYTES + 1))).spill_id
        _wait_a_millisecond(admin)
        admin.delete(key_of(spill_id, 1))
        with pytest.raises(SpillLost):
            await cache.page(spill_id)


async def test_a_renewal_that_fails_leaves_the_page_served_and_the_next_one_tries_again(
    redis_url: str, admin: redis.Redis
) -> None:
    """A server that drops connections at PEXPIRE costs no page; the stamp stays old."""
    clock = Clock()
    with proxy(redis_url) as between:
        async with cache_on(between.url, clock=clock) as cache:
            page = await cache.page((await cache.put(metrics())).spill_id)
            shorten(admin, page.spill_id)
            clock.now += 300
            between.watch(_cut_renewals)
            page = await cache.page(page.spill_id, cursor=page.next_cursor)
            assert metrics()[page.start : page.end] == page.data
            assert ttl_of(admin, page.spill_id) == 100
            between.watch()
            await cache.page(page.spill_id, cursor=page.next_cursor)
            assert ttl_of(admin, page.spill_id) == 1200


async def test_the_first_page_of_a_result_takes_two_round_trips(redis_url: str, admin: redis.Redis) -> None:
    """The second brings its chunks and renews the lease of every segment; the server's clock is not asked again."""
    watcher = _RoundTrips()
    with proxy(redis_url) as between:
        async with cache_on(between.url, watcher=watcher) as cache:
            spill_id = (await cache.put(metrics())).spill_id
            shorten(admin, spill_id)
            watcher.operations.clear()
            between.watch()
            await cache.page(spill_id, result=1)
            assert [name for name in between.names if name in {"HMGET", "PEXPIRE", "TIME"}] == [
                "HMGET",
                "HMGET",
                "PEXPIRE",
            ]
            assert watcher.operations == ["read", "read_renewing"]
            assert ttl_of(admin, spill_id) == 1200


@pytest.mark.parametrize("failing", ["PEXPIRE", "TIME"])
async def test_the_first_page_of_a_result_is_served_where_only_its_renewal_fails(
    redis_url: str, admin: redis.Redis, failing: str
) -> None:
    """Then by a command of its own; the next page tries again."""
    with proxy(redis_url) as between:
        async with cache_on(redis_url) as writer:
            spill_id = (await writer.put(metrics())).spill_id
        shorten(admin, spill_id)
        async with cache_on(between.url) as cache:
            between.watch(lambda command: Fate.CUT if command.name == failing else Fate.FORWARD)
            page = await cache.page(spill_id, result=1, budget=2_000)
            assert metrics()[page.start : page.end] == page.data
            assert ttl_of(admin, spill_id) == 100
            between.watch()
            await cache.page(spill_id, cursor=page.next_cursor, budget=2_000)
            assert ttl_of(admin, spill_id) == 1200


async def test_a_first_page_of_a_result_finds_a_lost_segment(redis_url: str, admin: redis.Redis) -> None:
    """Also one that the result does not lie in; and a spill too old to renew is looked at all the same."""
    payload = _two_segments()
    for max_age_s in (3_600, 0.001):
        async with cache_on(redis_url, max_age_s=max_age_s) as cache:
            spill_id = (await cache.put(payload)).spill_id
            if max_age_s < 1:
                _wait_a_millisecond(admin)
            admin.pexpire(key_of(spill_id), 5_000_000)
            await cache.page(spill_id, result=1)
            assert ttl_of(admin, spill_id) == (1_200 if max_age_s > 1 else 5_000)
            admin.delete(key_of(spill_id, 1))
            with pytest.raises(SpillLost):
                await cache.page(spill_id, result=1)


async def test_a_segment_that_is_gone_is_lost_also_where_nothing_could_be_renewed(
    redis_url: str, admin: redis.Redis
) -> None:
    """The manifest was there a moment ago, so this did not expire."""
    with proxy(redis_url) as between:
        async with cache_on(between.url) as cache:
            spill_id = (await cache.put(_two_segments())).spill_id
            between.watch(_cut_renewals)
            assert (await cache.page(spill_id, result=60)).start > SEGMENT_BYTES
            admin.delete(key_of(spill_id, 1))
            with pytest.raises(SpillLost):
                await cache.page(spill_id, result=60)


async def test_a_spill_that_somebody_made_to_stay_is_read_beyond_its_maximum_age(
    redis_url: str, admin: redis.Redis
) -> None:
    """All of it is there, so it is not lost."""
    async with cache_on(redis_url, max_age_s=0.001) as cache:
        spill_id = (await cache.put(metrics())).spill_id
        _wait_a_millisecond(admin)
        admin.persist(key_of(spill_id))
        assert (await cache.page(spill_id)).start == 0
        assert (await cache.page(spill_id, result=1)).data
        await cache.delete(spill_id)


async def test_a_spill_whose_ttl_ran_out_is_expired_for_who_read_it_and_not_found_for_others(redis_url: str) -> None:
    """Never data, never an empty success: the agent is told to run the tool again."""
    async with cache_on(redis_url, ttl_s=1) as cache:
        page = await cache.page((await cache.put(metrics())).spill_id)
        with redis.Redis.from_url(redis_url) as admin:
            until(lambda: not admin.exists(key_of(page.spill_id)), "the spill expires")
        with pytest.raises(SpillExpired) as expired:
            await cache.page(page.spill_id, cursor=page.next_cursor)
        assert "Run the original tool again" in expired.value.next_step
        with pytest.raises(SpillNotFound):
            await cache.page(page.spill_id)


@pytest.mark.parametrize(("later", "error"), [(0, SpillLost), (899, SpillLost), (900, SpillExpired)])
async def test_expired_is_told_from_lost_by_the_cursors_stamp(
    redis_url: str, admin: redis.Redis, later: float, error: type[Exception]
) -> None:
    """Within its lease a spill that is gone was lost; after it, it expired."""
    clock = Clock()
    async with cache_on(redis_url, clock=clock, ttl_s=900) as cache:
        page = await cache.page((await cache.put(metrics())).spill_id)
        admin.delete(key_of(page.spill_id))
        clock.now += later
        with pytest.raises(error):
            await cache.page(page.spill_id, cursor=page.next_cursor)


@pytest.mark.parametrize("ttl_s", [60, 900])
async def test_replicas_whose_clocks_differ_by_minutes_serve_one_walk(
    redis_url: str, admin: redis.Redis, ttl_s: float
) -> None:
    """Pages in turn from replicas 90 s slow, right and 90 s fast: exact, COMPLETE, and the lease never shrinks."""
    clocks = [Clock(NOW + skew) for skew in (-90, 0, 90)]
    first, *_ = caches = [cache_on(redis_url, clock=clock, ttl_s=ttl_s) for clock in clocks]
    page = await first.page((await first.put(metrics())).spill_id)
    parts = [page.data]
    while page.next_cursor is not None:
        before = ttl_of(admin, page.spill_id)
        page = await caches[len(parts) % 3].page(page.spill_id, cursor=page.next_cursor)
        assert ttl_of(admin, page.spill_id) >= before - 1
        parts.append(page.data)
    assert (b"".join(parts), page.status) == (metrics(), "COMPLETE")
    for cache in caches:
        await cache.aclose()


async def begin(cache: SpillCache, how: str, spill_id: str) -> None:
    """Begin to read a spill."""
    if how == "result":
        await cache.page(spill_id, result=1)
    elif how == "page":
        await cache.page(spill_id)
    elif how == "inventory":
        await cache.inventory(spill_id)
    elif how == "stat":
        await cache.stat(spill_id)
    else:
        await cache.fetch(spill_id)


def _two_segments() -> bytes:
    """Sixty results of 90 KB: the last ones lie in the second segment."""
    return b'{"results":[%b]}' % b",".join(b'{"name":"%d","value":"%b"}' % (at, b"x" * 90_000) for at in range(60))


def _wait_a_millisecond(admin: redis.Redis) -> None:
    old = admin.time()
    until(lambda: admin.time() > (old[0], old[1] + 1_000), "the server's clock moves on")


def _cut_renewals(command: Command) -> Fate:
    return Fate.CUT if command.name == "PEXPIRE" else Fate.FORWARD
