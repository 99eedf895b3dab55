"""Clients, prefixes and tenants: what is refused at the start, and what makes no difference."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import redis as sync_redis
from redis import exceptions as theirs
from redis.asyncio import Redis

from spillcache import SpillCache
from spillcache._async.store import Store, translate
from spillcache._sync.store import Store as SyncStore
from spillcache.errors import (
    ArgumentsInvalid,
    CursorRejected,
    ServerUnsupported,
    SpillCorrupt,
    SpillError,
    SpillNotFound,
    StoreBusy,
    StoreFull,
    StoreUnavailable,
)
from tests.servers.caches import cache_on, gather, key_of, keys, metrics, noise, sync_cache_on

TENANTS = ["a", "b", "a{b}c", "{}", "", "{a", "a}", "a:b", "a b\n", "ünïcödé", "\ud800", "x" * 10_000]


def with_option(url: str, option: str) -> str:
    """The URL with one more query option."""
    return f"{url}{'&' if '?' in url else '?'}{option}"


@pytest.fixture
async def client(redis_url: str) -> AsyncIterator[Redis]:
    """A client that decodes what it reads."""
    async with Redis.from_url(redis_url, decode_responses=True) as made:
        yield made


async def test_a_client_that_decodes_responses_is_refused_at_once(client: Redis, redis_url: str) -> None:
    """Before anything is written: it could not carry what we store. Given as a client or by URL, on both sides."""
    with pytest.raises(ServerUnsupported, match="decode_responses"):
        Store(client)
    with pytest.raises(ServerUnsupported, match="decode_responses"):
        cache_on(with_option(redis_url, "decode_responses=True"))
    with pytest.raises(ServerUnsupported, match="decode_responses"):
        sync_cache_on(with_option(redis_url, "decode_responses=True"))
    with (
        sync_redis.Redis.from_url(redis_url, decode_responses=True) as decoding,
        pytest.raises(ServerUnsupported, match="decode_responses"),
    ):
        SyncStore(decoding)


@pytest.mark.parametrize("protocol", [2, 3])
async def test_both_protocols_carry_the_same_bytes(redis_url: str, protocol: int) -> None:
    """Written through one, read through the other, binary and text; every verb."""
    other = 5 - protocol
    async with (
        cache_on(with_option(redis_url, f"protocol={protocol}")) as writer,
        cache_on(with_option(redis_url, f"protocol={other}")) as reader,
    ):
        for payload in (metrics(), noise(100_000)):
            spill_id = (await writer.put(payload)).spill_id
            for cache in (writer, reader):
                assert (await gather(cache.walk(spill_id)))[0] == payload
                assert await cache.fetch(spill_id) == payload
                assert (await cache.stat(spill_id)).size == len(payload)
            assert (await writer.inventory(spill_id)).entries == (await reader.inventory(spill_id)).entries
            await reader.delete(spill_id)
            with pytest.raises(SpillNotFound):
                await writer.page(spill_id)


@pytest.mark.parametrize("prefix", ["", "{", "}", "{}", "a{b}", "sc:{x}"])
def test_a_prefix_that_would_take_the_hash_tag_is_refused(redis_url: str, prefix: str) -> None:
    """All spills would share a slot, or segments of one would be spread."""
    with pytest.raises(ArgumentsInvalid, match="prefix"):
        cache_on(redis_url, prefix=prefix)


@pytest.mark.parametrize("tenant", TENANTS)
async def test_no_tenants_name_touches_a_key(redis_url: str, tenant: str) -> None:
    """Whatever it holds: the key is made of our prefix and id alone, and the spill is the tenant's."""
    async with cache_on(redis_url, tenant=tenant) as cache:
        spill_id = (await cache.put(metrics())).spill_id
        assert keys(redis_url) == [key_of(spill_id).encode()]
        assert (await gather(cache.walk(spill_id)))[0] == metrics()


async def test_another_tenants_spill_is_not_found_by_any_verb_just_as_if_there_were_none(redis_url: str) -> None:
    """Same class, same words; and it is neither renewed nor removed by the attempt."""
    async with cache_on(redis_url) as cache:
        spill_id = (await cache.put(metrics(), tenant="a{b}c")).spill_id
        cursor = (await cache.page(spill_id, tenant="a{b}c")).next_cursor
        with sync_redis.Redis.from_url(redis_url) as admin:
            admin.pexpire(key_of(spill_id), 100_000)
            for tenant in ("a", "{b}", "default", "", "A{B}C"):
                theirs_, none = [await _refusals(cache, one, tenant) for one in (spill_id, "a" * 26)]
                assert theirs_ == none
                with pytest.raises(CursorRejected):
                    await cache.page(spill_id, cursor=cursor, tenant=tenant)
            assert admin.pttl(key_of(spill_id)) <= 100_000
        assert await cache.fetch(spill_id, tenant="a{b}c") == metrics()


async def _refusals(cache: SpillCache, spill_id: str, tenant: str) -> list[dict[str, str]]:
    said = []
    for verb in (
        lambda: cache.page(spill_id, tenant=tenant),
        lambda: cache.page(spill_id, result=1, tenant=tenant),
        lambda: cache.inventory(spill_id, tenant=tenant),
        lambda: cache.stat(spill_id, tenant=tenant),
        lambda: cache.fetch(spill_id, tenant=tenant),
        lambda: cache.delete(spill_id, tenant=tenant),
    ):
        with pytest.raises(SpillNotFound) as raised:
            await verb()
        said.append(raised.value.as_dict())
    return said


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (theirs.OutOfMemoryError("secret"), StoreFull),
        (theirs.ReadOnlyError("secret"), StoreUnavailable),
        (theirs.NoPermissionError("secret"), ServerUnsupported),
        (theirs.AuthenticationError("secret"), StoreUnavailable),
        (theirs.AuthorizationError("secret"), StoreUnavailable),
        (theirs.BusyLoadingError("secret"), StoreUnavailable),
        (theirs.MaxConnectionsError("secret"), StoreBusy),
        (theirs.TimeoutError("secret"), StoreUnavailable),
        (theirs.ConnectionError("secret"), StoreUnavailable),
        (theirs.ClusterDownError("secret"), StoreUnavailable),
        (theirs.TryAgainError("secret"), StoreUnavailable),
        (theirs.MovedError("1 secret:1"), StoreUnavailable),
        (theirs.ResponseError("ERR unknown command 'secret'"), ServerUnsupported),
        (theirs.ResponseError("WRONGTYPE secret"), SpillCorrupt),
        (theirs.ResponseError("MISCONF secret"), StoreUnavailable),
        (theirs.ResponseError("NOREPLICAS secret"), StoreUnavailable),
        (theirs.ResponseError("secret in lower case"), ServerUnsupported),
        (theirs.ResponseError("Command # 1 (HSET k secret) of pipeline caused error: MISCONF no"), StoreUnavailable),
        (theirs.RedisError("secret"), StoreUnavailable),
        (theirs.RedisClusterException("secret"), StoreUnavailable),
        (OSError("secret"), StoreUnavailable),
    ],
)
def test_every_foreign_error_becomes_one_of_ours_without_its_words(error: Exception, ours: type[SpillError]) -> None:
    """What it says may be payload, keys or addresses."""
    translated = translate(error)
    assert isinstance(translated, ours)
    assert "secret" not in repr(translated.as_dict())


@pytest.mark.parametrize("options", [{"ttl_s": 0}, {"ttl_s": -1}, {"max_age_s": 0}, {"preview_bytes": (-1, 0)}])
def test_terms_that_make_no_sense_are_refused_at_the_start(redis_url: str, options: dict[str, Any]) -> None:
    """A TTL of 0 would delete what was just written."""
    with pytest.raises(ArgumentsInvalid):
        cache_on(redis_url, **options)
