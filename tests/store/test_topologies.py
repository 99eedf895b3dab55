"""Cluster, Sentinel and replicas: one slot for a spill, failovers that are told, and writes that replicas confirm."""

from __future__ import annotations

import asyncio
import gc
import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import redis
from redis.crc import key_slot

from spillcache._async.connect import connect
from spillcache._async.store import Store
from spillcache.errors import ArgumentsInvalid, SpillGone, SpillLost, SpillNotFound, StoreUnavailable
from spillcache.frame import SEGMENT_BYTES
from spillcache.ids import new_id
from tests.servers import topologies
from tests.servers.caches import cache_on, gather, key_of, keys, metrics, noise, sync_cache_on
from tests.servers.proxy import Command, Fate, proxy
from tests.servers.requirements import requires, server_binary
from tests.servers.waiting import until

TWO_SEGMENTS = noise(SEGMENT_BYTES + 60_000)


def cluster_of(url: str) -> str:
    """The URL of the cluster that a node belongs to."""
    return url.replace("redis://", "redis+cluster://")


async def test_spills_in_a_cluster_come_back_whatever_their_tenant(cluster_url: str) -> None:
    """Written, walked, listed, fetched and deleted, of one segment and of two."""
    async with cache_on(cluster_of(cluster_url)) as cache:
        for payload, tenant in ((metrics(), "a{b}c"), (TWO_SEGMENTS, "{}"), (b"", "x")):
            spill_id = (await cache.put(payload, tenant=tenant)).spill_id
            data, last = await gather(cache.walk(spill_id, tenant=tenant, budget=200_000))
            assert (data, last.status) == (payload, "COMPLETE")
            assert await cache.fetch(spill_id, tenant=tenant) == payload
            await cache.inventory(spill_id, tenant=tenant)
            assert (await cache.stat(spill_id, tenant=tenant)).size == len(payload)
            await cache.delete(spill_id, tenant=tenant)
            with pytest.raises(SpillNotFound):
                await cache.page(spill_id, tenant=tenant)


async def test_a_spill_has_one_slot_and_spills_spread_over_the_cluster(
    cluster: topologies.Cluster, cluster_url: str
) -> None:
    """The hash tag is the spill's id: all its segments are on one node, and every node gets some spills."""
    async with cache_on(cluster_of(cluster_url)) as cache:
        large = (await cache.put(TWO_SEGMENTS)).spill_id
        assert len({key_slot(key_of(large, segment).encode()) for segment in range(2)}) == 1
        for _ in range(20):
            await cache.put(b"small")
    assert all(keys(node.url) for node in cluster.masters)


def test_the_cluster_works_without_asyncio_as_well(cluster_url: str) -> None:
    """The same from the generated side."""
    with sync_cache_on(cluster_of(cluster_url)) as cache:
        spill_id = cache.put(TWO_SEGMENTS).spill_id
        assert b"".join(page.data for page in cache.walk(spill_id, budget=200_000)) == TWO_SEGMENTS
        with cache.writer() as writer:
            writer.write(metrics())
            assert cache.fetch(writer.finish().spill_id) == metrics()
        cache.delete(spill_id)


async def test_a_slot_that_moves_under_a_walk_is_followed(cluster: topologies.Cluster, cluster_url: str) -> None:
    """Before, while and after its keys move: the walk is exact; nothing is asked of the reader."""
    async with cache_on(cluster_of(cluster_url), ttl_s=900) as cache:
        page = await cache.page((await cache.put(metrics())).spill_id)
        served = [page.data]
        for _ in _moving(cluster, page.spill_id):
            page = await cache.page(page.spill_id, cursor=page.next_cursor)
            served.append(page.data)
        rest = [later async for later in cache.walk(page.spill_id, cursor=page.next_cursor)]
    assert b"".join(served) + b"".join(later.data for later in rest) == metrics()
    assert rest[-1].status == "COMPLETE"


async def test_a_write_into_a_slot_that_moves_goes_elsewhere_under_a_fresh_id(
    cluster: topologies.Cluster, cluster_url: str
) -> None:
    """A key that is new to a slot half moved cannot be written in a transaction; one retry is enough."""
    first, neighbour = _two_ids_of_one_slot()
    with _written(cluster_url, neighbour) as spill_id:
        steps = _moving(cluster, spill_id)
        next(steps)
        given = iter([first, b"\7" * 15])
        async with cache_on(cluster_of(cluster_url), random=lambda _: next(given)) as cache:
            stored = (await cache.put(metrics())).spill_id
        assert stored == new_id(b"\7" * 15)
        assert [key for node in cluster.masters for key in keys(node.url) if new_id(first).encode() in key] == []
        assert list(steps)
        async with cache_on(cluster_of(cluster_url)) as cache:
            assert await cache.fetch(stored) == metrics()


@requires("server binary")
async def test_a_failover_under_sentinel_loses_a_spill_openly_or_keeps_it_whole() -> None:
    """The primary dies: calls are unavailable until another is chosen; what it had is exact or gone, never short."""
    with topologies.sentinels(server_binary()) as running:
        hosts = ",".join(f"{host}:{port}" for host, port in running.addresses)
        url = f"redis+sentinel://{hosts}/{running.service}"
        async with cache_on(url, wait_replicas=1) as careful, cache_on(url) as cache:
            kept = await careful.page((await careful.put(metrics())).spill_id)
            hasty = await cache.page((await cache.put(noise(50_000))).spill_id)
            with running.pair.primary.client() as admin:
                admin.wait(1, 5_000)
            with running.pair.replica.client() as admin:  # as if the last write had not come over
                admin.config_set("replica-read-only", "no")
                assert admin.delete(key_of(hasty.spill_id)) == 1
            running.pair.primary.kill()
            until(lambda: topologies.primary_ports(running) == {running.pair.replica.port}, "the replica is promoted")
            until(lambda: _is_primary(running.pair.replica.url), "the replica takes its part")
            rest = [page async for page in careful.walk(kept.spill_id, cursor=kept.next_cursor)]
            assert kept.data + b"".join(page.data for page in rest) == metrics()
            with pytest.raises(SpillLost):
                await cache.page(hasty.spill_id, cursor=hasty.next_cursor)
            assert await cache.fetch((await cache.put(metrics())).spill_id) == metrics()


@requires("server binary")
async def test_a_write_that_waits_for_its_replica_is_there_when_it_returns() -> None:
    """WAIT runs on the connection of the publishing transaction, so it means something."""
    with topologies.pair(server_binary()) as pair, proxy(pair.primary.url) as between:
        async with cache_on(between.url, wait_replicas=1) as cache:
            between.watch()
            spill_id = (await cache.put(TWO_SEGMENTS)).spill_id
            assert between.names[-8:] == ["MULTI", *("HLEN", "HSET", "PEXPIRE") * 2, "EXEC", "WAIT"][-8:]
        with pair.replica.client() as replica:
            assert replica.hexists(key_of(spill_id, 0), "m")
            assert replica.hexists(key_of(spill_id, 1), "m")


@requires("server binary")
async def test_a_write_that_no_replica_confirms_is_undone() -> None:
    """It raises, and nothing stays; a publication sent twice is still recognised."""
    with topologies.pair(server_binary()) as pair:
        with pair.replica.paused():
            async with cache_on(pair.primary.url, wait_replicas=1, read_deadline_s=0.2) as cache:
                with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
                    await cache.put(metrics())
        assert keys(pair.primary.url) == []
        with proxy(pair.primary.url) as between:
            async with cache_on(between.url, wait_replicas=1) as cache:
                between.watch(_lose_first_wait)
                spill_id = (await cache.put(metrics())).spill_id
                assert between.names.count("WAIT") == 2
                assert await cache.fetch(spill_id) == metrics()


async def test_waiting_for_replicas_is_refused_on_a_cluster(cluster_url: str) -> None:
    """There the client cannot keep WAIT on the connection of the write."""
    client = connect(cluster_of(cluster_url), deadline_s=1.0)
    with pytest.raises(ArgumentsInvalid, match="cluster"):
        Store(client, wait_replicas=1)
    await client.aclose()


# redis-py forgets nodes that it no longer knows of without closing its connections to them.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@requires("server binary")
def test_a_cluster_node_that_dies_takes_its_spills_openly() -> None:
    """Others go on being served; its own are unavailable, and typed so."""
    with topologies.cluster(server_binary(), config={"cluster-require-full-coverage": "no"}) as running:
        asyncio.run(_lose_a_node(running))
    gc.collect()  # so that it is in this test that what redis-py forgot is complained about


async def _lose_a_node(running: topologies.Cluster) -> None:
    async with cache_on(cluster_of(running.url)) as cache:
        pages = [await cache.page((await cache.put(metrics())).spill_id) for _ in range(24)]
        dead = running.masters[1]
        on_it = {key.split(b"{")[1].split(b"}")[0].decode() for key in keys(dead.url)}
        dead.kill()
        for page in pages:
            if page.spill_id in on_it:
                with pytest.raises((StoreUnavailable, SpillGone)):
                    await cache.page(page.spill_id, cursor=page.next_cursor)
            else:
                rest = [later async for later in cache.walk(page.spill_id, cursor=page.next_cursor)]
                assert page.data + b"".join(later.data for later in rest) == metrics()
        assert 0 < len(on_it) < 24


def _two_ids_of_one_slot() -> tuple[bytes, bytes]:
    """The random bytes of two ids whose spills lie in one slot."""
    seen: dict[int, bytes] = {}
    for number in itertools.count():
        random = number.to_bytes(15)
        slot = key_slot(key_of(new_id(random)).encode())
        if slot in seen:
            return seen[slot], random
        seen[slot] = random
    raise AssertionError


@contextmanager
def _written(url: str, random: bytes) -> Iterator[str]:
    with sync_cache_on(cluster_of(url), random=lambda _: random) as cache:
        yield cache.put(b"x").spill_id


def _moving(cluster: topologies.Cluster, spill_id: str) -> Iterator[str]:
    """Move a spill's slot to another master, a step at a time, and back."""
    slot = key_slot(key_of(spill_id).encode())
    source = next(node for node in cluster.masters if key_of(spill_id).encode() in keys(node.url))
    target = next(node for node in cluster.masters if node is not source)
    with source.client() as giving, target.client() as taking:
        ends = {giving: (taking, target.port), taking: (giving, source.port)}
        for giver in (giving, taking):
            taker, port = ends[giver]
            giver_id, taker_id = giver.execute_command("CLUSTER MYID"), taker.execute_command("CLUSTER MYID")
            taker.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", giver_id)
            giver.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", taker_id)
            yield "announced"
            while held := giver.execute_command("CLUSTER GETKEYSINSLOT", slot, 100):
                giver.execute_command("MIGRATE", "127.0.0.1", port, "", 0, 5_000, "KEYS", *held)
            yield "moved"
            taker.execute_command("CLUSTER SETSLOT", slot, "NODE", taker_id)  # first it, or nobody would own the slot
            for node in cluster.masters:
                with node.client() as told:
                    told.execute_command("CLUSTER SETSLOT", slot, "NODE", taker_id)
            yield "settled"


def _is_primary(url: str) -> bool:
    with redis.Redis.from_url(url) as client:
        return bool(client.info("replication")["role"] == "master")


def _lose_first_wait(command: Command) -> Fate:
    return Fate.LOSE_REPLY if command.name == "WAIT" and command.number < 12 else Fate.FORWARD
