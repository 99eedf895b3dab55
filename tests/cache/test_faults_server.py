"""A Redis that is down, hung, full, read-only, too old, evicting, or drops connections under a walk."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator

import pytest
import redis

from spillcache import SpillCache
from spillcache.errors import (
    ServerUnsupported,
    SpillError,
    SpillGone,
    SpillLost,
    StoreError,
    StoreFull,
    StoreUnavailable,
)
from tests.conftest import OwnServer
from tests.servers import topologies
from tests.servers.caches import cache_on, gather, keys, metrics, noise, sync_cache_on
from tests.servers.proxy import Fate, Proxy, from_number_on, only_number, proxy
from tests.servers.requirements import requires, server_binary

#: So long that only a hang reaches it: the deadlines under test are far shorter.
A_HANG_S = 20
MB = 1 << 20


@pytest.fixture
def between(redis_url: str) -> Iterator[Proxy]:
    """A relay in front of the server."""
    with proxy(redis_url) as running:
        yield running


async def every_verb_says(cache: SpillCache, spill_id: str, cursor: str | None, error: type[SpillError]) -> None:
    """Each verb raises `error`, with a next step, and says FAILED."""
    for verb in (
        lambda: cache.put(metrics()),
        lambda: cache.page(spill_id),
        lambda: cache.page(spill_id, cursor=cursor),
        lambda: cache.page(spill_id, result=1),
        lambda: cache.inventory(spill_id),
        lambda: cache.fetch(spill_id),
        lambda: cache.stat(spill_id),
        lambda: cache.delete(spill_id),
    ):
        with pytest.raises(error) as raised:
            await asyncio.wait_for(verb(), A_HANG_S)
        assert raised.value.as_dict()["status"] == "FAILED"
        assert "not empty data" in raised.value.next_step


async def test_a_server_that_is_down_is_unavailable_and_the_cache_recovers(own_server: OwnServer) -> None:
    """A replica starts without its store, says so on every call, and works once the store is there."""
    server = own_server()
    server.kill()
    async with cache_on(server.url) as cache:
        await every_verb_says(cache, "a" * 26, None, StoreUnavailable)
        server.restart()
        spill_id = (await cache.put(metrics())).spill_id
        page = await cache.page(spill_id)
        server.kill()
        await every_verb_says(cache, spill_id, page.next_cursor, StoreUnavailable)
        server.restart()  # empty: what was there is lost, and said to be
        with pytest.raises(SpillLost):
            await cache.page(spill_id, cursor=page.next_cursor)


async def test_a_server_that_hangs_is_given_up_at_the_deadline(own_server: OwnServer) -> None:
    """It accepts connections and bytes and answers nothing; afterwards the cache goes on."""
    server = own_server()
    async with cache_on(server.url, read_deadline_s=0.1, write_deadline_s=0.1) as cache:
        spill_id = (await cache.put(metrics())).spill_id
        page = await cache.page(spill_id)
        with server.paused():
            await every_verb_says(cache, spill_id, page.next_cursor, StoreUnavailable)
    async with cache_on(server.url) as cache:
        assert await cache.fetch(spill_id) == metrics()


def test_a_server_that_hangs_is_given_up_without_asyncio_as_well(own_server: OwnServer) -> None:
    """There the socket's timeout is the deadline."""
    server = own_server()
    with sync_cache_on(server.url, read_deadline_s=0.1, write_deadline_s=0.1) as cache:
        page = cache.page(cache.put(metrics()).spill_id)
        with server.paused():
            for verb in (lambda: cache.put(metrics()), lambda: cache.page(page.spill_id, cursor=page.next_cursor)):
                with pytest.raises(StoreUnavailable):
                    verb()


async def test_a_full_server_refuses_the_write_and_gets_everything_back(own_server: OwnServer) -> None:
    """Memory runs out in the middle: typed, no id is issued, what was stored is removed, reads go on."""
    server = own_server({"maxmemory": "8mb", "maxmemory-policy": "noeviction"})
    async with cache_on(server.url) as cache:
        small = await cache.put(metrics())
        before = keys(server.url)
        for _ in range(2):
            with pytest.raises(StoreFull) as raised:
                await cache.put(noise(12 * MB))
            assert raised.value.retryable
            assert keys(server.url) == before
        async with cache.writer() as writer:
            with pytest.raises(StoreFull):  # noqa: PT012 - at which block is the server's to say
                for _ in range(12):
                    await writer.write(noise(MB))
        assert keys(server.url) == before
        assert await cache.fetch(small.spill_id) == metrics()
        await cache.delete(small.spill_id)


@requires("server binary")
async def test_a_read_only_replica_serves_pages_and_refuses_writes() -> None:
    """Pages that need no renewal are served; a write is refused as unavailable, since a failover may be on."""
    with topologies.pair(server_binary()) as pair:
        async with cache_on(pair.primary.url) as primary, cache_on(pair.replica.url) as replica:
            spill_id = (await primary.put(metrics())).spill_id
            page = await primary.page(spill_id)
            with pair.primary.client() as admin:
                admin.wait(1, 5_000)
            rest = [later async for later in replica.walk(spill_id, cursor=page.next_cursor)]
            assert page.data + b"".join(later.data for later in rest) == metrics()
            with pytest.raises(StoreUnavailable):
                await replica.put(metrics())
            with pytest.raises(StoreUnavailable):
                await replica.delete(spill_id)


@pytest.mark.parametrize(("version", "refused"), [("5.0", True), ("6.1", True), ("6.2", False), ("10.0", False)])
async def test_a_server_before_6_2_is_refused_at_the_start(between: Proxy, version: str, refused: bool) -> None:
    """And at the first write of a cache that was not opened as a context."""
    pattern = re.compile(rb"(redis_version|valkey_version):(\d+)\.(\d+)\.\d+")

    def alter(reply: bytes) -> bytes:
        def older(found: re.Match[bytes]) -> bytes:
            text = b"%b:%b." % (found[1], version.encode())
            return text + b"0" * (len(found[0]) - len(text))  # as long as the server said it would be

        return pattern.sub(older, reply) if len(version) == 3 else reply

    between.alter = alter
    cache = cache_on(between.url)
    if refused:
        with pytest.raises(ServerUnsupported, match=version):
            await cache.put(metrics())
        with pytest.raises(ServerUnsupported, match=version):
            await cache.__aenter__()
    else:
        async with cache:
            assert await cache.fetch((await cache.put(metrics())).spill_id) == metrics()
    await cache.aclose()


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl", "allkeys-random"])
async def test_under_eviction_a_walk_is_exact_or_says_that_the_spill_is_gone(
    own_server: OwnServer, policy: str
) -> None:
    """Others fill a small server in the middle of walks, not at all up to several times over: none is ever short."""
    server = own_server({"maxmemory": "6mb", "maxmemory-policy": policy})
    payload = noise(600_000)
    outcomes: set[str] = set()
    async with cache_on(server.url, budget_bytes=100_000) as cache:
        for pressure in (0, 20, 40, 60, 80, 100, 150, 200, 800):
            try:
                spill_id = (await cache.put(payload)).spill_id
                end = 0
                async for page in cache.walk(spill_id):
                    assert page.data == payload[end : page.end]
                    assert (page.status == "COMPLETE") == (page.end == len(payload))
                    if end < 300_000 <= page.end:
                        _fill(server.url, pressure)
                    end = page.end
                assert end == len(payload)
                assert await cache.fetch(spill_id) == payload
                outcomes.add("whole")
            except SpillGone as error:
                outcomes.add(error.code)
    assert outcomes >= {"whole", "spill_lost"}


@pytest.mark.parametrize("fate", [Fate.CUT, Fate.LOSE_REPLY])
async def test_a_connection_that_ends_once_under_a_walk_is_not_noticed(between: Proxy, fate: Fate) -> None:
    """At each of its commands in turn: the client asks again, and the walk is exact."""
    async with cache_on(between.url, budget_bytes=20_000) as cache:
        spill_id = (await cache.put(metrics())).spill_id
        between.watch()
        await gather(cache.walk(spill_id))
        for number in range(len(between.seen)):
            between.watch(only_number(number, fate))
            data, last = await gather(cache.walk(spill_id))
            assert (data, last.status) == (metrics(), "COMPLETE")


async def test_a_server_gone_under_a_walk_ends_it_with_an_error_and_the_same_cursor_goes_on_later(
    between: Proxy,
) -> None:
    """At each of its commands in turn: what was served is exact, and nothing has to be read twice."""
    async with cache_on(between.url, budget_bytes=20_000) as cache:
        spill_id = (await cache.put(metrics())).spill_id
        between.watch()
        await gather(cache.walk(spill_id))
        for number in range(len(between.seen)):
            between.watch(from_number_on(number, Fate.CUT))
            served, cursor = b"", None
            try:
                async for page in cache.walk(spill_id):
                    assert page.status == "PARTIAL"
                    served, cursor = served + page.data, page.next_cursor
            except StoreError as error:
                assert error.code == "store_unavailable"  # noqa: PT017 - which page it comes at differs
            between.watch()
            rest, last = await gather(cache.walk(spill_id, cursor=cursor))
            assert (served + rest, last.status) == (metrics(), "COMPLETE")


async def test_flushing_the_servers_scripts_changes_nothing(redis_url: str) -> None:
    """There are none: no reading or writing depends on what a failover forgets."""
    async with cache_on(redis_url) as cache:
        page = await cache.page((await cache.put(metrics())).spill_id)
        with redis.Redis.from_url(redis_url) as admin:
            admin.script_flush()
        rest = [later async for later in cache.walk(page.spill_id, cursor=page.next_cursor)]
        assert page.data + b"".join(later.data for later in rest) == metrics()


def _fill(url: str, values: int) -> None:
    with redis.Redis.from_url(url) as client:
        pipeline = client.pipeline(transaction=False)
        for number in range(values):
            pipeline.set(f"filler:{number}:{values}", noise(50_000), ex=100_000)
        pipeline.execute()
