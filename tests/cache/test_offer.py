"""`offer`: what is small goes through untouched, what is not becomes an envelope, and a refusal says so."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Any

import pytest

from spillcache import MCP, PLAIN, Envelope, SpillCache, Wire
from spillcache.errors import ArgumentsInvalid, BudgetTooSmall, SpillError
from spillcache.terms import Reading
from tests.conftest import OwnServer
from tests.servers.caches import cache_on, gather, keys, metrics, noise

BUDGET = 7_500
NOWHERE = "redis://127.0.0.1:1"
WIRES = {"plain": PLAIN, "mcp": MCP, "two copies": Wire(copies=(2, 1)), "ascii": Wire(ascii_only=True)}


@pytest.fixture
async def cache(redis_url: str) -> AsyncIterator[SpillCache]:
    """A cache on a server that works."""
    async with cache_on(redis_url) as made:
        yield made


@pytest.mark.parametrize(
    "result", ["", "text", b"", b"\xff\x00", [], {}, {"a": [1, 2.5, None]}, None, 0, float("nan"), "x" * 7_000]
)
async def test_what_fits_goes_through_as_the_same_object(cache: SpillCache, redis_url: str, result: object) -> None:
    """Not a copy, not a text of it; and nothing is stored."""
    assert await cache.offer(result) is result
    assert keys(redis_url) == []


@pytest.mark.parametrize("wire", WIRES.values(), ids=list(WIRES))
@pytest.mark.parametrize("letter", ["x", '"', "\n", "ü", "\U0001f600", "\x01"])
async def test_what_fits_is_measured_as_the_wire_carries_it(cache: SpillCache, wire: Wire, letter: str) -> None:
    """The longest text that goes through fills the budget; with one letter more it is an envelope within it."""
    low, high = 0, BUDGET
    while low < high:
        middle = (low + high + 1) // 2
        if wire.carried(letter * middle, is_json=False) <= BUDGET:
            low = middle
        else:
            high = middle - 1
    fits, does_not = letter * low, letter * (low + 1)
    assert await cache.offer(fits, wire=wire) is fits
    envelope = await cache.offer(does_not, wire=wire)
    assert isinstance(envelope, Envelope)
    assert wire.size(envelope.as_dict()) <= BUDGET
    assert (await gather(cache.walk(envelope.spill_id, wire=wire)))[0] == does_not.encode()


@pytest.mark.parametrize(
    ("result", "payload"),
    [
        ("x" * 8_000, b"x" * 8_000),
        (noise(8_000), noise(8_000)),
        (["é", None, float("inf"), 10**30] * 1_000, None),
        ({"rows": [{"name": f"row {number}"} for number in range(1_000)]}, None),
        ("\ud800" * 3_000, ("\ud800" * 3_000).encode("utf-8", "surrogatepass")),
    ],
    ids=["text", "bytes", "list", "dict", "lone surrogates"],
)
async def test_what_does_not_fit_is_stored_as_it_is(cache: SpillCache, result: object, payload: bytes | None) -> None:
    """The envelope leads to exactly the bytes that would have been sent."""
    envelope = await cache.offer(result, tool="search")
    assert isinstance(envelope, Envelope)
    assert envelope.completeness == "truncated"
    data, last = await gather(cache.walk(envelope.spill_id))
    assert last.status == "COMPLETE"
    assert payload is None or data == payload
    assert len(data) == envelope.size_bytes
    assert PLAIN.size(envelope.as_dict()) <= BUDGET


@pytest.mark.parametrize("wire", WIRES.values(), ids=list(WIRES))
@pytest.mark.parametrize("budget", [1_500, 7_500, 48_000])
@pytest.mark.parametrize("payload", [metrics(), noise(60_000), ("\U0001f600" * 20_000).encode(), b'"' * 60_000])
async def test_where_the_store_is_down_the_envelope_says_failed_within_the_budget(
    wire: Wire, budget: int, payload: bytes
) -> None:
    """With the code, the largest preview that fits, and never a handle to what was not stored."""
    cache = cache_on(NOWHERE)
    envelope = await cache.offer(payload, budget=budget, wire=wire)
    await cache.aclose()
    assert isinstance(envelope, Envelope)
    answer = envelope.as_dict()
    assert list(answer)[:3] == ["completeness", "code", "hint"]
    assert (answer["completeness"], answer["code"]) == ("failed", "store_unavailable")
    assert "spill_id" not in answer
    assert "next" not in answer
    assert "FAILED" in answer["hint"]
    assert wire.size(answer) <= budget
    if envelope.kind != "bytes":
        assert payload.startswith(envelope.preview.encode())
        assert payload.endswith(envelope.preview_tail.encode())
    if len(payload) > budget:
        assert wire.size(answer) > 0.95 * budget - 100


async def test_put_raises_where_offer_answers(own_server: OwnServer) -> None:
    """The same refusals, as errors."""
    full = own_server({"maxmemory": "3mb", "maxmemory-policy": "noeviction"})
    options: dict[str, Any] = {"max_payload_bytes": 8_000_000}
    async with cache_on(full.url, **options) as cache:
        for payload, code in ((noise(8_000_001), "payload_too_large"), (noise(7_000_000), "store_full")):
            envelope = await cache.offer(payload)
            assert isinstance(envelope, Envelope)
            assert (envelope.completeness, envelope.code, envelope.spill_id) == ("failed", code, "")
            with pytest.raises(SpillError) as raised:
                await cache.put(payload)
            assert raised.value.code == code
        assert keys(full.url) == []


async def test_what_the_caller_did_wrong_is_raised_not_answered(cache: SpillCache, redis_url: str) -> None:
    """A budget in which no answer has room, and a result that is no JSON: nobody could be told within the budget."""
    with pytest.raises(BudgetTooSmall) as small:
        await cache.offer(metrics(), budget=50)
    assert isinstance(await cache.offer(metrics(), budget=small.value.minimum), Envelope)
    with pytest.raises(ArgumentsInvalid):
        await cache.offer({"set": {1, 2}})
    assert len(keys(redis_url)) == 1


async def test_a_file_is_what_can_be_read_not_what_has_a_field_of_that_name(cache: SpillCache) -> None:
    """A temporary file is streamed; a result that counts what was read is a result like others."""

    @dataclass
    class Progress:
        read: int

    with TemporaryFile() as file:
        file.write(metrics())
        file.seek(0)
        assert await cache.fetch((await cache.put(file)).spill_id) == metrics()
    assert await cache.fetch((await cache.put(Progress(7))).spill_id) == b'{"read":7}'


async def test_spill_stores_also_what_would_fit(cache: SpillCache) -> None:
    """For a face that has measured the whole answer itself: an envelope whatever the size."""
    envelope = await cache.spill("short", tool="t")
    assert (envelope.completeness, envelope.size_bytes) == ("truncated", 5)
    assert (await gather(cache.walk(envelope.spill_id)))[0] == b"short"


async def test_spill_answers_where_the_store_does_not() -> None:
    """The envelope says failed and gives no handle."""
    async with cache_on(NOWHERE) as nowhere:
        envelope = await nowhere.spill("short")
    assert (envelope.completeness, envelope.code, envelope.spill_id) == ("failed", "store_unavailable", "")


async def test_estimated_pages_are_those_of_the_reading_that_is_meant(cache: SpillCache) -> None:
    """An envelope that travels in two copies is read by pages that travel in one."""
    payload = metrics()
    reading = Reading(20_000, MCP)
    envelope = await cache.spill(payload, budget=4_100, wire=Wire(copies=(2, 1)), reading=reading)
    walk = cache.walk(envelope.spill_id, budget=reading.budget_bytes, wire=reading.wire)
    pages = len([page async for page in walk])
    assert abs(envelope.pages - pages) <= 0.15 * pages + 1
