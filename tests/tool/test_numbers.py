"""Numbers that JSON or its writers have no word for: they arrive as what they are, or do not arrive as values."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from spillcache.tool.documents import says
from spillcache.tool.numbers import travels
from spillcache.tool.results import MARK, SpillOptions
from spillcache.tool.schemas import UNDECLARED, declare
from tests.servers.caches import cache_on
from tests.tool.results import envelope_in, restored, result, spill, text

NAN, INFINITE = math.nan, math.inf
HUGE = 2**70
TYPED = declare({"type": "object", "properties": {"rows": {"type": "array"}}})


@pytest.mark.parametrize(
    "structured",
    [{"v": NAN, "none": None}, {"rows": [[1, -INFINITE]] * 9}, {"result": NAN}, {"rows": [NAN] * 4_000}],
    ids=["beside null", "nested", "wrapped", "large"],
)
@pytest.mark.parametrize("declared", [UNDECLARED, TYPED], ids=["undeclared", "declared"])
@pytest.mark.parametrize("words", ["q", "L" * 20_000], ids=["a small text", "a large text"])
async def test_what_is_not_a_number_is_not_made_null(
    redis_url: str, structured: dict[str, Any], declared: Any, words: str
) -> None:
    """However small the result is: its value goes to the store, where NaN and infinities are what they were."""
    sent = result(text(words), structuredContent=structured)
    async with cache_on(redis_url) as cache:
        answer = await spill(cache, sent, declared)
        payload = await cache.fetch(envelope_in(answer)["spill_id"])
    assert travels(answer)
    assert MARK in answer["_meta"]
    assert repr(restored(answer, payload)["structuredContent"]) == repr(structured)
    assert ("structuredContent" in answer) == (declared is TYPED)


async def test_a_block_that_says_nan_beside_its_text_is_stored_with_it(redis_url: str) -> None:
    """Annotations are values as well, and stand in no envelope."""
    block = text("word " * 4_000, annotations={"priority": NAN})
    async with cache_on(redis_url) as cache:
        answer = await spill(cache, result(block))
        payload = await cache.fetch(envelope_in(answer)["spill_id"])
    assert travels(envelope_in(answer))
    assert repr(restored(answer, payload)) == repr({"content[0]": block})


async def test_without_a_store_nan_is_a_failure_not_null() -> None:
    """Even where results that could not be stored are to pass as they were: this one would not."""
    async with cache_on("redis://127.0.0.1:1") as cache:
        answer = await spill(cache, result(structuredContent={"v": NAN}), on_store_failure="pass")
    assert answer["isError"]
    assert json.loads(answer["content"][0]["text"])["code"] == "store_unavailable"


async def test_null_itself_passes_untouched() -> None:
    """It is a value like others."""
    sent = result(text("q"), structuredContent={"v": None, "rows": [None, 1.5, "NaN"]})
    async with cache_on("redis://127.0.0.1:1") as cache:
        assert await spill(cache, sent) is sent


@pytest.mark.parametrize("value", [{"v": NAN}, {"v": [INFINITE]}, NAN])
def test_null_does_not_say_nan(value: Any) -> None:
    """Though some writers write the one for the other; large texts as small ones."""
    as_null = json.loads(json.dumps(value), parse_constant=lambda _: None)
    assert not says(json.dumps(as_null), value)
    assert says(json.dumps(as_null), as_null)
    large, as_null = {"pad": "x" * 300_000, "v": value}, {"pad": "x" * 300_000, "v": as_null}
    assert not says(json.dumps(as_null, indent=1), large)
    assert says(json.dumps(as_null, indent=1), as_null)


@pytest.mark.parametrize("structured", [{"n": HUGE}, {"n": -HUGE, "none": None}, {"text": "\ud800"}])
@pytest.mark.parametrize("declared", [UNDECLARED, TYPED], ids=["undeclared", "declared"])
async def test_integers_of_any_size_stand_beside_a_spilled_text(
    redis_url: str, structured: dict[str, Any], declared: Any
) -> None:
    """In the envelope, exactly; the answer keeps within its budget. So do lone surrogates."""
    async with cache_on(redis_url) as cache:
        answer = await spill(cache, result(text("L" * 20_000), structuredContent=structured), declared)
    assert envelope_in(answer)["structured_content"] == structured
    assert len(json.dumps(answer, separators=(",", ":"))) <= SpillOptions().budget
