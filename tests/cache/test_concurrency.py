"""Many readers, two event loops, a fork: bounded waits, typed errors, and never another reader's reply."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, cast

import pytest
import redis

from spillcache import Page, SpillCache
from spillcache._async.gate import Gate
from spillcache._sync.gate import Gate as SyncGate
from spillcache._sync.kept import KeptConnections
from spillcache.errors import ArgumentsInvalid, SpillError, StoreBusy, StoreUnavailable
from spillcache.sync import SpillCache as SyncSpillCache
from tests.conftest import OwnServer
from tests.servers.caches import cache_on, gather, metrics, noise, sync_cache_on
from tests.servers.proxy import Command, Fate, proxy
from tests.servers.waiting import until

READERS = 50

# Newer Pythons warn of it; the children here touch nothing but the cache, and end at once.
_FORKS_WITH_THREADS = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


async def test_fifty_readers_share_two_places(redis_url: str) -> None:
    """All are served, each its own pages, over two connections at the most."""
    with proxy(redis_url) as between:
        async with cache_on(between.url, concurrency=2) as cache:
            payloads = [metrics(results=2, points=200 + number) for number in range(READERS)]
            ids = [(await cache.put(payload)).spill_id for payload in payloads]
            walks = await asyncio.gather(*(gather(cache.walk(spill_id)) for spill_id in ids))
        assert [data for data, _ in walks] == payloads
        assert {last.status for _, last in walks} == {"COMPLETE"}


async def test_a_pool_smaller_than_the_gate_makes_readers_wait_and_not_fail(redis_url: str) -> None:
    """redis-py's pool raises when its connections are in use; we wait for one."""
    joined = "&" if "?" in redis_url else "?"
    async with cache_on(f"{redis_url}{joined}max_connections=2", concurrency=16) as cache:
        spill_id = (await cache.put(metrics())).spill_id
        walks = await asyncio.gather(*(gather(cache.walk(spill_id)) for _ in range(READERS)))
    assert {data for data, _ in walks} == {metrics()}


async def test_readers_of_a_hung_server_wait_no_longer_than_their_deadline(own_server: OwnServer) -> None:
    """Those with a place are told that it does not answer, the others that all places are taken."""
    server = own_server()
    async with cache_on(server.url, concurrency=2, read_deadline_s=0.3) as cache:
        spill_id = (await cache.put(metrics())).spill_id
        with server.paused():
            outcomes = await asyncio.gather(*(cache.page(spill_id) for _ in range(READERS)), return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {StoreBusy, StoreUnavailable}
        assert sum(isinstance(outcome, StoreBusy) for outcome in outcomes) >= READERS - 4
        assert (await gather(cache.walk(spill_id)))[0] == metrics()


def test_threads_of_a_hung_server_wait_no_longer_than_their_deadline(own_server: OwnServer) -> None:
    """The same without asyncio."""
    server = own_server()
    with sync_cache_on(server.url, concurrency=2, read_deadline_s=0.3) as cache, ThreadPoolExecutor(READERS) as threads:
        spill_id = cache.put(metrics()).spill_id
        with server.paused():
            outcomes = list(threads.map(lambda _: _outcome(cache, spill_id), range(READERS)))
        assert set(outcomes) <= {"store_busy", "store_unavailable"}
        assert "store_busy" in outcomes
        assert b"".join(page.data for page in cache.walk(spill_id)) == metrics()


def test_threads_share_a_cache_without_crossing_replies(redis_url: str) -> None:
    """Each gets its own spill's bytes."""
    with sync_cache_on(redis_url, concurrency=3) as cache, ThreadPoolExecutor(8) as threads:
        payloads = [noise(40_000, seed) for seed in range(24)]
        ids = list(threads.map(lambda payload: cache.put(payload).spill_id, payloads))
        read = list(threads.map(lambda spill_id: b"".join(page.data for page in cache.walk(spill_id)), ids))
    assert read == payloads


async def test_readers_cancelled_at_random_never_get_anothers_reply(redis_url: str) -> None:
    """A connection on which a reply is outstanding is not used again."""
    async with cache_on(redis_url, concurrency=2) as cache:
        payloads = [metrics(results=1, points=300 + number) for number in range(20)]
        ids = [(await cache.put(payload)).spill_id for payload in payloads]
        for patience in range(30):
            tasks = [asyncio.ensure_future(cache.page(spill_id)) for spill_id in ids]
            for _ in range(patience):
                await asyncio.sleep(0)
            for task in tasks[patience % 3 :: 3]:
                task.cancel()
            pages = await asyncio.gather(*tasks, return_exceptions=True)
            for page, payload in zip(pages, payloads, strict=True):
                if isinstance(page, Page):
                    assert payload.startswith(page.data)
                else:
                    assert isinstance(page, asyncio.CancelledError)


def test_a_cache_used_from_a_second_event_loop_is_refused(redis_url: str) -> None:
    """Its connections belong to the first one; the error says what to do."""
    with asyncio.Runner() as first, asyncio.Runner() as second:
        cache = cache_on(redis_url)
        spill_id = first.run(_put(cache))
        with pytest.raises(ArgumentsInvalid, match="event loop"):
            second.run(_read(cache, spill_id))
        first.run(_read(cache, spill_id))
        first.run(cache.aclose())


@_FORKS_WITH_THREADS
def test_a_child_process_reads_with_a_connected_cache_of_its_parent_without_crossing_replies(redis_url: str) -> None:
    """Without asyncio the client makes connections of its own after a fork; both go on reading."""
    with sync_cache_on(redis_url) as cache:
        spill_id = cache.put(metrics()).spill_id
        cache.page(spill_id)
        children = [_forked(lambda: _walks_exactly(cache, spill_id)) for _ in range(3)]
        assert all(_walks_exactly(cache, spill_id) for _ in range(5))
        assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]


@_FORKS_WITH_THREADS
async def test_a_child_process_cannot_use_its_parents_event_loop_cache(redis_url: str) -> None:
    """It is told so before any byte goes over the shared connection."""
    async with cache_on(redis_url) as cache:
        spill_id = (await cache.put(metrics())).spill_id
        child = _forked(lambda: _is_refused(cache, spill_id))
        assert os.waitstatus_to_exitcode((await asyncio.to_thread(os.waitpid, child, 0))[1]) == 0
        assert (await gather(cache.walk(spill_id)))[0] == metrics()


async def test_places_are_given_first_come_first_served() -> None:
    """Nobody who waits is overtaken."""
    gate, order = Gate(1), list[int]()

    async def take(number: int) -> None:
        async def work() -> None:
            order.append(number)
            await asyncio.sleep(0)

        await gate.run(5.0, work)

    await asyncio.gather(*(take(number) for number in range(20)))
    assert order == list(range(20))


def test_threads_get_places_first_come_first_served() -> None:
    """The same without asyncio, and a place that nobody waited for any more is not lost."""
    gate, order = SyncGate(1), list[int]()
    hold, threads = threading.Event(), list[threading.Thread]()
    threads.append(threading.Thread(target=gate.run, args=(5.0, hold.wait)))
    threads[0].start()
    with pytest.raises(StoreBusy):
        gate.run(0.01, lambda: None)
    for number in range(5):
        threads.append(threading.Thread(target=gate.run, args=(5.0, partial(order.append, number))))
        threads[-1].start()
        until(partial(_waits, gate, number + 1), "the thread waits")
    hold.set()
    for thread in threads:
        thread.join()
    assert order == list(range(5))
    assert gate.run(0.01, lambda: "free") == "free"


def test_an_interrupted_thread_loses_no_place() -> None:
    """Ctrl-C while waiting used to leave a ticket behind, to which a place was handed for good."""
    gate, hold = SyncGate(1), threading.Event()
    inside = threading.Thread(target=gate.run, args=(5.0, hold.wait))
    inside.start()
    until(lambda: len(gate._inside) == 1, "the thread is inside")
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        gate.run(5.0, lambda: None)
    hold.set()
    inside.join()
    assert gate.run(0.01, lambda: "free") == "free"


@_FORKS_WITH_THREADS
def test_places_taken_by_the_parents_threads_are_free_in_a_forked_child() -> None:
    """Nobody in the child would ever give them back."""
    gate, hold = SyncGate(1), threading.Event()
    inside = threading.Thread(target=gate.run, args=(5.0, hold.wait))
    inside.start()
    until(lambda: len(gate._inside) == 1, "the thread is inside")
    child = _forked(lambda: gate.run(0.01, lambda: True))
    hold.set()
    inside.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_reply_that_an_interruption_left_unread_reaches_nobody(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal's exception between sending and reading: the connection is closed, not given back with the reply."""
    with sync_cache_on(redis_url) as cache, redis.Redis.from_url(redis_url) as client:
        client.hset("a", "f", "of a")
        client.hset("b", "f", "of b")
        kept = KeptConnections(cast("redis.Redis", cache._store._client))
        assert kept.execute("HMGET", "a", "f") == [b"of a"]
        connection = kept._idle[0]
        monkeypatch.setattr(connection, "read_response", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            kept.execute("HMGET", "a", "f")
        monkeypatch.undo()
        assert connection._sock is None
        assert kept.execute("HMGET", "b", "f") == [b"of b"]
        kept.close()
        client.delete("a", "b")


async def test_writers_side_by_side_do_not_mix(redis_url: str) -> None:
    """Streams that are written in turns, block by block, come back each as its own."""
    payloads = [noise(2_500_000, seed) for seed in range(4)]
    async with cache_on(redis_url, concurrency=2) as cache:
        writers = [cache.writer() for _ in payloads]
        for start in range(0, 2_500_000, 500_000):
            await asyncio.gather(
                *(
                    writer.write(payload[start : start + 500_000])
                    for writer, payload in zip(writers, payloads, strict=True)
                )
            )
        envelopes = await asyncio.gather(*(writer.finish() for writer in writers))
        assert [await cache.fetch(envelope.spill_id) for envelope in envelopes] == payloads


async def test_a_slow_reader_does_not_hold_a_place_between_its_pages(redis_url: str) -> None:
    """A walk that nobody goes on with costs others nothing."""
    async with cache_on(redis_url, concurrency=1) as cache:
        spill_id = (await cache.put(metrics())).spill_id
        begun = [cache.walk(spill_id) for _ in range(5)]
        firsts = [await anext(walk) for walk in begun]
        assert (await gather(cache.walk(spill_id)))[0] == metrics()
        for first, walk in zip(firsts, begun, strict=True):
            assert first.data + (await gather(walk))[0] == metrics()


def test_a_thread_that_hangs_at_the_server_gives_its_place_back(redis_url: str) -> None:
    """Also when the operation ends by an error."""
    with proxy(redis_url) as between, sync_cache_on(between.url, concurrency=1, read_deadline_s=0.2) as cache:
        spill_id = cache.put(metrics()).spill_id
        between.watch(_hold_reads)
        with pytest.raises(StoreUnavailable):
            cache.page(spill_id)
        between.watch()
        between.release()
        assert metrics().startswith(cache.page(spill_id).data)


def _interrupted(**_: object) -> None:
    raise KeyboardInterrupt


def _waits(gate: SyncGate, threads: int) -> bool:
    return len(gate._waiting) == threads


def _hold_reads(command: Command) -> Fate:
    return Fate.HOLD if command.name == "HMGET" else Fate.FORWARD


def _outcome(cache: SyncSpillCache, spill_id: str) -> str:
    try:
        cache.page(spill_id)
    except SpillError as error:
        return error.code
    return "served"


async def _put(cache: SpillCache) -> str:
    return (await cache.put(metrics())).spill_id


async def _read(cache: SpillCache, spill_id: str) -> None:
    assert (await gather(cache.walk(spill_id)))[0] == metrics()


def _walks_exactly(cache: SyncSpillCache, spill_id: str) -> bool:
    return all(b"".join(page.data for page in cache.walk(spill_id)) == metrics() for _ in range(5))


def _is_refused(cache: SpillCache, spill_id: str) -> bool:
    outcome: list[Any] = []

    async def attempt() -> None:
        try:
            await cache.page(spill_id)
        except ArgumentsInvalid as error:
            outcome.append(error)

    loop = asyncio.new_event_loop()
    asyncio.events._set_running_loop(None)  # the parent's, which does not run in this process
    loop.run_until_complete(attempt())
    return len(outcome) == 1


def _forked(work: Any) -> int:
    """Run `work` in a child process that ends with 0 if it answers True; the child's id."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if work() else 2
        finally:
            os._exit(status)
    return child
