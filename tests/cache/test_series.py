"""The list of series: numbers derived at write time, page by page, never called the data."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import replace

import pytest
import redis

from spillcache import MCP, SpillCache
from spillcache.demo import sample
from spillcache.errors import ArgumentsInvalid, BudgetTooSmall, CursorRejected, ResultNotFound, SpillLost
from spillcache.series_listing import SeriesEntry, SeriesListing
from tests.servers.caches import cache_on, key_of, noise


@pytest.fixture
async def cache(redis_url: str) -> AsyncIterator[SpillCache]:
    """A cache on a server that works."""
    async with cache_on(redis_url) as made:
        yield made


@pytest.fixture
def admin(redis_url: str) -> Iterator[redis.Redis]:
    """Somebody who deletes what is not theirs."""
    with redis.Redis.from_url(redis_url, protocol=2) as client:
        yield client


async def _listed(cache: SpillCache, spill_id: str, budget: int, result: int | None = None) -> list[SeriesListing]:
    pages = [await cache.series(spill_id, result=result, budget=budget, wire=MCP)]
    while pages[-1].next_cursor is not None:
        pages.append(await cache.series(spill_id, cursor=pages[-1].next_cursor, budget=budget, wire=MCP))
    return pages


def _without_cursors(entries: Iterable[SeriesEntry]) -> list[SeriesEntry]:
    """Entries alone: their cursors are of a new walk in each list."""
    return [replace(entry, cursor="") for entry in entries]


async def test_every_series_of_the_batch_is_listed_with_its_numbers(cache: SpillCache) -> None:
    """In order, in the payload's spelling, with the result to read; each page fits and says what it is."""
    payload = sample.payload()
    spill_id = (await cache.put(payload)).spill_id
    pages = await _listed(cache, spill_id, 7_500)
    entries = [entry for page in pages for entry in page.entries]
    results = json.loads(payload)["results"]
    series = [(number, one) for number, result in enumerate(results, 1) for one in result["result"]]
    assert [entry.index for entry in entries] == list(range(1, len(series) + 1))
    for entry, (number, one) in zip(entries, series, strict=True):
        assert (entry.result, entry.points) == (number, len(one["values"]))
        assert entry.last == one["values"][-1][1]
        assert payload[entry.start : entry.end] == json.dumps(one, separators=(",", ":")).encode()
    for page in pages:
        answer = page.as_dict()
        assert MCP.size(answer) <= 7_500
        assert answer["status"] == "PARTIAL"
        assert "not the data" in answer["note"]
        assert list(answer)[:3] == ["note", "size_bytes", "series"]
    assert [page.series_status for page in pages] == ["PARTIAL"] * (len(pages) - 1) + ["COMPLETE"]
    assert _without_cursors((await cache.series(spill_id)).entries) == _without_cursors(entries)


async def test_the_series_of_one_result_are_its_own(cache: SpillCache) -> None:
    """Their cursors stay inside it."""
    spill_id = (await cache.put(sample.payload())).spill_id
    whole = (await cache.series(spill_id)).entries
    pages = await _listed(cache, spill_id, 2_500, result=1)
    entries = [entry for page in pages for entry in page.entries]
    assert len(pages) > 1
    assert _without_cursors(entries) == _without_cursors(entry for entry in whole if entry.result == 1)
    assert pages[0].series == len(entries)
    with pytest.raises(ResultNotFound):
        await cache.series(spill_id, result=99)
    with pytest.raises(ArgumentsInvalid, match="another walk"):
        await cache.series(spill_id, result=2, cursor=pages[0].next_cursor)


async def test_the_values_of_one_series_are_a_call_away(cache: SpillCache) -> None:
    """Its cursor reads it to its end, and says what that left unread."""
    payload = sample.payload()
    spill_id = (await cache.put(payload)).spill_id
    entry = max((await cache.series(spill_id)).entries, key=lambda one: one.points)
    pages = [page async for page in cache.walk(spill_id, cursor=entry.cursor)]
    assert b"".join(page.data for page in pages) == payload[entry.start : entry.end]
    assert {page.status for page in pages} == {"PARTIAL"}
    assert pages[-1].unread == ((0, entry.start), (entry.end, len(payload)))


async def test_no_series_known_is_not_no_series_there(cache: SpillCache, admin: redis.Redis) -> None:
    """What has none, what was looked at in part, and what an older release stored are told apart."""
    none = await cache.series((await cache.put(b'{"data":[1,2,3]}')).spill_id)
    assert (none.series, none.series_status, none.as_dict()["status"]) == (0, "COMPLETE", "PARTIAL")
    assert "says nothing of the data" in none.as_dict()["note"]
    for payload in (noise(2_000), b"time,value\n1,2\n" * 50, b"# TYPE up gauge\nup 1\n" * 50):
        other = await cache.series((await cache.put(payload)).spill_id)
        assert (other.series, other.partial, other.series_status) == (0, ("unrecognised",), "PARTIAL")
        assert "series" not in other.as_dict()
    spill_id = (await cache.put(sample.payload())).spill_id
    admin.hdel(key_of(spill_id, 0), "series")
    with pytest.raises(SpillLost, match="table of series"):
        await cache.series(spill_id)


async def test_what_looks_like_series_and_is_not_understood_is_said(cache: SpillCache) -> None:
    """No list is COMPLETE that left some out, and no number says that there are none."""
    histogram = '{"metric":{"pod":"h"},"histograms":[[1,{"count":"5"}]]}'
    alone = await cache.series((await cache.put(f"[{histogram}]")).spill_id)
    assert (alone.series, alone.series_status) == (0, "PARTIAL")
    assert "series" not in alone.as_dict()
    assert "not all was understood" in alone.as_dict()["note"]
    both = await cache.series((await cache.put(f'[{{"metric":{{"a":"b"}},"values":[[1,"2"]]}},{histogram}]')).spill_id)
    assert (both.series, both.partial, both.series_status) == (1, ("unrecognised",), "PARTIAL")
    assert "There may be more" in both.as_dict()["note"]


_ONE = '{"metric":{"a":"b"},"values":[[1,"2"]]}'
_VECTOR = '{"metric":{"a":"b"},"value":[1,"2"]}'


@pytest.mark.parametrize("one", [_ONE, _VECTOR])
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        '{"status":"success","data":{"result":[%s,%s',
        '{"status":"success","data":{"result":[%s,%s,',
        '{"status":"success","data":{"result":[%s,%s]',
        '{"status":"success","data":{"result":[%s,%s]}',
        "[%s,%s",
    ],
)
async def test_what_is_cut_off_behind_a_whole_element_is_not_all(
    cache: SpillCache, one: str, streamed: bool, text: str
) -> None:
    """What was found is listed; that more may have followed is said by the word that the inventory has for it."""
    spill_id = await _stored(cache, text % (one, one), streamed=streamed)
    listing = await cache.series(spill_id)
    assert (listing.series, len(listing.entries)) == (2, 2)
    assert "truncated" in listing.partial
    assert listing.as_dict()["series_status"] == "PARTIAL"
    assert "There may be more" in listing.as_dict()["note"]
    whole = await cache.series(await _stored(cache, f"[{one},{one}]", streamed=streamed))
    assert (whole.partial, whole.series_status) == ((), "COMPLETE")


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_line_that_is_cut_off_among_whole_ones_is_not_all(cache: SpillCache, streamed: bool) -> None:
    """Lines of JSON of which one lacks its end."""
    spill_id = await _stored(cache, "\n".join([_ONE, _ONE, _ONE[:-1], _ONE]), streamed=streamed)
    listing = await cache.series(spill_id)
    assert listing.series is not None
    assert listing.series >= 3
    assert "malformed" in listing.partial
    assert listing.series_status == "PARTIAL"
    whole = await cache.series(await _stored(cache, "\n".join([_ONE] * 4), streamed=streamed))
    assert (whole.series, whole.partial, whole.series_status) == (4, (), "COMPLETE")


@pytest.mark.parametrize("sample", ['[1,"10.0.0.1"]', '[1,"2024-01-01"]', '[1,"-"]', '[1,"e"]', '[01,"1"]'])
async def test_a_sample_that_is_none_is_left_out_and_said_to_be(cache: SpillCache, sample: str) -> None:
    """Alone, and in a vector."""
    odd = _VECTOR.replace('[1,"2"]', sample)
    for text, series in ((odd, 0), (f"[{_VECTOR},{odd},{_VECTOR}]", 2)):
        listing = await cache.series((await cache.put(text)).spill_id)
        assert listing.series == series
        assert "unrecognised" in listing.partial
        assert listing.series_status == "PARTIAL"


async def _stored(cache: SpillCache, text: str, *, streamed: bool) -> str:
    """The id of a payload that came at once, or in pieces."""
    if not streamed:
        return (await cache.put(text)).spill_id
    async with cache.writer() as writer:
        for start in range(0, len(text), 10):
            await writer.write(text[start : start + 10].encode())
        return (await writer.finish()).spill_id


async def test_labels_too_long_to_be_listed_are_not_as_if_there_were_none(cache: SpillCache) -> None:
    """The entry says that they are left out."""
    series = [{"metric": {"a": "x" * size}, "values": [[1, "2"]]} for size in (3_000, 10)] + [
        {"metric": {}, "values": [[1, "2"]]}
    ]
    entries = (await cache.series((await cache.put(json.dumps(series))).spill_id)).entries
    answers = [entry.as_dict() for entry in entries]
    assert [answer.get("labels_omitted") for answer in answers] == [True, None, None]
    assert [answer.get("labels") for answer in answers] == [None, "{a=xxxxxxxxxx}", "{}"]


async def test_a_stream_is_told_as_far_as_its_window(redis_url: str) -> None:
    """Beyond it there may be more, and the list says so."""
    payload = sample.payload()
    async with cache_on(redis_url, stream_window_bytes=100_000) as cache:
        async with cache.writer() as writer:
            for start in range(0, len(payload), 10_000):
                await writer.write(payload[start : start + 10_000])
            spill_id = (await writer.finish()).spill_id
        listing = await cache.series(spill_id)
    assert listing.partial == ("window",)
    assert listing.series_status == "PARTIAL"
    assert 0 < len(listing.entries) < 87
    assert all(entry.end <= 100_000 for entry in listing.entries)


async def test_a_stream_within_its_window_is_told_whole(cache: SpillCache) -> None:
    """As a payload that came at once is."""
    payload = sample.payload()
    async with cache.writer() as writer:
        await writer.write(payload)
        streamed = (await writer.finish()).spill_id
    at_once = (await cache.put(payload)).spill_id
    one, other = [_without_cursors((await cache.series(spill_id)).entries) for spill_id in (streamed, at_once)]
    assert one == other


async def test_a_cursor_of_another_list_or_spill_is_refused(cache: SpillCache) -> None:
    """Never the wrong entries."""
    spill_id = (await cache.put(sample.payload())).spill_id
    other = (await cache.put(sample.payload())).spill_id
    listing = await cache.series(spill_id, budget=2_000)
    page = await cache.page(spill_id)
    with pytest.raises(ArgumentsInvalid, match="not the list of series"):
        await cache.series(spill_id, cursor=page.next_cursor)
    with pytest.raises(ArgumentsInvalid, match="series: true"):
        await cache.page(spill_id, cursor=listing.next_cursor)
    with pytest.raises(CursorRejected):
        await cache.series(other, cursor=listing.next_cursor)
    with pytest.raises(BudgetTooSmall) as refused:
        await cache.series(spill_id, budget=300)
    assert (await cache.series(spill_id, budget=refused.value.minimum)).entries


async def test_who_does_not_want_them_stores_none_and_is_told_so(redis_url: str) -> None:
    """At hand and streamed: the list says that there is no table, not that there are no series."""
    payload = sample.payload()
    async with cache_on(redis_url, series=False) as bare:
        async with bare.writer() as writer:
            await writer.write(payload)
            streamed = await writer.finish()
        for spill_id in ((await bare.put(payload)).spill_id, streamed.spill_id):
            listing = await bare.series(spill_id)
            assert listing.entries == ()
            assert "stored without a table of series" in listing.as_dict()["note"]
            with pytest.raises(ArgumentsInvalid, match="without a table"):
                await bare.page(spill_id, view="compact")
