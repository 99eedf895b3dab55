"""The least that a writer and a reader must be permitted: with it all works, with any one less something does not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from secrets import token_hex

import pytest
import redis

from spillcache import SpillCache
from spillcache.errors import ServerUnsupported, SpillError
from spillcache.frame import SEGMENT_BYTES
from tests.conftest import OwnServer
from tests.servers import topologies
from tests.servers.caches import cache_on, gather, keys, metrics, noise
from tests.servers.process import ServerProcess

WRITER = ("multi", "exec", "hset", "pexpire", "hlen", "time", "unlink")
READER = ("hmget", "pexpire", "pttl", "time")
#: What `delete` needs beside a reader's.
REMOVER = ("unlink",)
#: What a client of a cluster needs beside: who has which slot, where a command's key stands, and a slot that moves.
IN_A_CLUSTER = ("cluster|slots", "command", "asking")

Client = redis.Redis


@pytest.fixture
def server(own_server: OwnServer) -> ServerProcess:
    """A server on which users are made."""
    return own_server()


@pytest.fixture
def admin(server: ServerProcess) -> Iterator[Client]:
    """Its administrator."""
    with server.client() as client:
        yield client


@asynccontextmanager
async def cache_as(
    admin: Client, url: str, *commands: str, of: str = "sc:*", scheme: str = "redis"
) -> AsyncIterator[SpillCache]:
    """A cache that logs in as a new user with these commands, on keys that match `of`, and nothing else."""
    user, password = token_hex(8), token_hex(16)
    permit(admin, user, password, commands, of)
    async with cache_on(url.replace("redis://", f"{scheme}://{user}:{password}@"), max_age_s=3_600) as cache:
        yield cache


def permit(admin: Client, user: str, password: str, commands: tuple[str, ...], of: str) -> None:
    """Make a user."""
    rules = ["on", f">{password}", f"~{of}", "-@all", *(f"+{command}" for command in commands)]
    admin.execute_command("ACL SETUSER", user, *rules)


async def writes(cache: SpillCache) -> str:
    """All that a writer does, undoing included; the id of a spill of two segments."""
    spill_id = (await cache.put(noise(SEGMENT_BYTES + 1))).spill_id
    async with cache.writer() as writer:
        await writer.write(noise(1_200_000))
    return spill_id


async def reads(cache: SpillCache, spill_id: str) -> None:
    """All that a reader does."""
    await gather(cache.walk(spill_id, budget=1 << 20))
    await cache.inventory(spill_id)
    await cache.fetch(spill_id)
    await cache.stat(spill_id)


async def test_a_writer_and_a_reader_work_with_the_documented_commands_alone(
    server: ServerProcess, admin: Client
) -> None:
    """Neither HELLO nor INFO, CLIENT or PING; the writer cannot read and the reader cannot write."""
    async with cache_as(admin, server.url, *WRITER) as writer, cache_as(admin, server.url, *READER) as reader:
        spill_id = await writes(writer)
        await reads(reader, spill_id)
        for denied in (lambda: writer.page(spill_id), lambda: reader.put(metrics()), lambda: reader.delete(spill_id)):
            with pytest.raises(ServerUnsupported) as raised:
                await denied()
            assert not raised.value.retryable
        async with cache_as(admin, server.url, *READER, *REMOVER) as remover:
            await remover.delete(spill_id)
    assert keys(server.url) == []


@pytest.mark.parametrize("missing", WRITER)
async def test_each_of_a_writers_commands_is_needed(server: ServerProcess, admin: Client, missing: str) -> None:
    """Without it a write fails, typed, or what a writer gave up on stays behind."""
    async with cache_as(admin, server.url, *(set(WRITER) - {missing})) as cache:
        if missing == "unlink":
            async with cache.writer() as writer:
                await writer.write(noise(1_200_000))
            assert keys(server.url) != []
        else:
            with pytest.raises(ServerUnsupported):
                await writes(cache)
            assert keys(server.url) == []


@pytest.mark.parametrize("missing", READER)
async def test_each_of_a_readers_commands_is_needed(
    server: ServerProcess, admin: Client, missing: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Without it a read fails, typed, or the lease is not renewed, which the log says."""
    async with cache_as(admin, server.url, *WRITER) as writer:
        spill_id = await writes(writer)
    async with cache_as(admin, server.url, *(set(READER) - {missing})) as cache:
        failed = False
        for read in _readings(cache, spill_id):
            try:
                await read()
            except SpillError as error:
                assert isinstance(error, ServerUnsupported)  # noqa: PT017 - which of the readings it is differs
                failed = True
    assert failed or "lease_not_renewed" in caplog.messages


async def test_a_user_of_other_keys_is_refused(server: ServerProcess, admin: Client) -> None:
    """The key pattern guards the prefix: typed, and nothing stored."""
    async with cache_as(admin, server.url, *WRITER, *READER, of="other:*") as cache:
        with pytest.raises(ServerUnsupported):
            await cache.put(metrics())
        with pytest.raises(ServerUnsupported):
            await cache.page("a" * 26)
    assert keys(server.url) == []


async def test_with_info_the_version_is_checked_as_well(server: ServerProcess, admin: Client) -> None:
    """An optional permission: without it the version is not asked for again and again."""
    async with cache_as(admin, server.url, *WRITER, *READER, "info") as cache:
        assert await cache.fetch((await cache.put(metrics())).spill_id) == metrics()


async def test_in_a_cluster_three_more_commands_suffice(cluster: topologies.Cluster, cluster_url: str) -> None:
    """Writing, reading and removing work with the documented commands alone there too."""
    user, password = token_hex(8), token_hex(16)
    for node in cluster.masters:
        with node.client() as admin:
            permit(admin, user, password, WRITER + READER + REMOVER + IN_A_CLUSTER, "sc:*")
    url = cluster_url.replace("redis://", f"redis+cluster://{user}:{password}@")
    async with cache_on(url) as cache:
        spill_id = await writes(cache)
        await reads(cache, spill_id)
        await cache.delete(spill_id)


def _readings(cache: SpillCache, spill_id: str) -> tuple[Callable[[], Awaitable[object]], ...]:
    return (lambda: cache.page(spill_id), lambda: cache.stat(spill_id), lambda: cache.fetch(spill_id))
