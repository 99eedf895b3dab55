"""Whatever an agent calls, in whatever order: nothing that it is shown looks like more than it is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spillcache import SpillCache
from spillcache.compact import expand
from spillcache.tool.calls import answer_call
from spillcache.tool.definition import ToolOptions
from tests.servers.caches import cache_on

OPTIONS = ToolOptions()
BUDGET = 2_500
PAYLOAD = json.dumps(
    {
        "results": [
            {
                "query": f"q{number}",
                "result": [
                    {"metric": {"pod": f"p{pod}"}, "values": [[at * at, f"{at}.5"] for at in range(30)]} for pod in "ab"
                ],
            }
            for number in range(12)
        ]
    },
    separators=(",", ":"),
).encode()

#: Calls by themselves; `held` and `edited` take one of the cursors that were shown, as it came or altered.
BEGINNINGS: list[dict[str, Any]] = [
    {},
    {"result": 2},
    {"result": "q11"},
    {"inventory": True},
    {"series": True},
    {"view": "compact"},
    {"pattern": '"pod":"p[ab]"'},
    {"pattern": "absent"},
    {"return_full": True},
]
calls = st.one_of(
    st.sampled_from(BEGINNINGS),
    st.builds(lambda at, full: {"held": at} | full, st.integers(0, 30), st.sampled_from([{}, {"return_full": True}])),
    st.just({"held": 0}),  # the newest, so that some walks get to their ends
    st.just({"held": 0}),
    st.builds(lambda at, place: {"held": at, "edited": place}, st.integers(0, 30), st.integers(0, 39)),
)
sizes = st.sampled_from([None, None, 1_800, 3_000])


@dataclass(frozen=True, slots=True)
class Chain:
    """Pages of which each was asked for with the cursor of the one before it: their bytes, and their text."""

    view: str
    start: int
    end: int
    text: str


@settings(max_examples=40)
@given(script=st.lists(st.tuples(calls, sizes), max_size=30))
def test_complete_is_shown_only_to_who_was_shown_everything(redis_url: str, script: list[Any]) -> None:
    """Every answer says PARTIAL, FAILED or COMPLETE; the last only where one chain of cursors has brought all bytes."""
    asyncio.run(_play(redis_url, script))


@pytest.mark.parametrize("most", [1_800, 4_000])
@pytest.mark.parametrize("beginning", BEGINNINGS, ids=str)
async def test_every_beginning_leads_to_an_end_that_says_what_was_shown(
    redis_url: str, beginning: dict[str, Any], most: int
) -> None:
    """Also of what a search and the lists lead to: COMPLETE at the end of a chain from byte 0, and nowhere else."""
    async with cache_on(redis_url) as cache:
        spill_id = (await cache.put(PAYLOAD)).spill_id
        chains: dict[str, Chain] = {}
        asked, seen = [beginning], set[str]()
        while asked:
            answer = await _call(cache, {"spill_id": spill_id, "max_bytes": most, **(call := asked.pop())})
            assert answer["status"] != "FAILED"
            chain = _check(answer, call, chains)
            if chain is not None and "next_cursor" not in answer:
                whole = (chain.start, chain.end) == (0, len(PAYLOAD))
                assert answer["status"] == ("COMPLETE" if whole else "PARTIAL")
            found = [cursor for cursor in _cursors_in(answer) if cursor not in seen]
            seen.update(found)
            asked += [{"cursor": cursor} for cursor in found if cursor != answer.get("range_receipt")]


async def _play(url: str, script: list[tuple[dict[str, Any], int | None]]) -> None:
    async with cache_on(url) as cache:
        spill_id = (await cache.put(PAYLOAD)).spill_id
        held: list[str] = []
        chains: dict[str, Chain] = {}
        for call, most in script:
            asked = _with_cursor(call, held)
            answer = await _call(cache, {"spill_id": spill_id, "max_bytes": most, **asked})
            held += _cursors_in(answer)
            _check(answer, asked, chains)


async def _call(cache: SpillCache, arguments: dict[str, Any]) -> dict[str, Any]:
    result = await answer_call(cache, arguments, options=OPTIONS, budget=BUDGET, full=4_000, tenant=None)
    answer: dict[str, Any] = json.loads(result["content"][0]["text"])
    assert result["isError"] == (answer["status"] == "FAILED")
    return answer


def _with_cursor(call: dict[str, Any], held: list[str]) -> dict[str, Any]:
    asked = dict(call)
    place = asked.pop("edited", None)
    at = asked.pop("held", None)
    if at is None or not held:
        return asked
    cursor = held[-1 - at % len(held)]
    if place is not None:
        cursor = cursor[:place] + ("A" if cursor[place] != "A" else "B") + cursor[place + 1 :]
    return asked | {"cursor": cursor}


def _cursors_in(answer: Any) -> Iterator[str]:
    if isinstance(answer, dict):
        for name, value in answer.items():
            if name in {"cursor", "next_cursor", "range_receipt"}:
                yield value
            yield from _cursors_in(value)
    elif isinstance(answer, list):
        for value in answer:
            yield from _cursors_in(value)


def _check(answer: dict[str, Any], asked: dict[str, Any], chains: dict[str, Chain]) -> Chain | None:
    """What holds of every answer; the chain that it belongs to, when it is a page. `chains` go by their cursors."""
    assert answer["status"] in {"COMPLETE", "PARTIAL", "FAILED"}
    if "chunk" not in answer:
        assert answer["status"] != "COMPLETE"
        return None
    view = answer.get("view", "raw")
    begin, end = map(int, answer["position"].partition("/")[0].split("-"))
    if view == "raw":
        assert answer["chunk"].encode() == PAYLOAD[begin:end]
    before = chains.get(asked.get("cursor", ""), Chain(view, begin, begin, ""))
    assert (before.view, before.end) == (view, begin)
    chain = Chain(view, before.start, end, before.text + answer["chunk"])
    if "next_cursor" in answer:
        chains[answer["next_cursor"]] = chain
    if answer["status"] == "COMPLETE":
        assert "next_cursor" not in answer
        assert ("receipt" in answer) == (view == "raw")
        assert (chain.start, chain.end) == (0, len(PAYLOAD))
        assert (chain.text if view == "raw" else expand(chain.text)).encode() == PAYLOAD
    return chain
