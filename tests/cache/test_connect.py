"""From a URL to a cache that behaves: schemes, options, credentials, TLS with verification, an embedded server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import redis as sync_redis
from redis.asyncio import Redis, RedisCluster
from redis.asyncio.sentinel import SentinelConnectionPool

from spillcache import SpillCache
from spillcache._async.connect import connect
from spillcache.errors import ArgumentsInvalid, KeyringInvalid, SpillError, StoreUnavailable
from spillcache.sync import SpillCache as SyncSpillCache
from tests.conftest import OwnServer
from tests.servers.caches import KEYRING, cache_on, gather, metrics, sync_cache_on
from tests.servers.process import Admin
from tests.servers.requirements import requires
from tests.servers.tls import make_certificates, tls

BOTH: list[Callable[..., object]] = [cache_on, sync_cache_on]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost",
        "localhost:6379",
        "http://localhost",
        "redis+nonsense://localhost",
        "redis+sentinel://localhost:26379",
        "redis+sentinel://localhost:26379/",
        "redis://localhost:port",
        "redis+cluster://localhost:port",
        "redis://localhost:99999999",
        "redis://localhost?socket_timeout=soon",
        "redis+sentinel://localhost/service/database",
    ],
)
@pytest.mark.parametrize("make", BOTH)
def test_a_url_that_is_none_is_refused_at_once(make: Callable[..., object], url: str) -> None:
    """With a typed error, before anything is connected; its words do not repeat what may hold a password."""
    with pytest.raises(ArgumentsInvalid) as raised:
        make(url)
    assert "port" not in raised.value.message
    assert "soon" not in raised.value.message


async def test_several_hosts_a_service_and_a_database_are_understood() -> None:
    """`redis+sentinel://a:26379,b/service/2` and `rediss+cluster://user:secret@a,b:7000`."""
    sentinel = connect("redis+sentinel://user:secret@a:26380,b/service/2?client_name=x", deadline_s=1.0)
    assert isinstance(sentinel, Redis)
    pool = sentinel.connection_pool
    assert isinstance(pool, SentinelConnectionPool)
    assert (pool.service_name, pool.connection_kwargs["db"]) == ("service", 2)
    assert (pool.connection_kwargs["username"], pool.connection_kwargs["password"]) == ("user", "secret")
    assert pool.connection_kwargs["client_name"] == "x"
    hosts = [one.connection_pool.connection_kwargs for one in pool.sentinel_manager.sentinels]
    assert [(kwargs["host"], kwargs["port"]) for kwargs in hosts] == [("a", 26380), ("b", 26379)]
    clustered = connect("rediss+cluster://user:secret@a,b:7000", deadline_s=1.0)
    assert isinstance(clustered, RedisCluster)
    assert clustered.connection_kwargs["password"] == "secret"  # noqa: S105 - made up here
    assert {node.name for node in clustered.startup_nodes} == {"a:6379", "b:7000"}
    for client in (sentinel, clustered):
        await client.aclose()


@pytest.mark.parametrize("scheme", ["redis", "redis+cluster", "redis+sentinel"])
async def test_where_nobody_listens_every_scheme_is_unavailable(scheme: str) -> None:
    """A cache opens, so that a replica can start, and each call is refused with a typed error."""
    async with cache_on(f"{scheme}://127.0.0.1:1{_path(scheme)}") as cache:
        with pytest.raises(StoreUnavailable):
            await cache.put(b"x")


@pytest.mark.parametrize("scheme", ["redis", "redis+sentinel"])
def test_where_nobody_listens_every_scheme_is_unavailable_without_asyncio(scheme: str) -> None:
    """The same; a list of Sentinels is gone through once, not ten times."""
    with sync_cache_on(f"{scheme}://127.0.0.1:1{_path(scheme)}") as cache, pytest.raises(StoreUnavailable):
        cache.put(b"x")


def test_a_cluster_that_cannot_be_reached_is_told_when_its_client_is_made() -> None:
    """Without asyncio redis-py looks for the nodes at once; the error is ours all the same."""
    with pytest.raises(StoreUnavailable):
        sync_cache_on("redis+cluster://127.0.0.1:1")


def _path(scheme: str) -> str:
    return "/service" if scheme.endswith("sentinel") else ""


async def test_a_unix_socket_serves(own_server: OwnServer, tmp_path: Path) -> None:
    """`unix://` as redis-py knows it."""
    socket = tmp_path / "s"
    own_server({"unixsocket": str(socket)})
    async with cache_on(f"unix://{socket}") as cache:
        assert await cache.fetch((await cache.put(metrics())).spill_id) == metrics()
    with sync_cache_on(f"unix://{socket}") as sync:
        assert sync.fetch(sync.put(metrics()).spill_id) == metrics()


async def test_a_login_with_characters_that_a_url_escapes_works(own_server: OwnServer) -> None:
    """User and password are taken out of the URL as redis-py does it."""
    server = own_server({"user": ["default off", "me on >p@ss/w%rd ~* +@all"]}, admin=Admin("me", "p%40ss%2Fw%25rd"))
    async with cache_on(server.url) as cache:
        assert await cache.fetch((await cache.put(metrics())).spill_id) == metrics()
    async with cache_on(server.url.replace("me:", "me:x")) as stranger:
        with pytest.raises(StoreUnavailable, match="credentials"):
            await stranger.put(metrics())


async def test_tls_is_verified(own_server: OwnServer, tmp_path: Path) -> None:
    """A trusted authority serves; an unknown one, and a certificate for another name, are refused on both sides."""
    plain = own_server()
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with tls(plain, make_certificates(tmp_path / "a")) as trusted:
        async with cache_on(trusted.url) as cache:
            spill_id = (await cache.put(metrics())).spill_id
            assert (await gather(cache.walk(spill_id)))[0] == metrics()
        with sync_cache_on(trusted.url) as sync:
            assert sync.fetch(spill_id) == metrics()
        await _both_refuse(f"rediss://127.0.0.1:{trusted.port}")
        async with cache_on(f"rediss://127.0.0.1:{trusted.port}?ssl_cert_reqs=none") as careless:
            assert await careless.fetch(spill_id) == metrics()
    with tls(plain, make_certificates(tmp_path / "b", names=["localhost"], addresses=[])) as named:
        await _both_refuse(named.url)
        async with cache_on(named.url.replace("127.0.0.1", "localhost")) as by_name:
            assert await by_name.fetch(spill_id) == metrics()


async def test_a_client_of_ones_own_serves_as_well(redis_url: str) -> None:
    """With whatever pool, protocol and retries it has."""
    client = Redis.from_url(redis_url, protocol=3, max_connections=4)
    async with SpillCache.from_client(client, keyring=KEYRING) as cache:
        spill_id = (await cache.put(metrics())).spill_id
        assert (await gather(cache.walk(spill_id)))[0] == metrics()
    with SyncSpillCache.from_client(sync_redis.Redis.from_url(redis_url), keyring=KEYRING) as sync:
        assert sync.fetch(spill_id) == metrics()


@requires("server binary")
async def test_an_embedded_cache_serves_and_ends_with_its_block() -> None:
    """With a key of its own; what one stored, no other embedded cache has."""
    async with SpillCache.embedded() as cache, SpillCache.embedded() as other:
        page = await cache.page((await cache.put(metrics())).spill_id)
        assert (await gather(cache.walk(page.spill_id, cursor=page.next_cursor)))[1].status == "COMPLETE"
        with pytest.raises(SpillError):
            await other.page(page.spill_id)
    with pytest.raises(SpillError):
        await cache.page(page.spill_id)


async def test_only_what_signs_needs_a_key(redis_url: str) -> None:
    """A worker need not hold the secret; who asks for pages without one is refused, not served unsigned cursors."""
    async with SpillCache.from_url(redis_url, keyring=None) as worker, cache_on(redis_url) as replica:
        spill_id = (await worker.put(metrics())).spill_id
        with pytest.raises(KeyringInvalid):
            await worker.page(spill_id)
        assert await worker.fetch(spill_id) == metrics()
        assert (await worker.stat(spill_id)).size == len(metrics())
        assert (await gather(replica.walk(spill_id)))[0] == metrics()


async def test_any_process_with_the_ring_goes_on_with_a_walk(redis_url: str) -> None:
    """Each page from another cache that knows nothing but URL and key ring."""
    async with cache_on(redis_url) as writer:
        page = await writer.page((await writer.put(metrics())).spill_id)
    parts = [page.data]
    while page.next_cursor is not None:
        async with cache_on(redis_url) as replica:
            page = await replica.page(page.spill_id, cursor=page.next_cursor)
        parts.append(page.data)
    assert (b"".join(parts), page.status) == (metrics(), "COMPLETE")


async def _both_refuse(url: str) -> None:
    async with cache_on(url) as cache:
        with pytest.raises(StoreUnavailable):
            await cache.put(metrics())
    with sync_cache_on(url) as sync, pytest.raises(StoreUnavailable):
        sync.put(metrics())
