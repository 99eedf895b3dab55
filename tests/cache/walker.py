"""Another process that walks spills: it shares nothing with the writer but Redis and the key ring."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

from spillcache import PLAIN, Keyring, verify_receipt
from spillcache.sync import SpillCache


class Walked(NamedTuple):
    """What a walk brought. `receipt_sha256` is what its receipt claims, in hexadecimal."""

    process: int
    size: int
    sha256: str
    pages: int
    status: str
    receipt_sha256: str
    widest: int


def walk(url: str, ring: str, spill_id: str, budget: int) -> Walked:
    """Walk a spill to its end at `budget`; `ring` is the key ring's file."""
    keyring = Keyring.from_file(ring)
    sha256, size = hashlib.sha256(), 0
    with SpillCache.from_url(url, keyring=keyring, budget_bytes=budget) as cache:
        pages = list(cache.walk(spill_id))
        widest = max(PLAIN.size(page.as_dict()) for page in pages)
    for page in pages:
        sha256.update(page.data)
        size += len(page.data)
    claimed = verify_receipt(pages[-1].receipt or "", keyring, tenant="default").sha256.hex()
    return Walked(os.getpid(), size, sha256.hexdigest(), len(pages), pages[-1].status, claimed, widest)


class Walkers:
    """Processes that walk."""

    def __init__(self, pool: ProcessPoolExecutor, url: str, ring: str) -> None:
        self._pool, self._url, self._ring = pool, url, ring

    def walk(self, spill_id: str, budgets: Sequence[int]) -> list[Walked]:
        """One walk for each budget."""
        walks = [self._pool.submit(walk, self._url, self._ring, spill_id, budget) for budget in budgets]
        return [one.result() for one in walks]


@contextmanager
def walkers(url: str, ring: str) -> Iterator[Walkers]:
    """Fresh interpreters: nothing of this process is inherited."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield Walkers(pool, url, ring)
