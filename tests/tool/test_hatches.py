"""The hatches through the tool: bounded on its wire, in the library's words, and never to be taken for the data."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from spillcache import SpillCache
from spillcache.demo import sample
from spillcache.errors import ArgumentsInvalid
from spillcache.tool.clients import KNOWN_LIMITS
from spillcache.tool.definition import ToolOptions
from tests.servers.caches import cache_on, metrics
from tests.tool.test_calls import JSON, RAW, STRUCTURED, bytes_of, call, read, walk
from tests.tool.test_rendering import STAMP

RENDERINGS = pytest.mark.parametrize("options", [JSON, RAW, STRUCTURED], ids=["json", "raw", "structured"])


@pytest.fixture
async def cache(redis_url: str) -> AsyncIterator[SpillCache]:
    """A cache on the session's server."""
    async with cache_on(redis_url) as opened:
        yield opened


@RENDERINGS
@pytest.mark.parametrize("budget", [2_500, 7_500])
async def test_matches_fit_the_budget_and_lead_to_what_they_matched(
    cache: SpillCache, options: ToolOptions, budget: int
) -> None:
    """As many as fit, of all that are counted; a walk from a match ends with what it did not read."""
    envelope = await cache.put(sample.payload())
    asked: dict[str, Any] = {"spill_id": envelope.spill_id, "pattern": '"instance":"([^"]+)"', "max_matches": 40}
    result = await call(cache, options, budget, **asked)
    assert len(orjson.dumps(STAMP | result)) <= budget
    answer = read(result, options)
    assert (result["isError"], answer["status"]) == (False, "PARTIAL")
    assert (
        0
        < answer["shown"]
        == len(answer["matches"])
        < answer["matches_total"]
        == sample.payload().count(b'"instance":"')
    )
    last = answer["matches"][-1]
    pages = await walk(cache, options, 48_000, spill_id=envelope.spill_id, cursor=last["cursor"])
    begin = int(pages[0]["position"].split("-")[0])
    place = int(last["bytes"].split("-")[0])
    assert begin <= place < begin + len(pages[0]["chunk"].encode())
    assert pages[-1]["unread"] == [[0, begin]]
    assert {page["status"] for page in pages} == {"PARTIAL"}


async def test_a_search_takes_its_options_as_models_write_them(cache: SpillCache) -> None:
    """Plain text, case, one result by number, and how much to show."""
    envelope = await cache.put(metrics())
    answer = read(await call(cache, spill_id=envelope.spill_id, pattern="QUERY", ignore_case="true", max_matches="2"))
    assert (answer["matches_total"], answer["shown"]) == (6, 2)
    assert read(await call(cache, spill_id=envelope.spill_id, pattern="query .", literal=True))["matches_total"] == 0
    assert read(await call(cache, spill_id=envelope.spill_id, pattern="query .", result=2))["matches_total"] == 1


async def test_options_mean_the_same_as_in_the_library(cache: SpillCache) -> None:
    """No context is one; no matches to show are refused; a blank is searched for."""
    envelope = await cache.put(metrics())
    bare = read(await call(cache, spill_id=envelope.spill_id, pattern="query 3", context=0))
    assert [match["text"] for match in bare["matches"]] == ["query 3"]
    assert read(await call(cache, spill_id=envelope.spill_id, pattern=" "))["matches_total"] == 6
    none = read(await call(cache, spill_id=envelope.spill_id, pattern="x", max_matches=0))
    assert (none["status"], none["code"]) == ("FAILED", "arguments_invalid")
    with pytest.raises(ArgumentsInvalid, match="max_matches"):
        await cache.grep(envelope.spill_id, "x", max_matches=0)


@RENDERINGS
@pytest.mark.parametrize("pattern", ["(?!x)", "(a", r"(a)\1", "x*", "a" * 1_001])
async def test_a_pattern_that_cannot_be_is_failed_and_never_no_match(
    cache: SpillCache, options: ToolOptions, pattern: str
) -> None:
    """With what to do instead."""
    envelope = await cache.put(metrics())
    result = await call(cache, options, spill_id=envelope.spill_id, pattern=pattern)
    answer = read(result, options)
    assert (result["isError"], answer["status"], answer["code"]) == (True, "FAILED", "pattern_invalid")
    assert answer["next_step"]


@RENDERINGS
async def test_a_full_read_is_a_page_of_the_cap_and_goes_on_as_one(cache: SpillCache, options: ToolOptions) -> None:
    """Larger than a page, at most the cap, PARTIAL; pages that follow its cursor bring the rest, to COMPLETE."""
    payload = metrics()
    envelope = await cache.put(payload)
    result = await call(cache, options, full=30_000, spill_id=envelope.spill_id, return_full=True)
    assert 20_000 < len(orjson.dumps(STAMP | result)) <= 30_000
    window = read(result, options)
    assert (window["status"], "receipt" in window) == ("PARTIAL", False)
    rest = await walk(cache, options, 7_500, spill_id=envelope.spill_id, cursor=window["next_cursor"])
    assert bytes_of([window, *rest]) == payload
    assert rest[-1]["status"] == "COMPLETE"


async def test_a_full_read_of_what_fits_is_complete(cache: SpillCache) -> None:
    """With its receipt."""
    payload = metrics(points=400)
    answer = read(await call(cache, spill_id=(await cache.put(payload)).spill_id, return_full=True))
    assert (answer["chunk"].encode(), answer["status"], answer["chunk_kind"]) == (payload, "COMPLETE", "json")


async def test_no_full_read_is_above_the_platforms_caps(cache: SpillCache) -> None:
    """Neither by the client's word nor by max_bytes, which only lowers."""
    envelope = await cache.put(metrics(points=9_000))
    for options, most in (
        (ToolOptions(full_bytes=20_000), 20_000),
        (ToolOptions(limits=KNOWN_LIMITS.extended({}, cap=9_000)), 9_000),
    ):
        for asked in (None, 10**9):
            result = await call(cache, options, spill_id=envelope.spill_id, return_full=True, max_bytes=asked)
            assert len(orjson.dumps(STAMP | result)) <= most
    small = await call(cache, spill_id=envelope.spill_id, return_full=True, max_bytes=3_000)
    assert len(orjson.dumps(STAMP | small)) <= 3_000


@RENDERINGS
async def test_series_are_listed_by_their_own_cursor(cache: SpillCache, options: ToolOptions) -> None:
    """Asked for once; each page within the budget, PARTIAL, and a table of contents by its own word."""
    envelope = await cache.put(sample.payload())
    arguments: dict[str, Any] = {"series": True}
    entries: list[Any] = []
    while arguments:
        result = await call(cache, options, 4_000, spill_id=envelope.spill_id, **arguments)
        assert len(orjson.dumps(STAMP | result)) <= 4_000
        answer = read(result, options)
        assert answer["status"] == "PARTIAL"
        entries += answer["entries"]
        arguments = {"cursor": answer["next_cursor"]} if "next_cursor" in answer else {}
    assert (answer["series_status"], len(entries)) == ("COMPLETE", 87)
    listed = (await cache.series(envelope.spill_id)).as_dict()["entries"]
    assert _without_cursors(entries) == _without_cursors(listed)
    of_one = read(await call(cache, options, spill_id=envelope.spill_id, series=True, result=2), options)
    assert {entry["result"] for entry in of_one["entries"]} == {2}


@RENDERINGS
async def test_a_compact_walk_names_its_view_to_the_end(cache: SpillCache, options: ToolOptions) -> None:
    """Fewer pages than the raw walk, each within the budget, COMPLETE without a receipt of the raw bytes."""
    envelope = await cache.put(sample.payload())
    compact = await walk(cache, options, 7_500, spill_id=envelope.spill_id, view="compact")
    raw = await walk(cache, options, 7_500, spill_id=envelope.spill_id)
    assert {page["view"] for page in compact} == {"compact"}
    assert (compact[-1]["status"], "receipt" in compact[-1]) == ("COMPLETE", False)
    assert len(compact) < len(raw) * 0.7
    first = compact[0]["next_cursor"]
    unsaid = read(await call(cache, options, spill_id=envelope.spill_id, cursor=first), options)
    assert unsaid["chunk"] == compact[1]["chunk"]


async def test_the_same_words_on_the_tool_and_in_the_library(cache: SpillCache) -> None:
    """One place makes them; the tool only renders."""
    envelope = await cache.put(sample.payload())
    spill_id, wire = envelope.spill_id, JSON.wire
    for arguments, answer in (
        ({"return_full": True}, await cache.full(spill_id, wire=wire)),
        ({"series": True}, await cache.series(spill_id, budget=7_500, wire=wire)),
        ({"pattern": "idle"}, await cache.grep(spill_id, "idle", budget=7_500, wire=wire)),
        ({"view": "compact"}, await cache.page(spill_id, view="compact", budget=7_500, wire=wire)),
    ):
        told = read(await call(cache, spill_id=spill_id, **arguments))
        assert _without_cursors(told) == _without_cursors(answer.as_dict())


def _without_cursors(answer: Any) -> Any:
    """Cursors name their walk, and each walk has a number of its own."""

    def stripped(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: stripped(one) for name, one in value.items() if name not in {"cursor", "next_cursor"}}
        return [stripped(one) for one in value] if isinstance(value, list) else value

    return stripped(json.loads(orjson.dumps(answer)))
