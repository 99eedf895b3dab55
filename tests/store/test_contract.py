"""What the store promises of any server it works with: keys, TTLs, commands, publishing, renewing, removing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import redis

from spillcache import SpillCache
from spillcache._async.store import Store
from spillcache.errors import SpillLost, SpillNotFound
from spillcache.frame import SEGMENT_BYTES
from spillcache.ids import new_id
from tests.servers.caches import cache_on, gather, key_of, keys, metrics, noise, store_on
from tests.servers.proxy import Command, Fate, Proxy, proxy

TTL_MS = 60_000
ID = new_id(bytes(range(15)))


@pytest.fixture
def admin(redis_url: str) -> Iterator[redis.Redis]:
    """The test's own connection."""
    with redis.Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
def between(redis_url: str) -> Iterator[Proxy]:
    """A relay in front of the server."""
    with proxy(redis_url) as running:
        yield running


@pytest.fixture
async def store(between: Proxy) -> AsyncIterator[Store]:
    """A store whose commands `between` sees."""
    made = store_on(between.url)
    yield made
    await made.aclose()


@pytest.fixture
async def cache(between: Proxy) -> AsyncIterator[SpillCache]:
    """A cache whose commands `between` sees."""
    async with cache_on(between.url) as made:
        yield made


def ttls(client: redis.Redis) -> set[int]:
    """The TTLs of all keys in whole seconds, rounded up."""
    return {-(-int(client.pttl(key)) // 1000) for key in client.scan_iter()}


async def test_a_spill_is_hashes_of_256_chunks_under_its_own_hash_tag(cache: SpillCache, admin: redis.Redis) -> None:
    """Segment 0 has inventory, summary and series beside the manifest, which every segment has, and nothing else."""
    spill_id = (await cache.put(noise(SEGMENT_BYTES + 1))).spill_id
    assert set(admin.keys()) == {key_of(spill_id, 0).encode(), key_of(spill_id, 1).encode()}
    first = {str(index).encode() for index in range(256)} | {b"m", b"inv", b"meta", b"series", b"has"}
    assert set(admin.hkeys(key_of(spill_id, 0))) == first
    assert set(admin.hkeys(key_of(spill_id, 1))) == {b"0", b"m"}


@pytest.mark.parametrize("size", [0, 1, SEGMENT_BYTES, SEGMENT_BYTES + 1])
async def test_every_size_comes_back(cache: SpillCache, size: int) -> None:
    """An empty payload, one byte, a full segment and one byte more are stored and read exactly."""
    spill_id = (await cache.put(noise(size))).spill_id
    data, last = await gather(cache.walk(spill_id, budget=1 << 20))
    assert (data, last.status) == (noise(size), "COMPLETE")
    assert await cache.fetch(spill_id) == noise(size)


async def test_every_key_gets_four_thirds_of_the_advertised_lease(redis_url: str, admin: redis.Redis) -> None:
    """A reader that comes just before a quarter has passed, and does not renew, still leaves a whole lease."""
    async with cache_on(redis_url, ttl_s=300) as cache:
        envelope = await cache.put(noise(SEGMENT_BYTES + 1))
        assert envelope.expires_in_s == 300
        assert ttls(admin) == {400}


async def test_no_field_is_larger_than_a_frame(cache: SpillCache, admin: redis.Redis) -> None:
    """Stored chunks stay below the allocator's class, even where they do not compress."""
    spill_id = (await cache.put(noise(200_000))).spill_id
    sizes = [len(value) for name, value in admin.hgetall(key_of(spill_id)).items() if name.isdigit()]
    assert max(sizes) <= 16 * 1024 - 64


async def test_a_page_by_cursor_is_one_hmget(cache: SpillCache, between: Proxy) -> None:
    """No page of a walk but the first takes more than one command while the lease is young."""
    page = await cache.page((await cache.put(metrics())).spill_id)
    while page.next_cursor is not None:
        between.watch()
        page = await cache.page(page.spill_id, cursor=page.next_cursor)
        assert between.names == ["HMGET"]


async def test_a_walk_over_a_segments_edge_takes_one_hmget_a_page(cache: SpillCache, between: Proxy) -> None:
    """A page never crosses a segment, which would take a second command."""
    payload = noise(SEGMENT_BYTES + 50_000)
    page = await cache.page((await cache.put(payload)).spill_id, budget=500_000)
    parts = [page.data]
    while page.next_cursor is not None:
        between.watch()
        page = await cache.page(page.spill_id, cursor=page.next_cursor, budget=500_000)
        parts.append(page.data)
        assert between.names == ["HMGET"]
    assert b"".join(parts) == payload


async def test_nothing_is_readable_before_it_is_published(store: Store, admin: redis.Redis) -> None:
    """Frames alone make no spill: there is no manifest; and each write of frames carries its TTL."""
    await store.write_frames(ID, 0, {"0": b"frame"}, TTL_MS)
    assert await store.read(ID, 0, ["m", "0"]) == [None, b"frame"]
    assert ttls(admin) == {60}


async def test_frames_and_their_ttl_are_one_transaction(store: Store, between: Proxy) -> None:
    """There is no moment at which a key exists without a TTL."""
    between.watch()
    await store.write_frames(ID, 0, {"0": b"frame"}, TTL_MS)
    assert between.names == ["MULTI", "HSET", "PEXPIRE", "EXEC"]


async def test_publishing_is_one_transaction_from_the_last_segment_to_the_first(store: Store, between: Proxy) -> None:
    """Whoever sees segment 0 published can count on all others."""
    for segment in range(3):
        await store.write_frames(ID, segment, {"0": b"frame"}, TTL_MS)
    between.watch()
    await store.publish(ID, [1, 1, 1], [{"m": b"manifest"}] * 3, TTL_MS)
    assert between.names == ["MULTI", *("HLEN", "HSET", "PEXPIRE") * 3, "EXEC"]
    keys_in_order = [command.key.decode() for command in between.seen[1:-1:3]]
    assert keys_in_order == [key_of(ID, 2), key_of(ID, 1), key_of(ID, 0)]


@pytest.mark.parametrize("damage", ["a field", "a segment"])
async def test_publishing_finds_what_was_lost_since_it_was_written(
    store: Store, admin: redis.Redis, damage: str
) -> None:
    """A frame or a segment that is gone is told by the length of its hash."""
    for segment in range(2):
        await store.write_frames(ID, segment, {"0": b"one", "1": b"two"}, TTL_MS)
    if damage == "a field":
        admin.hdel(key_of(ID, 1), "1")
    else:
        admin.delete(key_of(ID, 0))
    with pytest.raises(SpillLost):
        await store.publish(ID, [2, 2], [{"m": b"m", "inv": b"i"}, {"m": b"m"}], TTL_MS)


async def test_a_publication_that_was_sent_twice_is_recognised_as_our_own(store: Store, between: Proxy) -> None:
    """When the reply to the last transaction is lost the client sends it again; that is no loss."""
    await store.write_frames(ID, 0, {"0": b"frame"}, TTL_MS)
    lost: list[int] = []

    def lose_first_exec(command: Command) -> Fate:
        if command.name == "EXEC" and not lost:
            lost.append(command.number)
            return Fate.LOSE_REPLY
        return Fate.FORWARD

    between.watch(lose_first_exec)
    await store.publish(ID, [1], [{"m": b"manifest", "inv": b"i"}], TTL_MS)
    assert between.names.count("EXEC") == 2
    assert await store.read(ID, 0, ["m"]) == [b"manifest"]


async def test_renewing_renews_every_segment_or_says_that_one_is_gone(store: Store, admin: redis.Redis) -> None:
    """All or none: a spill of which one segment is gone is not kept alive as if it were whole."""
    for segment in range(3):
        await store.write_frames(ID, segment, {"0": b"frame"}, 10_000)
    assert await store.renew(ID, 3, TTL_MS)
    assert ttls(admin) == {60}
    admin.delete(key_of(ID, 1))
    assert not await store.renew(ID, 3, TTL_MS)
    assert await store.lease_left_ms(ID, 3) <= 0
    with pytest.raises(SpillLost):
        await store.keep(ID, range(3), TTL_MS)


async def test_the_servers_clock_is_asked_once_a_minute(
    store: Store, between: Proxy, admin: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And counted on in between."""
    between.watch()
    told = await store.now_ms(ID)
    assert abs(told - admin.time()[0] * 1000) < 10_000
    clock = store._clocks[""]
    store._clocks[""] = clock._replace(heard=clock.heard - 30)
    assert 30_000 <= await store.now_ms(ID) - told < 40_000
    assert between.names.count("TIME") == 1
    monkeypatch.setattr("spillcache._async.store._CLOCK_S", 0)
    await store.now_ms(ID)
    assert between.names.count("TIME") == 2


async def test_removing_uses_a_command_for_each_segment(store: Store, between: Proxy, redis_url: str) -> None:
    """Neither a full server, which refuses transactions, nor a half-moved slot can then refuse it."""
    for segment in range(3):
        await store.write_frames(ID, segment, {"0": b"frame"}, TTL_MS)
    between.watch()
    assert await store.unlink(ID, 3) == 3
    assert between.names == ["UNLINK"] * 3
    assert keys(redis_url) == []


async def test_deleting_a_spill_removes_every_segment(cache: SpillCache, redis_url: str) -> None:
    """Afterwards the spill is not found, also not by a second deletion."""
    spill_id = (await cache.put(noise(2 * SEGMENT_BYTES + 1))).spill_id
    assert len(keys(redis_url)) == 3
    await cache.delete(spill_id)
    assert keys(redis_url) == []
    for verb in (cache.delete, cache.page, cache.stat, cache.fetch, cache.inventory):
        with pytest.raises(SpillNotFound):
            await verb(spill_id)


async def test_two_spills_of_the_same_payload_share_nothing(cache: SpillCache) -> None:
    """Deleting one leaves the other whole."""
    one, other = [(await cache.put(metrics())).spill_id for _ in range(2)]
    await cache.delete(one)
    assert await cache.fetch(other) == metrics()


async def test_another_prefix_is_another_world(redis_url: str) -> None:
    """Deployments that share a server do not see each other's spills."""
    async with cache_on(redis_url) as ours, cache_on(redis_url, prefix="other") as theirs:
        spill_id = (await ours.put(metrics())).spill_id
        with pytest.raises(SpillNotFound):
            await theirs.page(spill_id)
        other = (await theirs.put(metrics())).spill_id
        assert f"other:{{{other}}}:0".encode() in keys(redis_url)
