"""Keys that would stay on a server for ever."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import redis

_WITHOUT_TTL = -1  # PTTL's answer for a key that never expires; -2 is one that is gone by now


def immortal_keys(url: str) -> list[bytes]:
    """The names of all keys of the server (or database) at `url` that have no TTL, sorted."""
    client = redis.Redis.from_url(url, socket_timeout=5.0)
    try:
        names = list(cast("Iterable[bytes]", client.scan_iter(count=1_000)))
        pipeline = client.pipeline(transaction=False)
        for name in names:
            pipeline.pttl(name)
        return sorted(name for name, ttl in zip(names, pipeline.execute(), strict=True) if ttl == _WITHOUT_TTL)
    finally:
        client.close()
