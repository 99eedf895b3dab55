"""Caches under measurement, and the very clients that they use."""

from __future__ import annotations

import os
from typing import Any

import redis
import redis.asyncio

from spillcache import Keyring
from spillcache import SpillCache as AsyncSpillCache
from spillcache._async.kept import KeptConnections as AsyncKeptConnections
from spillcache._sync.kept import KeptConnections
from spillcache.sync import SpillCache

KEYRING = Keyring.from_secret(os.urandom(32), kid="benchmark")

#: So long a lease that no read of a run renews it, unless it is told that it is late.
TTL_S = 7_200.0


def open_sync(url: str, **options: Any) -> SpillCache:
    """A cache as anybody gets it; only its lease is long."""
    return SpillCache.from_url(url, keyring=KEYRING, ttl_s=TTL_S, **options)


def open_async(url: str, **options: Any) -> AsyncSpillCache:
    """The same for asyncio."""
    return AsyncSpillCache.from_url(url, keyring=KEYRING, ttl_s=TTL_S, **options)


def client_of(cache: SpillCache) -> redis.Redis:
    """The redis-py client that the store was given, with all its options: what a bare GET is measured on."""
    client = cache._store._client
    assert isinstance(client, redis.Redis)
    return client


def async_client_of(cache: AsyncSpillCache) -> redis.asyncio.Redis:
    """The same for asyncio."""
    client = cache._store._client
    assert isinstance(client, redis.asyncio.Redis)
    return client


def kept_of(cache: SpillCache) -> KeptConnections:
    """The connections past redis-py's own command path, over which the store sends a page's one command."""
    kept = cache._store._kept
    assert kept is not None
    return kept


def async_kept_of(cache: AsyncSpillCache) -> AsyncKeptConnections:
    """The same for asyncio."""
    kept = cache._store._kept
    assert kept is not None
    return kept


def commands(client: redis.Redis) -> dict[str, int]:
    """How often the server has run each command so far; INFO, which asks, is left out."""
    stats: dict[str, dict[str, int]] = client.info("commandstats")
    return {name.removeprefix("cmdstat_"): stat["calls"] for name, stat in stats.items() if name != "cmdstat_info"}


def difference(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """The commands run in between."""
    return {name: calls - before.get(name, 0) for name, calls in after.items() if calls > before.get(name, 0)}
