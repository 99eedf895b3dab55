"""No payload byte, key, cursor, secret or full spill id in any error, its chain and notes, any log line or repr."""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Iterator
from functools import partial

import pytest
import redis

from spillcache import Keyring, SpillCache
from spillcache.errors import SpillError
from spillcache.ids import new_id
from tests.cache.faults import DAMAGES, Stored
from tests.conftest import OwnServer
from tests.servers.caches import cache_on, noise
from tests.servers.proxy import Fate, from_number_on, proxy

SECRET = b"CONFIDENTIALpayloadCONFIDENTIAL"
PAYLOAD = b'{"results":[' + b",".join(b'{"name":"%b %d","v":"%b"}' % (SECRET, n, SECRET) for n in range(2_000)) + b"]}"
TENANT = "tenant-CONFIDENTIAL"
PASSWORD = "password-CONFIDENTIAL"  # noqa: S105 - made up here
RING = os.urandom(32)
KEYRING = Keyring.from_secret(RING, kid="test")


def chain(error: BaseException) -> Iterator[BaseException]:
    """An error and all that hang on it, also those that a traceback would not show."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            waiting += [one.__cause__, one.__context__]
            yield one


def words_of(error: SpillError) -> str:
    """Everything an error says, or that a reporter could make of it."""
    parts = [repr(error.as_dict())]
    for one in chain(error):
        parts += [str(one), repr(one), repr(one.args), repr(vars(one)), *getattr(one, "__notes__", [])]
    return "\n".join(parts)


def assert_discreet(words: str, *more: str) -> None:
    """None of what is confidential is in `words`."""
    for confidential in ("CONFIDENTIAL", RING.hex(), repr(RING)[2:-1], *more):
        assert confidential not in words


async def errors_of(*attempts: Callable[[], Awaitable[object]]) -> list[SpillError]:
    """The error of each attempt; one that succeeds fails the test."""
    found = []
    for attempt in attempts:
        with pytest.raises(SpillError) as raised:
            await attempt()
        found.append(raised.value)
    return found


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """Every log record with all its fields."""
    return "\n".join(repr(vars(record)) + record.getMessage() for record in caplog.records)


@pytest.fixture(autouse=True)
def all_logs(caplog: pytest.LogCaptureFixture) -> None:
    """Take in everything from our loggers."""
    caplog.set_level(logging.DEBUG, "spillcache")


async def test_a_server_that_fails_at_any_command_makes_errors_and_logs_that_tell_nothing(
    redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """redis-py puts commands, payload and keys among them, into its own exceptions."""
    spill_id = new_id(bytes(15))
    with proxy(redis_url) as between:
        between.watch()
        async with cache_on(between.url, random=bytes, tenant=TENANT) as cache:
            await cache.put(PAYLOAD)
            page = await cache.page(spill_id)
        # What follows renews the lease; where that fails the page is served all the same.
        for number in range(between.names.index("HMGET") + 1):
            between.watch(from_number_on(number, Fate.CUT))
            async with cache_on(between.url, random=bytes, tenant=TENANT) as cache:  # each asks for the time anew
                (error,) = await errors_of(partial(_put_and_read, cache))
                assert_discreet(words_of(error), spill_id, page.next_cursor or "")
    assert_discreet(logged(caplog), spill_id, page.next_cursor or "")


@pytest.mark.parametrize(
    "configured",
    [
        {"maxmemory": "100kb", "maxmemory-policy": "noeviction"},
        {"rename-command": 'HSET ""'},
        {"rename-command": 'PEXPIRE ""'},
        {"min-replicas-to-write": "1"},
    ],
    ids=["full", "no HSET", "no PEXPIRE", "no replicas"],
)
async def test_a_server_that_refuses_a_write_makes_an_error_that_tells_nothing(
    own_server: OwnServer, caplog: pytest.LogCaptureFixture, configured: dict[str, str]
) -> None:
    """Out of memory, commands taken away, too few replicas: the server's own words quote what it was sent."""
    server = own_server(configured)
    async with cache_on(server.url, random=bytes, tenant=TENANT) as cache:
        large = noise(1_000_000) + PAYLOAD * 20
        for error in await errors_of(lambda: cache.put(large), lambda: _stream(cache, large)):
            assert_discreet(words_of(error), new_id(bytes(15)))
    assert_discreet(logged(caplog), new_id(bytes(15)))


async def test_a_wrong_password_is_not_repeated(own_server: OwnServer, caplog: pytest.LogCaptureFixture) -> None:
    """Neither in the error nor in the log; nor is the right one in the repr of a cache."""
    server = own_server()
    url = server.url.replace("redis://", f"redis://user:{PASSWORD}@")
    async with cache_on(url) as cache:
        (error,) = await errors_of(lambda: cache.put(PAYLOAD))
        assert_discreet(words_of(error) + repr(cache))
    assert_discreet(logged(caplog))


@pytest.mark.parametrize("how", DAMAGES)
async def test_damaged_fields_make_errors_that_tell_nothing(redis_url: str, how: str) -> None:
    """What failed to decode is not quoted."""
    with redis.Redis.from_url(redis_url) as admin:
        async with cache_on(redis_url, tenant=TENANT) as cache:
            spill_id = (await cache.put(PAYLOAD)).spill_id
            page = await cache.page(spill_id)
            stored = Stored(admin, spill_id)
            for field in stored.fields():
                stored.damage(field, DAMAGES[how][0])
            for error in await errors_of(
                lambda: cache.page(spill_id),
                lambda: cache.page(spill_id, cursor=page.next_cursor),
                lambda: cache.fetch(spill_id),
                lambda: cache.inventory(spill_id),
            ):
                assert_discreet(words_of(error), spill_id, page.next_cursor or "")


async def test_wrong_arguments_make_errors_that_tell_nothing(redis_url: str) -> None:
    """Ids, cursors and unwritable results are not repeated to whoever sent them; a wrong name is not either."""
    async with cache_on(redis_url, tenant=TENANT) as cache:
        spill_id = (await cache.put(PAYLOAD)).spill_id
        cursor = (await cache.page(spill_id)).next_cursor or ""
        wrong_cursor = ("A" if cursor[-1] != "A" else "B") + cursor[1:]
        for error in await errors_of(
            lambda: cache.page(spill_id[:-1]),
            lambda: cache.page("CONFIDENTIAL"),
            lambda: cache.page(new_id(bytes(15))),
            lambda: cache.page(spill_id, cursor=cursor, tenant="other"),
            lambda: cache.page(spill_id, cursor=wrong_cursor),
            lambda: cache.page(spill_id, cursor="CONFIDENTIAL"),
            lambda: cache.page(spill_id, result=99_999),
            lambda: cache.page(spill_id, tenant="other"),
            lambda: cache.put({"CONFIDENTIAL": {"a set"}}),
            lambda: cache.put({"CONFIDENTIAL": "\ud800", "other": object()}),
        ):
            assert_discreet(words_of(error), spill_id, cursor, wrong_cursor)


async def test_the_nearest_names_are_in_the_answer_and_not_in_the_exceptions_text(redis_url: str) -> None:
    """They are the payload's: the agent is to choose from them, a log is not to show them."""
    async with cache_on(redis_url) as cache:
        spill_id = (await cache.put(PAYLOAD)).spill_id
        (error,) = await errors_of(lambda: cache.page(spill_id, result="CONFIDENTIALpayload"))
    assert SECRET.decode() in error.as_dict()["nearest"][0]
    assert_discreet(str(error) + repr(error) + repr(error.args) + error.message + error.next_step, spill_id)


async def test_reprs_of_caches_writers_and_rings_tell_nothing(redis_url: str) -> None:
    """They end up in logs and tracebacks."""
    async with SpillCache.from_url(redis_url, keyring=KEYRING, tenant=TENANT) as cache:
        async with cache.writer(tool="export") as writer:
            await writer.write(PAYLOAD)
            assert_discreet(repr(writer) + repr(cache) + repr(KEYRING))
            spill_id = (await writer.finish()).spill_id
        assert_discreet(repr(await cache.stat(spill_id)))


async def _put_and_read(cache: SpillCache) -> None:
    spill_id = (await cache.put(PAYLOAD)).spill_id
    await cache.page(spill_id)


async def _stream(cache: SpillCache, payload: bytes) -> None:
    async with cache.writer() as writer:
        await writer.write(payload)
        await writer.finish()
