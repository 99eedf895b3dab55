"""Results without content, and how they are told apart."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spillcache.tool.blank import in_words
from tests.servers.caches import cache_on
from tests.tool.results import envelope_in, image, result, spill, text

EMPTY: dict[str, dict[str, Any]] = {
    "nothing": result(),
    "an error without a word": result(error=True),
    "an empty text": result(text("")),
    "a blank text": result(text(" \n")),
    "two empty texts": result(text(""), text("\t")),
    "null": result(structuredContent={"result": None}),
    "an empty list": result(structuredContent={"result": []}),
    "an empty text in a wrap": result(structuredContent={"result": ""}),
    "nothing in an object": result(structuredContent={}),
    "null itself": result(structuredContent=None),
    "only null": {"structuredContent": None, "isError": False},
}


@pytest.mark.parametrize("sent", EMPTY.values(), ids=EMPTY.keys())
def test_an_empty_result_says_that_it_is_empty(sent: dict[str, Any]) -> None:
    """One text block with words in it; flag, structured content and what was given stay as they were."""
    before = json.dumps(sent)
    answer = in_words(sent)
    (block,) = answer["content"]
    assert "returned no content" in block["text"] or "returned only blank text" in block["text"]
    assert answer["isError"] == sent["isError"]
    assert answer.get("structuredContent", "absent") == sent.get("structuredContent", "absent")
    assert json.dumps(sent) == before


def test_no_two_kinds_of_empty_are_told_alike() -> None:
    """Null, an empty list, an empty text and nothing at all are four answers; an error is a fifth."""
    names = set(EMPTY) - {"only null"}
    told = {in_words(EMPTY[name])["content"][0]["text"] for name in names}
    assert len(told) == len(names)
    assert any("error" in words for words in told)


@pytest.mark.parametrize(
    "sent",
    [
        result(text("null")),
        result(text("[]")),
        result(text(""), text("a")),
        result(image(3)),
        result({"type": "resource_link", "uri": "file:///b", "name": "b"}),
    ],
    ids=["null", "[]", "one text is not blank", "a picture", "a link"],
)
def test_what_says_anything_is_left_alone(sent: dict[str, Any]) -> None:
    """The very same result."""
    assert in_words(sent) is sent


def test_long_values_are_pointed_to_not_repeated() -> None:
    """A structured result that is large stays where it is."""
    (block,) = in_words(result(structuredContent={"rows": ["x" * 90] * 9}))["content"]
    assert "structuredContent" in block["text"]
    assert len(block["text"]) < 200


def test_long_blanks_stay_behind_the_words() -> None:
    """They may be data to whoever asked: none is dropped, but for texts of no letter at all."""
    blocks = [text("\t\n" * 450), text(""), text(" " * 90)]
    words, *others = in_words(result(*blocks))["content"]
    assert "follows" in words["text"]
    assert len(words["text"]) < 200
    assert others == [blocks[0], blocks[2]]


async def test_blanks_that_leave_no_room_for_words_are_spilled(redis_url: str) -> None:
    """Every byte of them is stored, and the answer keeps its budget."""
    sent = result(text(" " * 7_400))
    async with cache_on(redis_url) as cache:
        answer = await spill(cache, sent)
        assert await cache.fetch(envelope_in(answer)["spill_id"]) == b" " * 7_400
