"""Caches, stores and payloads that the tests of the store and of faults share."""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator, Iterable
from typing import Any

import redis

from spillcache import Keyring, Page, SpillCache
from spillcache._async.connect import connect
from spillcache._async.store import Store
from spillcache.sync import SpillCache as SyncSpillCache

KEYRING = Keyring.from_secret(os.urandom(32), kid="test")
PREFIX = "sc"


def cache_on(url: str, **options: Any) -> SpillCache:
    """A cache on the server at `url`; the caches of one test process read each other's cursors."""
    return SpillCache.from_url(url, keyring=KEYRING, **options)


def sync_cache_on(url: str, **options: Any) -> SyncSpillCache:
    """The same without asyncio."""
    return SyncSpillCache.from_url(url, keyring=KEYRING, **options)


def store_on(url: str, **options: Any) -> Store:
    """A store alone."""
    return Store(connect(url, deadline_s=2.0), prefix=PREFIX, **options)


def metrics(results: int = 6, points: int = 1_500) -> bytes:
    """A JSON document like a batch of queries: `results` named results of about 11 bytes for each of `points`."""
    listed = ",".join(
        f'{{"name":"query {number}","values":[{",".join(f"[{at},{number}.5]" for at in range(points))}]}}'
        for number in range(results)
    )
    return f'{{"status":"success","results":[{listed}]}}'.encode()


def noise(size: int, seed: int = 1) -> bytes:
    """Bytes that neither compress nor decode, the same for the same seed."""
    return random.Random(seed).randbytes(size)  # noqa: S311 - no secret


def keys(url: str) -> list[bytes]:
    """All keys of the server at `url`, sorted."""
    with redis.Redis.from_url(url) as client:
        found: Iterable[bytes] = client.scan_iter(count=1_000)
        return sorted(found)


def key_of(spill_id: str, segment: int = 0) -> str:
    """The key of a segment, written out here on purpose: other releases depend on it."""
    return f"{PREFIX}:{{{spill_id}}}:{segment}"


async def gather(pages: AsyncIterator[Page]) -> tuple[bytes, Page]:
    """A walk's bytes, and its last page."""
    parts, last = [], None
    async for page in pages:
        parts.append(page.data)
        last = page
    assert last is not None
    return b"".join(parts), last
