"""A writer that is killed, cancelled or cut off between any two commands: nothing readable, no key for ever."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Generator, Iterator
from functools import partial
from typing import Any

import pytest
import redis

from spillcache import Envelope, SpillCache
from spillcache.errors import SpillGone, StoreUnavailable
from spillcache.frame import SEGMENT_BYTES
from spillcache.sync import SpillCache as SyncSpillCache
from tests.cache.doomed import SPILL_ID, kill_at
from tests.servers import leaks
from tests.servers.caches import cache_on, gather, keys, noise, sync_cache_on
from tests.servers.proxy import Command, Fate, Proxy, Rule, from_number_on, only_number, proxy

SIZE = 1_300_000  # two batches
TWO_SEGMENTS = SEGMENT_BYTES + 20_000


@pytest.fixture
def between(redis_url: str) -> Iterator[Proxy]:
    """A relay in front of the server."""
    with proxy(redis_url) as running:
        yield running


def commands_of_a_put(between: Proxy, size: int, **options: Any) -> list[str]:
    """What an undisturbed writer sends; the spill is removed again."""
    between.watch()
    with sync_cache_on(between.url, random=bytes, **options) as cache:
        cache.put(noise(size))
        sent = between.names
        cache.delete(SPILL_ID)
    return sent


def assert_nothing_half(url: str, size: int) -> None:
    """No key stays for ever, and the spill is not to be read, unless all of it is there."""
    assert leaks.immortal_keys(url) == []
    with sync_cache_on(url) as cache:
        try:
            assert cache.fetch(SPILL_ID) == noise(size)
        except SpillGone:
            for read in (cache.page, cache.stat, cache.inventory):
                with pytest.raises(SpillGone):
                    read(SPILL_ID)


def assert_no_data(url: str) -> None:
    """No key stays for ever, and no byte of the payload is to be had."""
    assert leaks.immortal_keys(url) == []
    with sync_cache_on(url) as cache:
        for read in (cache.page, cache.fetch):
            with pytest.raises(SpillGone):
                read(SPILL_ID)


@pytest.mark.parametrize("size", [SIZE, TWO_SEGMENTS])
def test_a_writer_killed_between_any_two_commands_leaves_nothing_readable(
    between: Proxy, redis_url: str, size: int
) -> None:
    """SIGKILL after each command that the server has executed, the transactions' inner ones included."""
    for number in itertools.count():
        if not kill_at(between, number, size):
            break
        assert_nothing_half(redis_url, size)
        _empty(redis_url)
    assert number >= len(commands_of_a_put(between, size))


def test_a_writer_whose_server_is_gone_from_any_command_on_raises_and_leaves_nothing_readable(
    between: Proxy, redis_url: str
) -> None:
    """Its retries and its undoing fail as well; what it stored has a TTL."""
    for number in range(len(commands_of_a_put(between, SIZE))):
        for fate in (Fate.CUT, Fate.LOSE_REPLY):
            between.watch(from_number_on(number, fate))
            with sync_cache_on(between.url, random=bytes) as cache, pytest.raises(StoreUnavailable):
                cache.put(noise(SIZE))
            assert_nothing_half(redis_url, SIZE)
            _empty(redis_url)


def test_a_connection_that_ends_once_at_any_command_is_no_failure(between: Proxy, redis_url: str) -> None:
    """The client sends again; what was executed twice, the last transaction included, does no harm."""
    for number in range(len(commands_of_a_put(between, SIZE))):
        for fate in (Fate.CUT, Fate.LOSE_REPLY):
            between.watch(only_number(number, fate))
            with sync_cache_on(between.url, random=bytes) as cache:
                assert cache.put(noise(SIZE)).spill_id == SPILL_ID
                assert cache.fetch(SPILL_ID) == noise(SIZE)
            _empty(redis_url)


async def test_an_error_in_the_process_leaves_no_key_at_all(between: Proxy, redis_url: str) -> None:
    """Where each attempt of a transaction fails but the server can be reached, all is undone."""
    fates = {"HSET": Fate.CUT, "EXEC": Fate.LOSE_REPLY, "TIME": Fate.CUT}
    for number, name in enumerate(commands_of_a_put(between, TWO_SEGMENTS)):
        if name in fates:
            between.watch(_until_undone(number, fates[name]))
            async with cache_on(between.url, random=bytes) as cache:
                with pytest.raises(StoreUnavailable):
                    await cache.put(noise(TWO_SEGMENTS))
            assert between.names[-1] == "UNLINK"
            assert keys(redis_url) == []


async def test_a_server_that_hangs_at_any_command_costs_a_deadline_and_leaves_nothing_readable(
    between: Proxy, redis_url: str
) -> None:
    """Also when what it was sent before is executed after the writer has given up and undone it."""
    for number in range(1, len(commands_of_a_put(between, SIZE))):  # 0 asks for the version, before anything is written
        with proxy(redis_url) as hanging:
            hanging.watch(only_number(number, Fate.HOLD))
            async with cache_on(hanging.url, random=bytes, read_deadline_s=0.3, write_deadline_s=0.3) as cache:
                with pytest.raises(StoreUnavailable):
                    await cache.put(noise(SIZE))
                assert keys(redis_url) == []
            hanging.release()
        assert_no_data(redis_url)
        _empty(redis_url)


async def test_a_writer_cancelled_at_any_await_leaves_no_key(redis_url: str) -> None:
    """From the first to the last time that it waits."""
    payload = noise(SIZE)
    async with cache_on(redis_url, random=bytes) as cache:
        for step in itertools.count():
            task = asyncio.ensure_future(Interrupted(cache.put(payload), step).run())
            try:
                await task
            except asyncio.CancelledError:
                assert keys(redis_url) == []
                continue
            break
        assert step > 5
        assert await cache.fetch(SPILL_ID) == noise(SIZE)


async def test_a_streaming_writer_cancelled_at_any_await_leaves_no_key(redis_url: str) -> None:
    """The same for `write`, `finish`, and the way out of the block."""
    payload = noise(SIZE)

    async def stream(cache: SpillCache) -> Envelope:
        async with cache.writer() as writer:
            for start in range(0, SIZE, 400_000):
                await writer.write(payload[start : start + 400_000])
            return await writer.finish()

    async with cache_on(redis_url, random=bytes) as cache:
        for step in itertools.count():
            task = asyncio.ensure_future(Interrupted(stream(cache), step).run())
            try:
                await task
            except asyncio.CancelledError:
                assert keys(redis_url) == []
                continue
            break
        assert step > 5
        assert (await gather(cache.walk(SPILL_ID, budget=1 << 20)))[0] == noise(SIZE)


async def test_a_segment_evicted_while_a_spill_is_written_is_an_error(between: Proxy, redis_url: str) -> None:
    """At every command: the hash that grows again from nothing is told by its length, and all is undone."""
    for number in range(len(commands_of_a_put(between, SIZE))):

        def evict(command: Command, number: int = number) -> Fate:
            if command.number == number:
                _empty(redis_url)
            return Fate.FORWARD

        between.watch(evict)
        with sync_cache_on(between.url, random=bytes) as cache:
            try:
                cache.put(noise(SIZE))
            except SpillGone as error:
                assert error.code == "spill_lost"  # noqa: PT017 - either outcome is right, each at its commands
                assert keys(redis_url) == []
            else:
                read_or_gone(cache)
        _empty(redis_url)


def read_or_gone(cache: SyncSpillCache) -> None:
    """What was evicted before the first frame, or after the last command that looks, is whole or not there."""
    try:
        assert cache.fetch(SPILL_ID) == noise(SIZE)
    except SpillGone:
        return


class Interrupted:
    """Runs a coroutine in a task that is cancelled when it waits for the `step`-th time."""

    def __init__(self, coroutine: Coroutine[Any, Any, Envelope], step: int) -> None:
        self._waiting = coroutine
        self._step = step

    async def run(self) -> Envelope:
        """The coroutine's result, if it does not wait so often."""
        return await self

    def __await__(self) -> Generator[Any, Any, Envelope]:
        task = asyncio.current_task()
        assert task is not None
        resume: Callable[[], Any] = partial(self._waiting.send, None)
        for step in itertools.count():
            try:
                awaited = resume()
            except StopIteration as stop:
                envelope: Envelope = stop.value
                return envelope
            if step == self._step:
                task.cancel()
            try:
                value = yield awaited
            except BaseException as error:  # it goes where it would have gone without us
                resume = partial(self._waiting.throw, error)
            else:
                resume = partial(self._waiting.send, value)
        raise AssertionError


def _until_undone(number: int, fate: Fate) -> Rule:
    """From `number` on no command but those that remove gets through."""
    return lambda command: fate if command.number >= number and command.name != "UNLINK" else Fate.FORWARD


def _empty(url: str) -> None:
    with redis.Redis.from_url(url) as client:
        client.flushdb()
