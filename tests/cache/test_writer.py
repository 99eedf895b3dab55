"""The streaming writer: the same spill as `put` makes, published only by `finish`, in bounded memory."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import tracemalloc
from array import array
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import cast

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st

from spillcache import SpillCache, SpillWriter
from spillcache._async.store import Store
from spillcache.errors import ArgumentsInvalid, BudgetTooSmall, PayloadTooLarge, SpillLost, SpillNotFound
from spillcache.frame import SEGMENT_BYTES
from spillcache.ids import new_id
from spillcache.terms import Terms
from tests.servers.caches import cache_on, gather, key_of, keys, metrics, noise, store_on, sync_cache_on

WINDOW = 64 * 1024
SPILL_ID = new_id(bytes(15))
MB = 1 << 20


@pytest.fixture
async def cache(redis_url: str) -> AsyncIterator[SpillCache]:
    """A cache whose windows are the same for streams and for payloads at hand."""
    async with cache_on(redis_url, scan_window_bytes=WINDOW, stream_window_bytes=WINDOW) as made:
        yield made


def blocks(payload: bytes, size: int) -> Iterator[bytes]:
    """The payload in blocks."""
    return (payload[start : start + size] for start in range(0, len(payload), size))


PAYLOADS = {
    "empty": b"",
    "one byte": b"x",
    "json within the window": metrics(results=3, points=1_000),
    "json beyond the window": metrics(results=12, points=1_000),
    "json whose results end within the window": b'{"results":[{"name":"a"},{"name":"b"}],"log":"%b"}'
    % (b"x" * 200_000),
    "text": "".join(f"line {number} – ünïcödé\n" for number in range(8_000)).encode(),
    "ndjson": b"".join(b'{"n":%d,"name":"row %d"}\n' % (number, number) for number in range(8_000)),
    "csv": b"a,b,c\n" + b"".join(b"%d,%d,x\n" % (number, number * 7) for number in range(12_000)),
    "binary": noise(200_000),
    "two segments": noise(SEGMENT_BYTES // 2).hex().encode() * 2,
}


@pytest.mark.parametrize("size", [333, 16_272, 100_000, 1 << 30])
@pytest.mark.parametrize("kind", PAYLOADS)
async def test_a_stream_in_blocks_of_any_size_is_stored_as_put_stores_it(
    cache: SpillCache, redis_url: str, kind: str, size: int
) -> None:
    """Same envelope, same fields byte for byte but for their seals, so the same pages."""
    payload = PAYLOADS[kind]
    whole = await cache.put(payload, tool="export")
    async with cache.writer(tool="export") as writer:
        for block in blocks(payload, size):
            await writer.write(block)
        streamed = await writer.finish()
    assert {**streamed.as_dict(), "spill_id": "", "next": ""} == {**whole.as_dict(), "spill_id": "", "next": ""}
    walks = [
        [
            (page.position, page.chunk_kind, page.chunk, page.status)
            async for page in cache.walk(spill_id, budget=48_000)
        ]
        for spill_id in (whole.spill_id, streamed.spill_id)
    ]
    assert walks[0] == walks[1]
    assert [entry.as_dict() for entry in (await cache.inventory(streamed.spill_id)).entries] == [
        entry.as_dict() for entry in (await cache.inventory(whole.spill_id)).entries
    ]
    assert await cache.fetch(streamed.spill_id) == payload
    with redis.Redis.from_url(redis_url) as admin:
        lengths = [
            {name: len(value) for name, value in cast("dict[bytes, bytes]", admin.hgetall(key_of(spill_id))).items()}
            for spill_id in (whole.spill_id, streamed.spill_id)
        ]
    assert lengths[0] == lengths[1]


@given(cuts=st.lists(st.integers(0, 170_000), max_size=12))
def test_however_a_stream_is_cut_it_comes_back(redis_url: str, cuts: list[int]) -> None:
    """Blocks of any sizes, empty ones among them."""
    payload = PAYLOADS["json beyond the window"]
    edges = [0, *sorted(min(cut, len(payload)) for cut in cuts), len(payload)]
    with sync_cache_on(redis_url, stream_window_bytes=WINDOW) as cache:
        with cache.writer() as writer:
            for start, end in itertools.pairwise(edges):
                writer.write(payload[start:end])
            spill_id = writer.finish().spill_id
        pages = list(cache.walk(spill_id))
    assert b"".join(page.data for page in pages) == payload
    assert pages[-1].status == "COMPLETE"


@pytest.mark.parametrize("way", ["return", "break", "exception", "nothing written"])
async def test_leaving_without_finish_publishes_nothing_and_leaves_nothing(redis_url: str, way: str) -> None:
    """Only an explicit `finish` says that the payload is whole."""

    async def leave(cache: SpillCache) -> None:
        for _ in range(1):
            async with cache.writer() as writer:
                if way == "nothing written":
                    return
                await writer.write(noise(1_200_000))
                assert keys(redis_url) != []
                if way == "return":
                    return
                if way == "break":
                    break
                raise LookupError("the source failed")

    async with cache_on(redis_url, random=bytes) as cache:
        if way == "exception":
            with pytest.raises(LookupError, match="the source failed"):
                await leave(cache)
        else:
            await leave(cache)
        assert keys(redis_url) == []
        with pytest.raises(SpillNotFound):
            await cache.page(SPILL_ID)


async def test_nothing_is_readable_until_finish_returns(redis_url: str) -> None:
    """Whoever guessed the id of a stream under way would find nothing."""
    async with cache_on(redis_url, random=bytes) as cache:
        async with cache.writer() as writer:
            for block in blocks(noise(5 * MB), MB):
                await writer.write(block)
                for read in (cache.page, cache.fetch, cache.stat, cache.inventory, cache.delete):
                    with pytest.raises(SpillNotFound):
                        await read(SPILL_ID)
            assert (await writer.finish()).spill_id == SPILL_ID
        assert await cache.fetch(SPILL_ID) == noise(5 * MB)


async def test_a_writer_that_has_finished_or_failed_takes_nothing_more(redis_url: str) -> None:
    """Neither writes nor a second `finish`; and what it published stays."""
    async with cache_on(redis_url, max_payload_bytes=1_000) as cache:
        async with cache.writer() as writer:
            await writer.write(b"all")
            spill_id = (await writer.finish()).spill_id
            for again in (writer.write(b"more"), writer.finish()):
                with pytest.raises(ArgumentsInvalid):
                    await again
        assert await cache.fetch(spill_id) == b"all"
        writer = cache.writer()
        with pytest.raises(PayloadTooLarge):
            await writer.write(bytes(1_001))
        with pytest.raises(ArgumentsInvalid):
            await writer.finish()


@pytest.mark.parametrize("block", [array("I", range(9_000)), memoryview(array("d", [1.5]) * 9_000), b"", array("I")])
async def test_a_block_of_wider_items_counts_its_bytes(redis_url: str, block: memoryview) -> None:
    """An envelope that counted items was handed out for a spill that nobody could read."""
    async with cache_on(redis_url) as cache, cache.writer() as writer:
        for view in (block, memoryview(block)[::2]):
            await writer.write(view)
        expected = memoryview(block).tobytes() + memoryview(block)[::2].tobytes()
        envelope = await writer.finish()
        assert envelope.size_bytes == len(expected)
        assert await cache.fetch(envelope.spill_id) == expected


@pytest.mark.parametrize("second", ["write", "finish"])
async def test_two_calls_at_once_publish_nothing(redis_url: str, second: str) -> None:
    """A `finish` while a `write` was on its way published a part, under a size that was not the part's."""
    async with cache_on(redis_url) as cache:
        writer = cache.writer()
        first = asyncio.create_task(writer.write(noise(8 * MB)))
        await asyncio.sleep(0)
        with pytest.raises(ArgumentsInvalid, match="one call at a time"):
            await (writer.finish() if second == "finish" else writer.write(b"more"))
        with pytest.raises(ArgumentsInvalid, match="one call at a time"):
            await first
        with pytest.raises(ArgumentsInvalid):
            await writer.finish()
    assert keys(redis_url) == []


async def test_a_stream_that_grows_too_large_is_refused_and_removed(redis_url: str) -> None:
    """At the byte over the limit, not at the end; exactly the limit is fine."""
    async with cache_on(redis_url, max_payload_bytes=3 * MB) as cache:
        with pytest.raises(PayloadTooLarge):  # noqa: PT012 - it is to get through a whole writer's block
            async with cache.writer() as writer:
                for block in blocks(noise(4 * MB), MB // 2):
                    await writer.write(block)
        assert keys(redis_url) == []
        async with cache.writer() as writer:
            for block in blocks(noise(3 * MB), MB // 2):
                await writer.write(block)
            assert (await writer.finish()).size_bytes == 3 * MB


async def test_a_budget_too_small_for_the_envelope_leaves_nothing(redis_url: str) -> None:
    """There would be no handle to hand out."""
    async with cache_on(redis_url) as cache:
        with pytest.raises(BudgetTooSmall):  # noqa: PT012 - it is to get through a whole writer's block
            async with cache.writer(budget=100) as writer:
                await writer.write(noise(1_200_000))
                await writer.finish()
        assert keys(redis_url) == []


async def test_bytes_that_turn_out_not_to_be_text_late_come_back_as_binary(redis_url: str) -> None:
    """One bad byte after megabytes of text, beyond the window, in the last block, and at a segment's edge."""
    async with cache_on(redis_url, stream_window_bytes=WINDOW) as cache:
        for place in (WINDOW + 1, 3 * MB, SEGMENT_BYTES - 1, SEGMENT_BYTES, 2 * SEGMENT_BYTES - 1):
            payload = ("ünïcödé" * 1_000_000).encode()[:place] + b"\xff" + b"text again, "
            async with cache.writer() as writer:
                for block in blocks(payload, 300_000):
                    await writer.write(block)
                envelope = await writer.finish()
            assert envelope.kind == "bytes"
            data, last = await gather(cache.walk(envelope.spill_id, budget=1 << 20))
            assert (data, last.status, last.chunk_kind) == (payload, "COMPLETE", "base64")
            assert await cache.fetch(envelope.spill_id) == payload


async def test_results_beyond_the_window_are_said_to_be_unknown_and_never_guessed(redis_url: str) -> None:
    """The inventory lists what the window showed and says `partial`."""
    payload = metrics(results=40, points=1_000)
    async with cache_on(redis_url, stream_window_bytes=WINDOW) as cache:
        async with cache.writer() as writer:
            for block in blocks(payload, 10_000):
                await writer.write(block)
            envelope = await writer.finish()
        listing = await cache.inventory(envelope.spill_id)
        assert listing.partial == ("window",)
        assert listing.inventory_status == "PARTIAL"
        assert (listing.results, len(listing.entries) < 40) == (None, True)
        assert envelope.inventory is not None
        assert envelope.inventory["partial"] == ["window"]
        for entry in listing.entries:
            walk = cache.walk(envelope.spill_id, result=entry.index)
            assert (await gather(walk))[0] == payload[entry.start : entry.end]
        pages = [page async for page in cache.walk(envelope.spill_id, budget=48_000)]
        assert b"".join(page.data for page in pages) == payload


@pytest.mark.parametrize("size", [MB // 3, 64 * MB], ids=["small blocks", "one block"])
async def test_memory_stays_bounded_however_long_the_stream_is(redis_url: str, size: int) -> None:
    """64 MB pass through less than 40 MB beside them: the window, held twice while it fills, and a few batches."""
    part = metrics(results=1, points=40_000)
    payload = part * (64 * MB // len(part))
    async with cache_on(redis_url) as cache:
        tracemalloc.start()
        try:
            async with cache.writer() as writer:
                for start in range(0, len(payload), size):
                    await writer.write(payload[start : start + size])
                await writer.finish()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 40 * MB


@dataclass(slots=True)
class Ticks:
    """A monotonic clock that a test sets."""

    now: float = 0.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[Store]:
    """A store alone."""
    made = store_on(redis_url)
    yield made
    await made.aclose()


@pytest.mark.parametrize("block", [b"", b"a little", noise(MB)], ids=["nothing", "a little", "a batch"])
async def test_a_long_stream_renews_what_it_stored_first(store: Store, redis_url: str, block: bytes) -> None:
    """Each write after a quarter of the lease gives every segment its whole TTL again, a slow stream's as well."""
    ticks = Ticks()
    async with _writer(store, ticks) as writer:
        for part in blocks(noise(SEGMENT_BYTES + 2 * MB), MB):
            await writer.write(part)
        with redis.Redis.from_url(redis_url) as admin:
            for segment in (0, 1):
                admin.pexpire(key_of(SPILL_ID, segment), 50_000)
            ticks.now += 224
            await writer.write(b"")
            assert admin.pttl(key_of(SPILL_ID, 0)) <= 50_000
            ticks.now += 1
            await writer.write(block)
            assert all(admin.pttl(key_of(SPILL_ID, segment)) > 1_100_000 for segment in (0, 1))


async def test_a_stream_whose_beginning_was_evicted_fails_at_its_next_renewal(store: Store, redis_url: str) -> None:
    """Not only at its end; and what is left of it is removed."""
    ticks = Ticks()
    with pytest.raises(SpillLost):  # noqa: PT012 - it is to get through a whole writer's block
        async with _writer(store, ticks) as writer:
            for part in blocks(noise(SEGMENT_BYTES + 2 * MB), MB):
                await writer.write(part)
            with redis.Redis.from_url(redis_url) as admin:
                admin.delete(key_of(SPILL_ID, 0))
            ticks.now += 225
            await writer.write(b"")
    assert keys(redis_url) == []


def _writer(store: Store, ticks: Ticks) -> SpillWriter:
    terms = Terms(clock=lambda: 1_800_000_000.0, monotonic=ticks, random=bytes, ttl_s=900)
    return SpillWriter(store, SPILL_ID, terms, tool="", tenant="default")


async def test_a_digest_that_comes_with_the_payload_is_checked_before_anybody_can_read_it(redis_url: str) -> None:
    """The right one changes nothing; with a wrong one nothing is stored."""
    payload = noise(3 * MB)
    async with cache_on(redis_url) as cache:
        async with cache.writer() as writer:
            await writer.write(payload)
            envelope = await writer.finish(sha256=hashlib.sha256(payload).digest())
        assert await cache.fetch(envelope.spill_id) == payload
        await cache.delete(envelope.spill_id)
        async with cache.writer() as writer:
            await writer.write(payload[:-1])
            with pytest.raises(ArgumentsInvalid, match="SHA-256"):
                await writer.finish(sha256=hashlib.sha256(payload).digest())
    assert keys(redis_url) == []
