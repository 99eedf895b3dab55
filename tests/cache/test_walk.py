"""Walks over a real server: page after page, by cursor, by result, again and again."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spillcache import Keyring, SpillError
from spillcache.errors import (
    ArgumentsInvalid,
    CursorKeyUnknown,
    CursorMalformed,
    CursorRejected,
    ResultAmbiguous,
    ResultNotFound,
    SpillIdMalformed,
    SpillNotFound,
)
from spillcache.sync import SpillCache
from spillcache.wire import Wire
from tests.servers.caches import cache_on, metrics, sync_cache_on
from tests.strategies import WIRES, budgets, payloads, wires

PAYLOAD = metrics(results=6, points=300)
FIELDS = ("position", "inventory", "chunk_kind", "chunk", "status", "result_status", "unread", "next_cursor", "receipt")


@pytest.fixture
def cache(redis_url: str) -> Iterator[SpillCache]:
    """A cache without asyncio, on the session's server."""
    with sync_cache_on(redis_url) as made:
        yield made


@pytest.fixture
def spill_id(cache: SpillCache) -> str:
    """A stored batch of six results."""
    return cache.put(PAYLOAD).spill_id


@settings(max_examples=40)
@given(payload=payloads, wire=wires, data=st.data())
def test_what_was_put_is_what_pages_hold(cache: SpillCache, payload: bytes, wire: Wire, data: st.DataObject) -> None:
    """For every payload and wire, with a budget that changes from page to page."""
    stored = cache.put(payload).spill_id
    parts: list[bytes] = []
    cursor, position = None, 0
    while True:
        budget = data.draw(budgets(wire)) if len(parts) < 4 else 48_000
        page = cache.page(stored, cursor=cursor, budget=budget, wire=wire)
        answer = page.as_dict()
        assert wire.size(answer) <= budget
        assert list(answer) == [name for name in FIELDS if name in answer]
        assert None not in answer.values()
        assert page.start == position
        parts.append(page.data)
        cursor, position = page.next_cursor, page.end
        if cursor is None:
            break
        assert page.data
    assert b"".join(parts) == payload
    assert page.status == "COMPLETE"
    assert cache.fetch(stored) == payload
    assert cache.stat(stored).sha256 == hashlib.sha256(payload).hexdigest()


async def test_an_asynchronous_walk_is_the_same_walk(redis_url: str) -> None:
    """Both sides serve the same pages of the same spill."""
    async with cache_on(redis_url) as cache:
        envelope = await cache.put(PAYLOAD)
        pages = [page async for page in cache.walk(envelope.spill_id)]
        assert b"".join(page.data for page in pages) == PAYLOAD
    with sync_cache_on(redis_url) as other:
        assert [page.chunk for page in other.walk(envelope.spill_id)] == [page.chunk for page in pages]


def test_page_one_shows_the_inventory_and_no_other_page_does(cache: SpillCache, spill_id: str) -> None:
    """It begins with what there is; after that a page's room is the payload's."""
    pages = list(cache.walk(spill_id))
    assert pages[0].as_dict()["inventory"] == {"results": 6, "result_names": [f"query {n}" for n in range(6)]}
    assert all("inventory" not in page.as_dict() for page in pages[1:])


def test_a_cursor_read_again_gives_the_same_answer_to_the_byte(cache: SpillCache, spill_id: str) -> None:
    """Every page of the walk, the last with its receipt included; page 1 in all but its new walk's cursor."""
    pages = list(cache.walk(spill_id))
    for page, following in itertools.pairwise(pages):
        again = cache.page(spill_id, cursor=page.next_cursor)
        assert json.dumps(again.as_dict()) == json.dumps(following.as_dict())
    first = cache.page(spill_id).as_dict()
    assert {**first, "next_cursor": ""} == {**pages[0].as_dict(), "next_cursor": ""}


def test_walks_do_not_disturb_one_another(cache: SpillCache, spill_id: str) -> None:
    """Several walks, interleaved, at different budgets, each serve everything once."""
    walks = [cache.walk(spill_id, budget=budget) for budget in (1_500, 7_500, 48_000)]
    served: list[list[bytes]] = [[] for _ in walks]
    waiting = list(range(len(walks)))
    while waiting:
        for number in list(waiting):
            page = next(walks[number], None)
            if page is None:
                waiting.remove(number)
            else:
                served[number].append(page.data)
    assert [b"".join(parts) for parts in served] == [PAYLOAD] * 3


@pytest.mark.parametrize("cursor", [None, "", " ", "\t\r\n", '""', "``"])
def test_a_blank_cursor_is_page_one(cache: SpillCache, spill_id: str, cursor: str | None) -> None:
    """What an agent sends for "none yet" starts the walk."""
    assert cache.page(spill_id, cursor=cursor).start == 0


@pytest.mark.parametrize("cursor", ["0", "1", "start", "null", "None", "first", "{}", "next_cursor", "a" * 40 + "é"])
def test_an_invented_cursor_is_never_page_one(cache: SpillCache, spill_id: str, cursor: str) -> None:
    """It is an error that says how to start over."""
    with pytest.raises(CursorMalformed) as error:
        cache.page(spill_id, cursor=cursor)
    assert "Start over" in error.value.next_step


@settings(max_examples=30)
@given(data=st.data())
def test_an_altered_cursor_serves_nothing(cache: SpillCache, data: st.DataObject) -> None:
    """One character changed, dropped, doubled or inserted: a typed error, never a page."""
    stored = cache.put(PAYLOAD).spill_id
    cursor = cache.page(stored).next_cursor
    assert cursor is not None
    place = data.draw(st.integers(0, len(cursor) - 1))
    letter = data.draw(st.characters(codec="utf-8").filter(lambda one: one != cursor[place]))
    for changed in (
        cursor[:place] + letter + cursor[place + 1 :],
        cursor[:place] + cursor[place + 1 :],
        cursor[:place] + letter + cursor[place:],
        cursor + letter,
    ):
        if changed.strip(" \t\r\n\f\v'\"`") != cursor:
            with pytest.raises(SpillError, match=r"cursor"):
                cache.page(stored, cursor=changed)


def test_a_cursor_serves_its_own_spill_only(cache: SpillCache, spill_id: str) -> None:
    """With an identical payload under another id it is rejected, and the reason is said."""
    other = cache.put(PAYLOAD).spill_id
    with pytest.raises(CursorRejected, match="another spill"):
        cache.page(other, cursor=cache.page(spill_id).next_cursor)


def test_a_tenant_reads_its_own_spills_only(cache: SpillCache) -> None:
    """To another tenant a spill is not there, with or without a cursor, by every verb."""
    mine = cache.put(PAYLOAD, tenant="acme").spill_id
    cursor = cache.page(mine, tenant="acme").next_cursor
    for tenant in ("default", "acm", "acme "):
        for read in (cache.page, cache.inventory, cache.fetch, cache.stat, cache.delete):
            with pytest.raises(SpillNotFound):
                read(mine, tenant=tenant)
        with pytest.raises(CursorRejected):
            cache.page(mine, cursor=cursor, tenant=tenant)
    assert cache.fetch(mine, tenant="acme") == PAYLOAD


def test_cursors_go_on_through_a_key_rotation(redis_url: str) -> None:
    """A walk that began under the old key ends under the new one; when the old one is gone, it is refused."""
    old, new = os.urandom(32), os.urandom(32)
    rings = [Keyring({"a": old}, sign="a"), Keyring({"a": old, "b": new}, sign="b"), Keyring({"b": new}, sign="b")]
    before, during, after = (SpillCache.from_url(redis_url, keyring=ring) for ring in rings)
    with before, during, after:
        stored = before.put(PAYLOAD).spill_id
        first = before.page(stored, budget=1_500)
        rest = list(during.walk(stored, cursor=first.next_cursor))
        assert first.data + b"".join(page.data for page in rest) == PAYLOAD
        assert rest[-1].status == "COMPLETE"
        with pytest.raises(CursorKeyUnknown):
            after.page(stored, cursor=first.next_cursor)
        assert after.page(stored, cursor=rest[0].next_cursor).start == rest[0].end


def test_an_id_s_case_does_not_matter_and_its_letters_do(cache: SpillCache, spill_id: str) -> None:
    """Upper-cased it reads; shortened or mistyped it is malformed; well-formed but unknown it is not found."""
    assert cache.page(spill_id.upper()).spill_id == spill_id
    cursor = cache.page(spill_id.upper()).next_cursor
    assert cache.page(f" `{spill_id.title()}` ", cursor=cursor).start > 0
    for wrong in (spill_id[:-8], spill_id[::-1], "start", "", "{spill_id}"):
        with pytest.raises(SpillIdMalformed):
            cache.page(wrong)
    cache.delete(spill_id)
    with pytest.raises(SpillNotFound):
        cache.page(spill_id)


@pytest.mark.parametrize("wanted", ["query 4", 5, "5"])
def test_one_result_by_name_or_number(cache: SpillCache, spill_id: str, wanted: str | int) -> None:
    """Its walk stays inside it, also when the name is sent along with the cursor."""
    entry = cache.inventory(spill_id).entries[4]
    page = cache.page(spill_id, result=wanted, budget=1_500)
    parts = [page.data]
    while page.next_cursor is not None:
        page = cache.page(spill_id, cursor=page.next_cursor, result=wanted, budget=1_500)
        parts.append(page.data)
    assert b"".join(parts) == PAYLOAD[entry.start : entry.end]
    assert (page.status, page.result_status, page.receipt) == ("PARTIAL", "COMPLETE", None)


def test_a_cursor_of_another_walk_is_not_read_as_a_result(cache: SpillCache, spill_id: str) -> None:
    """Sent with a result's name, a cursor of the whole walk, or of another result, is refused."""
    whole = cache.page(spill_id, budget=1_500).next_cursor
    other = cache.page(spill_id, result="query 1", budget=1_500).next_cursor
    for cursor in (whole, other):
        with pytest.raises(ArgumentsInvalid):
            cache.page(spill_id, cursor=cursor, result="query 2")


def test_cursors_of_pages_and_of_the_inventory_are_not_mixed_up(cache: SpillCache, spill_id: str) -> None:
    """Each says which call it belongs to."""
    pages = cache.page(spill_id, budget=1_500).next_cursor
    entries = cache.inventory(spill_id, budget=700).next_cursor
    assert entries is not None
    with pytest.raises(ArgumentsInvalid, match="inventory"):
        cache.page(spill_id, cursor=entries)
    with pytest.raises(ArgumentsInvalid, match="inventory"):
        cache.inventory(spill_id, cursor=pages)


def test_a_missing_or_ambiguous_result_is_never_an_empty_one(cache: SpillCache) -> None:
    """The nearest names, or the numbers to choose from, come with the error."""
    stored = cache.put({"results": [{"name": name, "v": [1]} for name in ("cpu", "cpu", "memory", "7")]}).spill_id
    with pytest.raises(ResultNotFound) as missing:
        cache.page(stored, result="memori")
    assert missing.value.nearest == ("memory",)
    with pytest.raises(ResultAmbiguous) as several:
        cache.page(stored, result="cpu")
    assert several.value.indices == (1, 2)
    assert b"memory" in cache.page(stored, result=3).data
    assert b'"7"' in cache.page(stored, result="7").data
    with pytest.raises(ResultNotFound):
        cache.page(stored, result=7)


@settings(max_examples=15)
@given(names=st.lists(st.text(max_size=60), min_size=2, max_size=60), wire=wires)
def test_the_inventory_is_paged_through_whole(cache: SpillCache, names: list[str], wire: Wire) -> None:
    """Whatever the names are: every result once, in order, each page within its budget."""
    stored = cache.put({"results": [{"name": name, "v": [1]} for name in names]}).spill_id
    listing = cache.inventory(stored, budget=1_900, wire=wire)
    entries = list(listing.entries)
    while listing.next_cursor is not None:
        assert wire.size(listing.as_dict()) <= 1_900
        listing = cache.inventory(stored, cursor=listing.next_cursor, budget=1_900, wire=wire)
        entries += listing.entries
    assert [entry.index for entry in entries] == list(range(1, len(names) + 1))
    assert entries == list(cache.inventory(stored, wire=wire).entries)


@pytest.mark.parametrize("wire", WIRES, ids=str)
def test_a_payload_of_several_segments_walks_over_their_edges(cache: SpillCache, wire: Wire) -> None:
    """Over four megabytes of emoji, one of which lies across the edge of the first segment."""
    payload = ("y" + "😀" * 1_150_000).encode()
    stored = cache.put(payload).spill_id
    assert cache.stat(stored).segments == 2
    assert b"".join(page.data for page in cache.walk(stored, budget=400_000, wire=wire)) == payload
