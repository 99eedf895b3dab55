"""The compact view, page by page: all values, positions and cursors of its own, and no receipt."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator

import pytest
import redis
from hypothesis import example, given, settings

from spillcache import MCP, PLAIN, Page, SpillCache
from spillcache.compact import expand
from spillcache.demo import sample
from spillcache.errors import ArgumentsInvalid, BudgetTooSmall, SpillLost
from spillcache.frame import SEGMENT_BYTES
from spillcache.page import View
from spillcache.wire import Wire
from tests.compact.walking import squeezed
from tests.series.spellings import TIMES, VALUES, is_time, is_value, samples_in_every_place
from tests.servers.caches import cache_on, key_of, sync_cache_on
from tests.servers.proxy import proxy
from tests.strategies import WIRES

COMPACT: View = "compact"


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


async def _walk(
    cache: SpillCache, spill_id: str, budget: int, wire: Wire = MCP, result: int | None = None
) -> list[Page]:
    return [page async for page in cache.walk(spill_id, result=result, view=COMPACT, budget=budget, wire=wire)]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_walk_serves_every_value_and_says_where_it_is(cache: SpillCache, wire: Wire) -> None:
    """The pages put together read back to the very bytes; positions join; each fits; only the last is COMPLETE."""
    payload = sample.payload()
    spill_id = (await cache.put(payload)).spill_id
    for budget in (3_000, 7_500):
        pages = await _walk(cache, spill_id, budget, wire)
        assert expand("".join(page.chunk for page in pages)).encode() == payload
        assert [page.start for page in pages] == [0, *(page.end for page in pages[:-1])]
        assert pages[-1].end == len(payload)
        assert [page.status for page in pages] == ["PARTIAL"] * (len(pages) - 1) + ["COMPLETE"]
        assert all(wire.size(page.as_dict()) <= budget for page in pages)
        assert {page.receipt for page in pages} == {None}
        assert [page.range_receipt is not None for page in pages] == [False] * (len(pages) - 1) + [True]
        assert {page.as_dict()["view"] for page in pages} == {"compact"}


async def test_the_first_page_says_how_to_read_it_and_later_ones_where_they_are(cache: SpillCache) -> None:
    """The legend comes once; a page that begins within a series names it, before its text."""
    spill_id = (await cache.put(sample.payload())).spill_id
    pages = await _walk(cache, spill_id, 3_000)
    assert list(pages[0].as_dict())[:5] == ["position", "inventory", "view", "legend", "chunk_kind"]
    assert [page.legend is not None for page in pages] == [True] + [False] * (len(pages) - 1)
    inside = [page for page in pages if page.chunk.startswith("<")]
    assert inside
    listed = (await cache.series(spill_id)).entries
    for page in inside:
        assert page.inside is not None
        entry = listed[page.inside["series"] - 1]
        assert entry.start < page.start < entry.end
        assert page.inside["labels"] == entry.labels


async def test_one_result_ends_with_its_own_status(cache: SpillCache) -> None:
    """The whole stays PARTIAL, and cursors stay inside the result."""
    payload = sample.payload()
    spill_id = (await cache.put(payload)).spill_id
    entry = (await cache.inventory(spill_id)).entries[2]
    pages = await _walk(cache, spill_id, 3_000, result=3)
    assert expand("".join(page.chunk for page in pages)).encode() == payload[entry.start : entry.end]
    assert (pages[-1].status, pages[-1].result_status) == ("PARTIAL", "COMPLETE")
    assert {page.status for page in pages} == {"PARTIAL"}
    assert {page.result_status for page in pages[:-1]} == {None}


async def test_a_page_can_be_read_again_and_its_cursor_needs_no_view(cache: SpillCache) -> None:
    """The same cursor and budget give the same page; a cursor knows what it continues."""
    spill_id = (await cache.put(sample.payload())).spill_id
    first = await cache.page(spill_id, view=COMPACT)
    second = await cache.page(spill_id, cursor=first.next_cursor)
    assert second == await cache.page(spill_id, cursor=first.next_cursor, view=COMPACT)
    assert second.view == "compact"
    smaller = await cache.page(spill_id, cursor=first.next_cursor, budget=2_000)
    assert smaller.start == second.start
    assert smaller.end < second.end


async def test_views_are_not_mixed(cache: SpillCache) -> None:
    """A raw cursor does not become a compact one, nor does a compact page pass for the payload's bytes."""
    spill_id = (await cache.put(sample.payload())).spill_id
    raw, page = await cache.page(spill_id), await cache.page(spill_id, view=COMPACT)
    with pytest.raises(ArgumentsInvalid, match="another view"):
        await cache.page(spill_id, cursor=raw.next_cursor, view=COMPACT)
    with pytest.raises(ArgumentsInvalid, match="compact view"):
        await cache.full(spill_id, cursor=page.next_cursor)
    with pytest.raises(ArgumentsInvalid, match="not hold"):
        _ = page.data
    with pytest.raises(ArgumentsInvalid, match="not hold"):
        page.shrink(page.chunk[:100])
    pages = await _walk(cache, spill_id, 48_000)
    with pytest.raises(ArgumentsInvalid, match="ended"):
        await cache.page(spill_id, cursor=pages[-1].range_receipt)
    with pytest.raises(ArgumentsInvalid, match="must be"):
        await cache.page(spill_id, view="tabular")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "payload", [b'{"data":[1,2,3]}', b"", b"\xff\x00", b'[{"a":1},{"a":2}]', b"log line\n" * 2_000]
)
async def test_what_has_no_series_is_to_be_read_as_it_is(cache: SpillCache, payload: bytes) -> None:
    """The error says so: nothing would be shorter."""
    spill_id = (await cache.put(payload)).spill_id
    with pytest.raises(ArgumentsInvalid, match="no time series") as refused:
        await cache.page(spill_id, view=COMPACT)
    assert "page by page" in refused.value.next_step


async def test_a_table_that_went_missing_is_a_loss(cache: SpillCache, redis_url: str, admin: redis.Redis) -> None:
    """On the first page as midway, in a process that does not remember it: it is not as if there had been none."""
    spill_id = (await cache.put(sample.payload())).spill_id
    first = await cache.page(spill_id, view=COMPACT)
    admin.hdel(key_of(spill_id, 0), "series")
    async with cache_on(redis_url) as other:
        for cursor in (None, first.next_cursor):
            with pytest.raises(SpillLost, match="table of series"):
                await other.page(spill_id, cursor=cursor, view=COMPACT)


async def test_the_table_is_fetched_once_for_a_walk_and_the_summary_must_be_there(
    redis_url: str, admin: redis.Redis
) -> None:
    """A page of the view is one command, like any page; a summary that is gone is a loss, like anywhere."""
    with proxy(redis_url) as between:
        async with cache_on(between.url) as cache:
            spill_id = (await cache.put(sample.payload())).spill_id
            page = await cache.page(spill_id, view=COMPACT)
            between.watch()
            pages = 0
            while page.next_cursor is not None:
                page = await cache.page(spill_id, cursor=page.next_cursor)
                pages += 1
            assert between.names == ["HMGET"] * pages
            admin.hdel(key_of(spill_id, 0), "meta")
            with pytest.raises(SpillLost, match="summary"):
                await cache.page(spill_id, view=COMPACT)


_LINE = '{"metric":{"a":"1"},"values":[[1700000000,"5"],[1700000010,"6"]]}'


@pytest.mark.parametrize(
    "odd",
    [
        '{"metric":{a=1},"values":<1700000000: 5; 1700000010: 7>}',
        '{"metric":{"a":"1},"values":[]}',
        '{"x"metric":{"a":"b"},"values":[[1,"5"]]}',
        "<1: 2>",
    ],
)
@pytest.mark.parametrize("joint", ["\n", ","])
async def test_what_is_not_json_to_its_end_has_no_compact_view(cache: SpillCache, odd: str, joint: str) -> None:
    """Its own text could read as the view's, so that two payloads would have one text."""
    text = joint.join([_LINE, _LINE, odd, _LINE])
    spill_id = (await cache.put(text if joint == "\n" else f"[{text}]")).spill_id
    with pytest.raises(ArgumentsInvalid, match=r"well-formed|no time series") as refused:
        await cache.page(spill_id, view=COMPACT)
    assert "without view" in refused.value.next_step
    assert (await cache.series(spill_id)).series_status == "PARTIAL"


async def test_beyond_the_window_nothing_is_written_short(redis_url: str) -> None:
    """What was not looked at may be anything; results within it can be read."""
    payload = sample.payload()
    async with cache_on(redis_url, scan_window_bytes=len(payload) - 10) as cache:
        spill_id = (await cache.put(payload)).spill_id
        with pytest.raises(ArgumentsInvalid, match="well-formed"):
            await cache.page(spill_id, view=COMPACT)
        assert (await cache.page(spill_id, view=COMPACT, result=1)).view == "compact"


async def test_a_walk_goes_on_over_the_edges_of_segments(cache: SpillCache) -> None:
    """Samples that lie across a segment's edge are whole, and so is everything else."""
    one = sample.payload()
    payload = b'{"results":[%b]}' % b",".join([one] * (SEGMENT_BYTES // len(one) + 2))
    spill_id = (await cache.put(payload)).spill_id
    pages = await _walk(cache, spill_id, 48_000, PLAIN)
    assert expand("".join(page.chunk for page in pages)).encode() == payload
    assert pages[-1].status == "COMPLETE"


async def test_the_edge_of_a_segment_may_fall_anywhere(cache: SpillCache) -> None:
    """Within labels, a time, a value, or a multi-byte character."""
    series = json.dumps(
        {
            "metric": {"né": "漢字 x", "job": "é" * 40},
            "values": [[1796040099.122 + 6 * n, f"0.{n}"] for n in range(40)],
        },
        separators=(",", ":"),
        ensure_ascii=False,
    ).encode()
    for shift in range(0, len(series), 97):
        head = b'{"pad":"%b","data":[' % (b"x" * (SEGMENT_BYTES - 20 - shift))
        payload = b"%b%b,%b]}" % (head, series, series)
        spill_id = (await cache.put(payload)).spill_id
        last = [page async for page in cache.walk(spill_id, result=1, view=COMPACT, budget=2_000)]
        assert expand("".join(page.chunk for page in last)).encode() == series
        await cache.delete(spill_id)


@pytest.mark.parametrize("budget", [10, 500, 700])
async def test_a_budget_that_holds_nothing_says_what_would(cache: SpillCache, budget: int) -> None:
    """The one that is named works."""
    spill_id = (await cache.put(sample.payload())).spill_id
    with pytest.raises(BudgetTooSmall) as refused:
        await cache.page(spill_id, view=COMPACT, budget=budget, wire=MCP)
    assert (await cache.page(spill_id, view=COMPACT, budget=refused.value.minimum, wire=MCP)).chunk


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("labels", [{"path": "/api/v1" * 264}, {"a b": "é" * 900}, {"k": "a b=" * 300, "q": '"' * 500}])
async def test_labels_as_long_as_a_page_are_served_within_every_budget(
    cache: SpillCache, wire: Wire, labels: dict[str, str]
) -> None:
    """Every value, whatever the budget; where it is too small, the one that is named is not."""
    one = json.dumps(
        {"metric": labels, "values": [[10 * n, str(n)] for n in range(30)]}, separators=(",", ":"), ensure_ascii=False
    )
    payload = f"[{','.join([one] * 3)}]".encode()
    spill_id = (await cache.put(payload)).spill_id
    for budget in (100, 700, 900, 1_100, 1_343, 1_424, 1_600, 2_000, 2_400, 5_000):
        pages = await _walk_with_at_least(cache, spill_id, budget, wire)
        assert expand("".join(page.chunk for page in pages)).encode() == payload
        assert pages[-1].status == "COMPLETE"


async def _walk_with_at_least(cache: SpillCache, spill_id: str, budget: int, wire: Wire) -> list[Page]:
    """A walk; a page for which the budget is too small gets the one that the refusal names, and no more."""
    pages: list[Page] = []
    cursor = None
    while not pages or cursor is not None:
        try:
            page = await cache.page(spill_id, cursor=cursor, view=COMPACT, budget=budget, wire=wire)
        except BudgetTooSmall as refused:
            least = refused.minimum
            assert least > budget
            page = await cache.page(spill_id, cursor=cursor, view=COMPACT, budget=least, wire=wire)
        pages.append(page)
        cursor = page.next_cursor
    return pages


@given(TIMES, VALUES)
@example("1", "nan")
@example("1", "-nan")
@example("1", "1.2.3")
@settings(max_examples=25)
def test_whatever_a_sample_is_its_walk_ends_complete(redis_url: str, time: str, value: str) -> None:
    """Wherever it stands among others; or there is no such view, from page 1 on."""
    with sync_cache_on(redis_url) as cache:
        for document in samples_in_every_place(time, value):
            spill_id = cache.put(document).spill_id
            if not cache.series(spill_id).series:
                assert not (is_time(time) and is_value(value))
                with pytest.raises(ArgumentsInvalid, match="no time series"):
                    cache.page(spill_id, view=COMPACT)
                continue
            pages = list(cache.walk(spill_id, view=COMPACT, budget=2_500))
            assert pages[-1].status == "COMPLETE"
            assert squeezed(expand("".join(page.chunk for page in pages))) == squeezed(document)
