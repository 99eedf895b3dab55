"""Watching: every act of a cache is heard once, with what is needed to tell afterwards what an agent was given."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from typing_extensions import override

from spillcache import SpillCache, SpillError
from spillcache.ids import new_id
from spillcache.watch import Refused, Served, Watcher, Written, spill_mark
from tests.conftest import OwnServer
from tests.servers.caches import cache_on, gather, metrics, sync_cache_on

NOWHERE = "redis://127.0.0.1:1"


@dataclass
class Ear(Watcher):
    """Writes down what it hears."""

    acts: list[tuple[str, str, str]] = field(default_factory=list)
    heard: list[Any] = field(default_factory=list)
    operations: list[tuple[str, float, float]] = field(default_factory=list)

    @override
    @contextmanager
    def act(self, verb: str, spill_id: str = "") -> Iterator[None]:
        try:
            yield
        except SpillError as error:
            self.acts.append((verb, spill_id, error.code))
            raise
        self.acts.append((verb, spill_id, ""))

    @override
    def spill_written(self, written: Written) -> None:
        self.heard.append(written)

    @override
    def spill_refused(self, refused: Refused) -> None:
        self.heard.append(refused)

    @override
    def page_served(self, served: Served) -> None:
        self.heard.append(served)

    @override
    def lease_renewed(self, whole: bool) -> None:
        self.heard.append(whole)

    @override
    def redis_used(self, operation: str, waited_s: float, took_s: float) -> None:
        self.operations.append((operation, waited_s, took_s))


@pytest.fixture
def ear() -> Ear:
    """A watcher that remembers."""
    return Ear()


@pytest.fixture
async def cache(redis_url: str, ear: Ear) -> AsyncIterator[SpillCache]:
    """A cache that is watched."""
    async with cache_on(redis_url, watcher=ear, tenant="t") as made:
        yield made


async def test_a_spill_and_every_page_of_its_walk_are_told(cache: SpillCache, ear: Ear) -> None:
    """The pages' ranges follow each other from 0 to the size; only the first begins, only the last completes."""
    payload = metrics()
    envelope = await cache.put(payload, tool="batch")
    await gather(cache.walk(envelope.spill_id))
    (written,) = (heard for heard in ear.heard if isinstance(heard, Written))
    assert (written.spill_id, written.tool, written.kind, written.size) == (
        envelope.spill_id, "batch", "json", len(payload),
    )  # fmt: skip
    assert 0 < written.stored < len(payload)
    pages = [heard for heard in ear.heard if isinstance(heard, Served)]
    assert [page.start for page in pages] == [0, *(page.end for page in pages[:-1])]
    assert pages[-1].end == len(payload)
    assert [page.began for page in pages] == [True] + [False] * (len(pages) - 1)
    assert [page.status for page in pages] == ["PARTIAL"] * (len(pages) - 1) + ["COMPLETE"]
    assert {(page.tool, page.spill_id, page.walk) for page in pages} == {("batch", envelope.spill_id, pages[0].walk)}
    assert ear.acts == [("put", "", "")] + [("page", envelope.spill_id, "")] * len(pages)


async def test_a_result_s_walk_begins_at_the_result(cache: SpillCache, ear: Ear) -> None:
    """Its first page begins although it is not at byte 0, and its last says which result is complete."""
    envelope = await cache.put(metrics())
    await gather(cache.walk(envelope.spill_id, result=2))
    pages = [heard for heard in ear.heard if isinstance(heard, Served)]
    assert [page.began for page in pages] == [True] + [False] * (len(pages) - 1)
    assert pages[0].start > 0
    assert (pages[-1].status, pages[-1].result_status) == ("PARTIAL", "COMPLETE")


async def test_what_fails_is_told_with_its_code(cache: SpillCache, ear: Ear) -> None:
    """The error ends the act that it belongs to."""
    with pytest.raises(SpillError):
        await cache.page("not an id")
    with pytest.raises(SpillError):
        await cache.stat("a" * 26)
    assert ear.acts == [("page", "not an id", "spill_id_malformed"), ("stat", "a" * 26, "spill_not_found")]


async def test_a_refusal_is_told_once(ear: Ear) -> None:
    """With the size and code; the act of writing ends with the same code."""
    cache = cache_on(NOWHERE, watcher=ear)
    envelope = await cache.offer("x" * 100_000, tool="logs")
    await cache.aclose()
    assert not isinstance(envelope, str)
    assert envelope.completeness == "failed"
    assert ear.heard == [Refused("logs", 100_000, "store_unavailable")]
    assert ear.acts == [("put", "", "store_unavailable")]


async def test_each_operation_on_redis_is_told_with_its_times(cache: SpillCache, ear: Ear) -> None:
    """Waiting and working are apart, and neither is negative."""
    envelope = await cache.put(metrics())
    await cache.page(envelope.spill_id)
    assert {"info", "write", "time", "publish", "read", "renew"} <= {name for name, _, _ in ear.operations}
    assert all(waited >= 0 and took >= 0 for _, waited, took in ear.operations)
    assert True in ear.heard  # the first page renewed the lease


async def test_who_gets_no_place_has_waited_all_the_time(own_server: OwnServer, ear: Ear) -> None:
    """An operation that fails is told too."""
    server = own_server()
    cache = cache_on(server.url, watcher=ear)
    server.stop()
    with pytest.raises(SpillError):
        await cache.stat(new_id(bytes(15)))
    await cache.aclose()
    assert [name for name, _, _ in ear.operations] == ["read"]


def test_the_synchronous_side_tells_the_same(redis_url: str, ear: Ear) -> None:
    """It is generated from the other, but its contexts and clocks are its own."""
    with sync_cache_on(redis_url, watcher=ear) as cache:
        envelope = cache.put(metrics(), tool="batch")
        pages = list(cache.walk(envelope.spill_id))
    assert [heard.end for heard in ear.heard if isinstance(heard, Served)] == [page.end for page in pages]
    assert ear.acts == [("put", "", "")] + [("page", envelope.spill_id, "")] * len(pages)


def test_a_mark_tells_spills_apart_and_opens_none() -> None:
    """Twelve hexadecimal digits that no id parser takes."""
    assert spill_mark("a") != spill_mark("b")
    assert spill_mark("a") == "ca978112ca1b"
