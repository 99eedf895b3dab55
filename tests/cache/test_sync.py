"""`spillcache.sync` and `spillcache` are one library: the same names, signatures, answers and refusals."""

from __future__ import annotations

import asyncio
import errno
import inspect
import io
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import spillcache
from spillcache import sync
from spillcache.errors import ArgumentsInvalid, SpillError
from spillcache.ids import new_id
from tests.servers.caches import KEYRING, cache_on, keys, metrics, noise, sync_cache_on

Call = Callable[..., Any]


class Either:
    """A cache of either side, called in one way: coroutines are run, iterations are lists."""

    def __init__(self, cache: spillcache.SpillCache | sync.SpillCache, runner: asyncio.Runner) -> None:
        self.cache = cache
        self._runner = runner

    def __getattr__(self, verb: str) -> Call:
        method = getattr(self.cache, verb)
        return lambda *args, **kwargs: self.run(method(*args, **kwargs))

    def run(self, outcome: Any) -> Any:
        """What a call comes to."""
        if inspect.isawaitable(outcome):
            return self._runner.run(_awaited(outcome))
        if isinstance(outcome, AsyncIterator):
            return self._runner.run(_listed(outcome))
        return list(outcome) if isinstance(outcome, Iterator) else outcome

    def end(self) -> None:
        """Close the cache."""
        if isinstance(self.cache, spillcache.SpillCache):
            self._runner.run(self.cache.aclose())
        else:
            self.cache.close()


async def _awaited(outcome: Any) -> Any:
    return await outcome


async def _listed(pages: AsyncIterator[Any]) -> list[Any]:
    return [page async for page in pages]


@pytest.fixture(params=["async", "sync"])
def either(request: pytest.FixtureRequest, redis_url: str) -> Iterator[Either]:
    """A cache of each side in turn, with the same random bytes and the same clock."""
    with asyncio.Runner() as runner:
        given = iter(range(1, 1_000))
        make = cache_on if request.param == "async" else sync_cache_on
        cache = make(redis_url, random=lambda size: next(given).to_bytes(size), clock=lambda: 1_800_000_000.0)
        made = Either(cache, runner)
        yield made
        made.end()


def test_both_sides_have_the_same_names() -> None:
    """What is public in one is public in the other."""
    assert set(spillcache.__all__) == set(sync.__all__)
    sides = [{name for name in vars(side.SpillCache) if not name.startswith("_")} for side in (spillcache, sync)]
    assert sides[0] - {"aclose"} == sides[1] - {"close"}


@pytest.mark.parametrize("of", ["SpillCache", "SpillWriter"])
def test_both_sides_take_the_same_arguments(of: str) -> None:
    """Name by name, default by default."""
    one, other = getattr(spillcache, of), getattr(sync, of)
    for name, member in inspect.getmembers(one, inspect.isroutine):
        if not name.startswith("_") and name != "aclose":
            assert _arguments(member) == _arguments(getattr(other, name)), name


def _arguments(member: Call) -> list[tuple[str, object, object]]:
    return [(one.name, one.kind, one.default) for one in inspect.signature(member).parameters.values()]


@pytest.mark.parametrize(
    "payload", [b"", b"x", metrics(), noise(50_000), "ünïcödé", {"rows": [1, None]}, [float("nan")]]
)
def test_every_payload_makes_the_round(either: Either, payload: object) -> None:
    """Put, page, walk, inventory, stat, fetch, delete."""
    envelope = either.put(payload, tool="t")
    pages = either.walk(envelope.spill_id)
    data = b"".join(page.data for page in pages)
    assert data == either.fetch(envelope.spill_id) == b"".join(either.stream(envelope.spill_id))
    assert pages[-1].status == "COMPLETE"
    assert spillcache.verify_receipt(pages[-1].receipt, KEYRING).size == len(data)
    assert either.stat(envelope.spill_id).size == len(data)
    either.inventory(envelope.spill_id)
    either.delete(envelope.spill_id)
    with pytest.raises(SpillError, match="no such spill"):
        either.page(envelope.spill_id)


def test_files_and_paths_are_taken(either: Either, tmp_path: Path) -> None:
    """A binary file, its path, a pipe-like stream."""
    path = tmp_path / "payload"
    path.write_bytes(metrics())
    with path.open("rb") as file:
        for source in (path, file, io.BytesIO(metrics())):
            assert either.fetch(either.put(source).spill_id) == metrics()
    with pytest.raises(SpillError) as raised:
        either.put(tmp_path / "not there")
    assert raised.value.code == "arguments_invalid"


@pytest.mark.parametrize("buffering", [0, -1], ids=["raw", "buffered"])
def test_a_pause_of_a_non_blocking_pipe_is_not_taken_for_its_end(
    either: Either, redis_url: str, buffering: int
) -> None:
    """There `read` gives None where nothing has come yet: a part would be stored as if it were the whole."""
    receiving, sending = os.pipe()
    os.set_blocking(receiving, False)
    os.write(sending, b"the beginning")
    with os.fdopen(receiving, "rb", buffering=buffering) as file, pytest.raises(ArgumentsInvalid, match="non-blocking"):
        either.put(file)
    os.close(sending)
    assert keys(redis_url) == []


def test_a_file_that_fails_while_it_is_read_is_a_typed_error(either: Either, redis_url: str) -> None:
    """And what was stored of it is removed."""

    class Failing(io.RawIOBase):
        """A megabyte, then a bad sector."""

        sound = True

        def read(self, size: int = -1, /) -> bytes:
            """Raise from the second call on."""
            if self.sound:
                self.sound = False
                return b"x" * size
            raise OSError(errno.EIO, "secret")

    with pytest.raises(ArgumentsInvalid, match=r"cannot be read \(OSError\)"):
        either.put(Failing())
    assert keys(redis_url) == []


def test_offer_is_the_same(either: Either) -> None:
    """Through, or an envelope."""
    small = {"a": 1}
    assert either.offer(small) is small
    assert either.offer(metrics(), tool="t").completeness == "truncated"


def test_both_sides_answer_the_same_bytes(redis_url: str) -> None:
    """Envelope, pages with cursors and receipt, listing and errors, as JSON: all equal."""
    answers = []
    for make in (cache_on, sync_cache_on):
        with asyncio.Runner() as runner:
            given = iter(range(1, 1_000))
            cache = make(
                redis_url,
                random=lambda size, given=given: next(given).to_bytes(size),
                clock=lambda: 1_800_000_000.0,
            )
            either = Either(cache, runner)
            envelope = either.put(metrics(), tool="t")
            said = [envelope.as_dict(), either.inventory(envelope.spill_id, budget=1_500).as_dict()]
            said += [page.as_dict() for page in either.walk(envelope.spill_id)]
            said += [page.as_dict() for page in either.walk(envelope.spill_id, result="query 2")]
            said += [_refusal(either, envelope.spill_id, arguments) for arguments in WRONG]
            either.delete(envelope.spill_id)
            said.append(_refusal(either, envelope.spill_id, {}))
            either.end()
            answers.append(json.dumps(said))
    assert answers[0] == answers[1]


WRONG: list[dict[str, Any]] = [
    {"cursor": "not a cursor"},
    {"cursor": "A" * 40},
    {"result": "no such result"},
    {"result": 0},
    {"budget": 10},
    {"tenant": "other"},
    {"spill_id": "too short"},
    {"spill_id": new_id(bytes(15))},
]


def _refusal(either: Either, spill_id: str, arguments: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(SpillError) as raised:
        either.page(**{"spill_id": spill_id, **arguments})
    return raised.value.as_dict()


def test_streaming_writers_of_both_sides_store_the_same(either: Either) -> None:
    """`async with` in one, `with` in the other."""
    cache = either.cache

    async def stream(writer: spillcache.SpillWriter) -> str:
        async with writer:
            await writer.write(metrics())
            return (await writer.finish()).spill_id

    if isinstance(cache, spillcache.SpillCache):
        spill_id = either.run(stream(cache.writer()))
    else:
        with cache.writer() as writer:
            writer.write(metrics())
            spill_id = writer.finish().spill_id
    assert either.fetch(spill_id) == metrics()
