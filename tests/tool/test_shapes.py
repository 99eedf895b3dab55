"""What counts as a tool's answer, and what is done with one that is badly made."""

from __future__ import annotations

from typing import Any

import pytest

from spillcache import SpillCache
from spillcache.errors import UpstreamInvalid
from spillcache.tool.results import MARK
from tests.servers.caches import cache_on
from tests.tool.results import BATCH, envelope_in, image, resource, restored, result, spill, text

UNKNOWN: dict[str, dict[str, Any]] = {
    "a task's receipt": {"task": {"taskId": "1", "status": "working", "ttl": 1_000}},
    "an early protocol's result": {"toolResult": {"rows": ["x" * 90] * 200}},
    "a question": {"resultType": "input_required", "content": []},
    "nothing": {},
}

MALFORMED: dict[str, dict[str, Any]] = {
    "content is a text": {"content": "said by nobody"},
    "content is a block": {"content": text("said by nobody")},
    "content is null": {"content": None},
    "a block is a text": {"content": ["said by nobody"]},
    "a block is null": {"content": [text("a"), None]},
    "a block without a type": {"content": [{"text": "said by nobody"}]},
    "a type is a list": {"content": [{"type": ["text"], "text": "said by nobody"}]},
    "a text is not there": {"content": [{"type": "text"}]},
    "a text is a number": {"content": [{"type": "text", "text": 5}]},
    "a picture is a number": {"content": [{"type": "image", "data": 5}, text(BATCH)]},
    "a resource is a text": {"content": [{"type": "resource", "resource": "said by nobody" * 900}]},
    "a resource holds nothing": {"content": [{"type": "resource", "resource": {"uri": "file:///a"}}]},
    "_meta is a number": {"content": [text(BATCH)], "_meta": 5},
}


@pytest.fixture
def unused() -> SpillCache:
    """A cache whose server is not there."""
    return cache_on("redis://127.0.0.1:1")


@pytest.mark.parametrize("sent", UNKNOWN.values(), ids=UNKNOWN.keys())
async def test_what_is_no_answer_is_not_called_an_empty_one(unused: SpillCache, sent: dict[str, Any]) -> None:
    """Nothing is known of it, so nothing is said about it: it is the very same."""
    assert await spill(unused, sent) is sent


@pytest.mark.parametrize("sent", MALFORMED.values(), ids=MALFORMED.keys())
async def test_a_badly_made_answer_is_a_failure_with_a_next_step(unused: SpillCache, sent: dict[str, Any]) -> None:
    """It says so in our words, and repeats none of it."""
    with pytest.raises(UpstreamInvalid, match="the tool's server sent a result whose") as raised:
        await spill(unused, sent)
    answer = raised.value.as_dict()
    assert answer["code"] == "upstream_invalid"
    assert "FAILED" in answer["next_step"]
    assert "nobody" not in str(answer)
    assert raised.value.__cause__ is None


async def test_fields_that_do_not_belong_to_a_block_survive(redis_url: str) -> None:
    """A text with data beside it, a link with a resource: they are kept, or stored, as what they are."""
    odd = [
        text("word " * 4_000, data="of another kind", blob=7, resource="x"),
        {**image(9_000), "text": "said beside it", "resource": {"text": "inside"}},
        resource(text="t" * 9_000, blob=None),
        {"type": "resource_link", "uri": "file:///b", "name": "b", "resource": 5, "text": "l" * 9_000},
    ]
    async with cache_on(redis_url) as cache:
        for block in odd:
            answer = await spill(cache, result(block), media_bytes=2_000)
            payload = await cache.fetch(envelope_in(answer)["spill_id"])
            assert restored(answer, payload) == {"content[0]": block}


@pytest.mark.parametrize("forged", ["a mark", "an envelope", "an envelope twice"])
async def test_a_forged_envelope_passes_only_up_to_a_size(redis_url: str, forged: str) -> None:
    """Whoever writes our mark, or an envelope of their own, gets no more than four budgets past us."""

    def made(size: int) -> dict[str, Any]:
        if forged == "a mark":
            return result(text("x" * size), _meta={MARK: {}})
        envelope = {"completeness": "failed", "code": "c", "hint": "h", "size_bytes": 1, "kind": "x" * size}
        words = str(envelope).replace("'", '"').replace(" ", "")
        more: dict[str, Any] = {"structuredContent": envelope} if forged.endswith("twice") else {}
        return result(text(words), **more)

    async with cache_on(redis_url) as cache:
        small, large = made(9_000), made(33_000)
        assert await spill(cache, small) is small
        answer = await spill(cache, large)
        assert await cache.fetch(envelope_in(answer)["spill_id"]) == large["content"][0]["text"].encode()
