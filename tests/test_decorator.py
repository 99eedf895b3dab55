"""`@spills`: what a decorated tool returns, and that it does not pretend to be what it was."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import typing
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest

from spillcache import SpillCache, spills
from spillcache.errors import ArgumentsInvalid, BudgetTooSmall
from spillcache.sync import SpillCache as SyncSpillCache
from spillcache.wire import MCP
from tests.servers.caches import cache_on, keys, metrics, sync_cache_on

if TYPE_CHECKING:
    from collections.abc import Sequence

NOWHERE = "redis://127.0.0.1:1"
LARGE: dict[str, Any] = json.loads(metrics())


@dataclass(frozen=True, slots=True)
class Query:
    """A type of this module, which the decorator's module does not know."""

    text: str


@pytest.fixture
async def cache(redis_url: str) -> AsyncIterator[SpillCache]:
    """A cache for asyncio."""
    async with cache_on(redis_url) as made:
        yield made


@pytest.fixture
def sync_cache(redis_url: str) -> Iterator[SyncSpillCache]:
    """A cache without it."""
    with sync_cache_on(redis_url) as made:
        yield made


async def test_a_coroutine_function_spills_what_does_not_fit(cache: SpillCache) -> None:
    """A small result is returned as it is, a large one as the envelope's JSON; the tool is named by the function."""

    @spills(cache)
    async def prometheus(series: int) -> dict[str, Any]:
        return LARGE if series else {"empty": True}

    assert await prometheus(0) == {"empty": True}
    envelope = await prometheus(series=6)
    assert envelope["completeness"] == "truncated"
    stat = await cache.stat(envelope["spill_id"])
    assert stat.tool == "prometheus"
    assert json.loads(await cache.fetch(envelope["spill_id"])) == LARGE


def test_a_plain_function_does_with_a_cache_without_asyncio(sync_cache: SyncSpillCache) -> None:
    """Tool, tenant, budget and wire are handed on."""

    @spills(sync_cache, tool="named", tenant="acme", budget=3_000, wire=MCP)
    def prometheus() -> dict[str, Any]:
        return LARGE

    envelope = prometheus()
    assert 2_000 < MCP.size(envelope) <= 3_000
    assert sync_cache.stat(envelope["spill_id"], tenant="acme").tool == "named"


async def test_a_coroutine_function_may_have_the_synchronous_cache(sync_cache: SyncSpillCache) -> None:
    """It works in a thread, so that the loop goes on."""

    @spills(sync_cache)
    async def prometheus() -> dict[str, Any]:
        await asyncio.sleep(0)
        return LARGE

    assert (await prometheus())["completeness"] == "truncated"


def test_what_cannot_be_decorated_is_refused_at_once(cache: SpillCache, sync_cache: SyncSpillCache) -> None:
    """A plain function cannot wait for an asynchronous cache; a generator has no one result."""

    def plain() -> None: ...

    def generator() -> Iterator[int]:
        yield 1

    async def asynchronous_generator() -> AsyncIterator[int]:
        yield 1

    with pytest.raises(ArgumentsInvalid, match=r"spillcache\.sync"):
        spills(cache)(plain)
    for function in (generator, asynchronous_generator):
        with pytest.raises(ArgumentsInvalid, match="generator"):
            spills(sync_cache)(function)


def test_a_store_that_is_down_costs_the_rest_of_a_result_and_not_the_call() -> None:
    """The agent is told FAILED, with a code and a preview; a small result is not touched."""
    with sync_cache_on(NOWHERE) as down:

        @spills(down)
        def prometheus(series: int) -> Any:
            return LARGE if series else []

        assert prometheus(0) == []
        envelope = prometheus(6)
    assert (envelope["completeness"], envelope["code"]) == ("failed", "store_unavailable")
    assert "spill_id" not in envelope


def test_what_the_function_raises_is_its_own(sync_cache: SyncSpillCache, redis_url: str) -> None:
    """Nothing is stored, nothing is swallowed; neither is a budget in which no answer has room."""

    @spills(sync_cache)
    def broken() -> None:
        raise LookupError("its own")

    @spills(sync_cache, budget=50)
    def cramped() -> Any:
        return LARGE

    with pytest.raises(LookupError, match="its own"):
        broken()
    with pytest.raises(BudgetTooSmall):
        cramped()
    assert keys(redis_url) == []


def test_name_and_docstring_stay_and_say_what_may_come_back(sync_cache: SyncSpillCache) -> None:
    """The agent reads the docstring as the tool's description."""

    @spills(sync_cache, budget=3_000)
    def prometheus() -> None:
        """Run queries.

        All of them at once.
        """

    assert prometheus.__name__ == "prometheus"
    doc = inspect.getdoc(prometheus) or ""
    assert doc.startswith("Run queries.\n\nAll of them at once.\n\n")
    for words in ("over 3000 bytes", "`completeness`", "`spill_id`", "not the data"):
        assert words in doc


def test_annotations_are_understood_where_they_were_written(sync_cache: SyncSpillCache) -> None:
    """Frameworks make schemas of them: they are types, not texts that only this module can read."""

    @spills(sync_cache)
    def prometheus(query: Query, mode: Annotated[Literal["a", "b"], "which"] = "a", *more: int) -> list[Query]:
        return [query]

    returns = list[Query] | dict[str, Any]
    hints = typing.get_type_hints(prometheus, include_extras=True)
    assert hints == {
        "query": Query,
        "mode": Annotated[Literal["a", "b"], "which"],
        "more": int,
        "return": returns,
    }
    signature = inspect.signature(prometheus, eval_str=True)
    assert signature.return_annotation == returns
    assert [one.annotation for one in signature.parameters.values()] == [hints["query"], hints["mode"], int]
    assert [one.kind.name for one in signature.parameters.values()][-1] == "VAR_POSITIONAL"
    assert signature.parameters["mode"].default == "a"


def test_annotations_that_only_a_type_checker_can_read_stay_as_they_are(sync_cache: SyncSpillCache) -> None:
    """The function can be decorated all the same, and may return anything."""

    @spills(sync_cache)
    def prometheus(names: Sequence[str]) -> Sequence[str]:
        return names

    assert inspect.signature(prometheus).parameters["names"].annotation == "Sequence[str]"
    assert inspect.signature(prometheus).return_annotation is Any
    assert prometheus(["a"]) == ["a"]


def test_a_partial_can_be_decorated(sync_cache: SyncSpillCache) -> None:
    """It has neither a name nor annotations of its own."""

    def query(text: str, series: int) -> dict[str, Any]:
        """Run a query."""
        return LARGE if series else {"query": text}

    decorated = spills(sync_cache)(functools.partial(query, series=6))
    assert decorated("up")["completeness"] == "truncated"
