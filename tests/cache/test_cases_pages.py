"""Ways in which systems like this one have failed in the field: each as a class, with the right outcome."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import time
import urllib.parse
from collections.abc import Iterator

import orjson
import pytest
import redis

from spillcache import MCP, PLAIN, Envelope, Keyring, Page, Wire
from spillcache.errors import CursorMalformed, CursorRejected, KeyringInvalid, SpillIdMalformed, SpillNotFound
from spillcache.frame import CHUNK_BYTES
from spillcache.sync import SpillCache as SyncSpillCache
from tests.servers.caches import cache_on, keys, metrics, sync_cache_on
from tests.strategies import WIRES

SMALL = 1_500


@pytest.fixture
def cache(redis_url: str) -> Iterator[SyncSpillCache]:
    """A cache without asyncio, on the session's server."""
    with sync_cache_on(redis_url) as made:
        yield made


def walked(cache: SyncSpillCache, payload: object, *, budget: int = 7_500, wire: Wire = PLAIN) -> list[Page]:
    """Store a payload and read it to the end."""
    pages = list(cache.walk(cache.put(payload, wire=wire).spill_id, budget=budget, wire=wire))
    assert pages[-1].status == "COMPLETE"
    assert all(wire.size(page.as_dict()) <= budget for page in pages)
    return pages


def data_of(pages: list[Page]) -> bytes:
    """The bytes of a walk."""
    return b"".join(page.data for page in pages)


# Hosts: what fits, what is measured, where it is cut.


@pytest.mark.parametrize("wire", WIRES, ids=str)
def test_the_whole_serialised_answer_fits_not_only_its_chunk(redis_url: str, wire: Wire) -> None:
    """With the longest tool name, names and cursors, at a budget that is exactly the host's cap."""
    names = ["n" * 200, '"' * 80, "漢" * 200, *(f"query {number}" * 20 for number in range(60))]
    payload = {"results": [{"name": name, "values": [[at, "1.5"] for at in range(40)]} for name in names]}
    with sync_cache_on(redis_url, wire=wire, tool_name="t" * 128, tenant="x" * 500) as cache:
        for budget in (2_500, 7_500):
            envelope = cache.put(payload, budget=budget)
            assert wire.size(envelope.as_dict()) <= budget
            for result in (None, 1, 2):
                for page in cache.walk(envelope.spill_id, budget=budget, result=result):
                    assert wire.size(page.as_dict()) <= budget


@pytest.mark.parametrize("text", ["漢字かな" * 5_000, "😀" * 5_000, "é" * 10_000, "a\u2028\x7f" * 5_000])
@pytest.mark.parametrize("wire", WIRES, ids=str)
def test_what_is_measured_is_what_is_sent(cache: SyncSpillCache, text: str, wire: Wire) -> None:
    """CJK and emoji go as UTF-8 where the face sends UTF-8, and are paid for as escapes where it sends escapes."""
    pages = walked(cache, text, wire=wire)
    assert data_of(pages).decode() == text
    sent = [json.dumps(page.as_dict(), separators=(",", ":")) for page in pages]
    if wire == Wire(ascii_only=True):
        assert max(map(len, sent)) <= 7_500
    if wire == PLAIN:  # measuring escapes would have made a third as many bytes of pages
        assert max(len(orjson.dumps(page.as_dict())) for page in pages) > 6_500


def test_a_cut_list_says_how_many_there_are(cache: SyncSpillCache) -> None:
    """Three hundred objects: truncated, the bytes of all, and their count, as fields and before the preview."""
    payload = json.dumps([{"name": f"pod-{number}", "cpu": number / 7, "note": "x" * 150} for number in range(300)])
    answer = cache.put(payload.encode()).as_dict()
    assert answer["completeness"] == "truncated"
    assert answer["size_bytes"] == len(payload)
    assert answer["inventory"]["results"] == 300
    assert list(answer).index("inventory") < list(answer).index("preview")
    assert "not the data" in answer["hint"]


@pytest.mark.parametrize("unit", ["😀", "\\ud83d\\ude00", "\\ud83d", "\\ude00", "漢", '\\"'], ids=ascii)
def test_a_pair_around_any_edge_stays_whole(cache: SyncSpillCache, unit: str) -> None:
    """At every offset around the edges of pages and chunks, in text and in JSON, every page is valid by itself."""
    for offset in range(-6, 7):
        payload = ('["' + "x" * (CHUNK_BYTES - 2 + offset) + unit * 40 + "y" * 500 + '"]').encode()
        stored = cache.put(payload).spill_id
        for budget in (SMALL, CHUNK_BYTES + 300 + offset):
            pages = list(cache.walk(stored, budget=budget))
            assert data_of(pages) == payload
            for page in pages:
                text = json.loads(json.dumps(page.chunk))
                assert not text.endswith(("\\", "\\u", "\\ud83d")) or unit == "\\ud83d"
                assert not text.startswith("\\ude00") or unit == "\\ude00"


def test_one_endless_line_has_pages(cache: SyncSpillCache) -> None:
    """A third of a megabyte without a line break is cut by bytes, at commas."""
    payload = metrics(results=12, points=2_500)
    assert b"\n" not in payload
    pages = walked(cache, payload)
    assert data_of(pages) == payload
    assert len(pages) > 40
    assert all(page.chunk.endswith(",") for page in pages[:-1])


@pytest.mark.parametrize(
    "payload",
    [
        b"\xef\xbb\xbf{\r\n \"a\": 1\r\n}\r\n", b"a\rb\nc\r\nd\n\r\n", b"\xef\xbb\xbf", b"\r\n" * 9_000, b"tail\n",
        b"no tail", "\ufeffname,value\r\nå,1\r\n".encode() * 900, b"\n", b"\x00\r\x00\n" * 3_000,
        "\u0085\u2028\u2029\x0b\x0c".encode() * 900,
    ],
)  # fmt: skip
def test_line_ends_and_byte_order_marks_are_bytes_like_any(cache: SyncSpillCache, payload: bytes) -> None:
    """Mixed CRLF, CR, BOM, with or without a last newline: the SHA-256 is equal end to end."""
    stored = cache.put(payload).spill_id
    assert data_of(list(cache.walk(stored, budget=SMALL))) == payload
    assert cache.stat(stored).sha256 == hashlib.sha256(payload).hexdigest()
    assert cache.fetch(cache.put(payload.decode()).spill_id) == payload


@pytest.mark.parametrize(
    "name", ["x" * 1_500, "a/b/../../c", "{}", "a{b}c", "line\nbreak\r\n", "\x00", "\ud83d", "漢" * 500, "*?[x]"]
)
def test_names_from_outside_never_become_keys(redis_url: str, cache: SyncSpillCache, name: str) -> None:
    """A tool or tenant of 1,500 characters with slashes, braces and newlines is spilled under an id of ours."""
    payload = metrics(results=3, points=900)
    stored = cache.put(payload, tool=name, tenant=name).spill_id
    assert keys(redis_url) == [f"sc:{{{stored}}}:0".encode()]
    assert cache.fetch(stored, tenant=name) == payload
    assert cache.page(stored, tenant=name).status == "PARTIAL"
    with pytest.raises(SpillNotFound):
        cache.page(stored)


def test_a_large_object_is_spilled_whatever_its_type(cache: SyncSpillCache) -> None:
    """1.6 MB as a dict, a list, text or bytes: an envelope each time, and the JSON of it back."""
    value = {"items": [{"id": number, "text": "lorem ipsum " * 10} for number in range(11_500)]}
    text = json.dumps(value)
    assert len(text) > 1_600_000
    offers: tuple[object, ...] = (value, value["items"], text, text.encode())
    for offered in offers:
        envelope = cache.offer(offered)
        assert isinstance(envelope, Envelope)
        assert envelope.size_bytes > 1_500_000
    assert json.loads(cache.fetch(cache.put(value).spill_id)) == value


async def test_a_handle_works_where_its_writer_is_gone(redis_url: str) -> None:
    """Written by one cache that is closed; the hint's call is made on another, with nothing but the envelope."""
    payload = metrics(results=4, points=900)
    async with cache_on(redis_url) as writer:
        answer = (await writer.put(payload)).as_dict()
    async with cache_on(redis_url) as reader:
        pages = [page async for page in reader.walk(**answer["next"]["arguments"])]
    assert data_of(pages) == payload


def test_what_matters_may_stand_in_the_middle_or_at_the_end(cache: SyncSpillCache) -> None:
    """A key amid 3 MB is in the inventory and can be read by its name; a log's verdict is in the tail preview."""
    filler = {f"section_{number:02}": {"values": list(range(11_000))} for number in range(60)}
    document = {**dict(list(filler.items())[:30]), "needed": {"answer": 42}, **dict(list(filler.items())[30:])}
    envelope = cache.put(document)
    assert envelope.size_bytes > 3_000_000
    assert "needed" in [entry.name for entry in cache.inventory(envelope.spill_id).entries]
    (page,) = cache.walk(envelope.spill_id, result="needed")
    assert json.loads("{" + page.chunk + "}") == {"needed": {"answer": 42}}
    log = "".join(f"step {number}: fine\n" for number in range(20_000)) + "FAILED: 3 of 20000\n"
    assert cache.put(log).preview_tail.endswith("FAILED: 3 of 20000\n")


# Cursors.


def test_a_cursor_with_another_spill_is_rejected_and_the_reason_said(cache: SyncSpillCache) -> None:
    """Neither does it serve the other spill from there, nor page 1 of it."""
    one, two = (cache.put(metrics(results=2, points=900)).spill_id for _ in range(2))
    for budget in (SMALL, 7_500):
        with pytest.raises(CursorRejected, match="another spill"):
            cache.page(two, cursor=cache.page(one, budget=budget).next_cursor)


@pytest.mark.parametrize(
    "cursor", ["0", "start", "null", "none", "page-2", "undefined", "eyJvZmZzZXQiOjB9", "<next_cursor>"]
)
def test_what_models_invent_as_a_cursor_is_an_error_that_says_how_to_start_over(
    cache: SyncSpillCache, cursor: str
) -> None:
    """A blank is page 1; anything else that is not ours never silently is."""
    stored = cache.put(metrics(results=2, points=900)).spill_id
    with pytest.raises(CursorMalformed) as error:
        cache.page(stored, cursor=cursor)
    assert error.value.as_dict()["next_step"].startswith("Start over")
    real = cache.page(stored).next_cursor or ""
    with pytest.raises(CursorMalformed):
        cache.page(stored, cursor=real[:-5])
    for blank in (" ", "", "\n"):
        assert cache.page(stored, cursor=blank).start == 0


def test_a_cursor_survives_urls_and_padding_but_no_change_inside(cache: SyncSpillCache) -> None:
    """Its alphabet needs no encoding; white space, backticks and quotes around it are trimmed, none inside."""
    stored = cache.put(metrics(results=2, points=2_000)).spill_id
    cursors = [page.next_cursor for page in cache.walk(stored, budget=900) if page.next_cursor]
    for cursor in cursors:
        assert urllib.parse.unquote_plus(urllib.parse.quote_plus(cursor)) == cursor == urllib.parse.quote(cursor)
        assert (
            cache.page(stored, cursor=f"`{cursor}`\n").start == cache.page(stored, cursor=f"  {cursor}\r\n").start > 0
        )
        with pytest.raises(CursorMalformed):
            cache.page(stored, cursor=f"{cursor[:20]} {cursor[20:]}")


def test_the_end_is_an_absent_key(cache: SyncSpillCache) -> None:
    """No null and no empty string that an agent would send back for ever."""
    for payload in (b"", b"x", metrics(results=2, points=900)):
        *_, last = cache.walk(cache.put(payload).spill_id, budget=SMALL)
        assert "next_cursor" not in last.as_dict()
    listing = cache.inventory(cache.put(b"[1,2]").spill_id, budget=SMALL)
    assert "next_cursor" not in listing.as_dict()


def test_offsets_strictly_advance(cache: SyncSpillCache) -> None:
    """Every cursor leads further, so whoever follows them ends; the same one repeated gives the same page."""
    stored = cache.put(metrics(results=5, points=500)).spill_id
    positions, cursors = [], set()
    for page in cache.walk(stored, budget=700):
        positions.append(page.start)
        cursors.add(page.next_cursor)
        if page.next_cursor is not None:
            once, twice = (cache.page(stored, cursor=page.next_cursor, budget=700) for _ in range(2))
            assert once.as_dict() == twice.as_dict()
    assert positions == sorted(set(positions))
    assert len(cursors) == len(positions)


def test_a_shortened_id_is_malformed_which_is_not_gone(cache: SyncSpillCache) -> None:
    """A model that drops characters is told to copy again; only a whole id of nothing is "not found"."""
    stored = cache.put(b"x" * 9_000).spill_id
    for wrong in (stored[:-8], stored[:12] + "…" + stored[-4:], stored[8:], stored + stored[:8]):
        with pytest.raises(SpillIdMalformed) as error:
            cache.page(wrong)
        assert "may be fine" in error.value.next_step
    cache.delete(stored)
    with pytest.raises(SpillNotFound) as gone:
        cache.page(stored)
    assert gone.value.next_step.startswith("Run the original tool again")


def test_nobody_makes_a_key_in_passing(redis_url: str) -> None:
    """Without a key ring a cache writes, and refuses to read; it never makes a key that other replicas lack."""
    with SyncSpillCache.from_url(redis_url, keyring=None) as writer:
        stored = writer.put(b"x" * 9_000).spill_id
        with pytest.raises(KeyringInvalid) as error:
            writer.page(stored)
        assert "spillcache keys new" in error.value.next_step
    with pytest.raises(KeyringInvalid):
        Keyring.from_json("{}")


def test_clocks_that_disagree_reject_nothing_and_expire_nothing(redis_url: str) -> None:
    """Replicas 90 seconds ahead and behind read each other's cursors; Redis alone decides when a spill ends."""
    now = time.time()
    payload = metrics(results=5, points=900)
    replicas = [sync_cache_on(redis_url, clock=lambda skew=skew: now + skew) for skew in (-90, 0, 90)]
    stored = replicas[2].put(payload).spill_id
    parts, cursor = [], None
    for number in range(10_000):
        page = replicas[number % 3].page(stored, cursor=cursor, budget=SMALL)
        parts.append(page.data)
        cursor = page.next_cursor
        if cursor is None:
            break
    with redis.Redis.from_url(redis_url) as admin:
        assert all(900_000 < admin.pttl(key) <= 1_200_000 for key in keys(redis_url))
    for replica in replicas:
        replica.close()
    assert b"".join(parts) == payload
    assert page.status == "COMPLETE"


# Payloads of observability tools.


def test_json_in_json_in_json_is_exact(cache: SyncSpillCache) -> None:
    """Log lines that hold thrice-escaped JSON: the bytes as they came, in answers that parse on every wire."""
    line = json.dumps({"msg": json.dumps({"inner": json.dumps({"said": 'he said "\\" ünd 😀'})})})
    stream = {"stream": {"app": 'a"b'}, "values": [[str(number), line] for number in range(150)]}
    payload = json.dumps({"status": "success", "data": {"resultType": "streams", "result": [stream, stream]}}).encode()
    for wire in WIRES:
        pages = walked(cache, payload, wire=wire)
        assert data_of(pages) == payload
        for page in pages:
            text = orjson.dumps(page.as_dict()).decode()
            assert orjson.loads(orjson.loads(orjson.dumps(text))) == page.as_dict()


@pytest.mark.parametrize(
    ("result", "results", "kind"),
    [
        (None, 1, "null"),
        ([], 0, None),
        ({"status": "success", "data": {"resultType": "vector", "result": []}}, 0, None),
        ({"status": "success", "data": None}, 1, "null"),
    ],
)
def test_null_and_empty_are_results_and_not_a_lack_of_them(
    cache: SyncSpillCache, result: object, results: int, kind: str | None
) -> None:
    """They go through untouched; stored, the inventory tells a null from a list of none, on page 1 as well."""
    assert cache.offer(result) is result
    stored = cache.put(result).spill_id
    listing = cache.inventory(stored)
    assert listing.results == results
    assert [entry.type for entry in listing.entries] == ([kind] if kind else [])
    page = cache.page(stored)
    assert page.as_dict()["inventory"]["results"] == results
    assert json.loads(page.chunk) == result


def test_not_a_number_is_stored_verbatim_and_flagged(cache: SyncSpillCache) -> None:
    """Bare NaN and Infinity come back as they were and the inventory says non-strict; in quotes they are text."""
    bare = b'{"results":[{"name":"a","v":[NaN,Infinity,-Infinity]},{"name":"b","v":"NaN"}]}'
    stored = cache.put(bare).spill_id
    assert cache.fetch(stored) == bare
    assert cache.inventory(stored).as_dict()["strict_json"] is False
    assert cache.page(stored).as_dict()["inventory"]["strict_json"] is False
    quoted = cache.put({"results": [{"v": "NaN"}, {"v": "Infinity"}]}).spill_id
    assert "strict_json" not in cache.inventory(quoted).as_dict()
    assert cache.fetch(cache.put([float("nan"), None]).spill_id) == b"[NaN,null]"


def test_both_members_of_a_repeated_key_are_kept_and_counted(cache: SyncSpillCache) -> None:
    """A parser would drop one; here both are in the bytes, the list and the count."""
    payload = b'{"results":{"component":{"v":1},"component":{"v":2},"other":{"v":3}}}'
    stored = cache.put(payload).spill_id
    listing = cache.inventory(stored)
    assert cache.fetch(stored) == payload
    assert listing.duplicate_keys == 1
    assert [entry.name for entry in listing.entries] == ["component", "component", "other"]
    assert [cache.page(stored, result=number).chunk[-2] for number in (1, 2)] == ["1", "2"]


@pytest.mark.parametrize("closed", [True, False])
def test_a_hundred_thousand_levels_are_stored_and_the_inventory_says_partial(
    cache: SyncSpillCache, closed: bool
) -> None:
    """No recursion, no crash: exact bytes, and what was not looked at is said."""
    payload = b'{"a":' * 100_000 + b"1" + b"}" * 100_000 * closed
    stored = cache.put(payload).spill_id
    assert data_of(list(cache.walk(stored, budget=48_000))) == payload
    assert cache.inventory(stored).partial
    assert cache.inventory(stored).inventory_status == "PARTIAL"


def test_a_number_of_five_thousand_digits_is_only_bytes(cache: SyncSpillCache) -> None:
    """Nothing here parses numbers, so none is too long, too exact or too large."""
    payload = b'{"results":[{"name":"pi","v":' + b"31415" * 1_000 + b'},{"name":"e","v":1e99999}]}'
    stored = cache.put(payload).spill_id
    assert data_of(list(cache.walk(stored, budget=SMALL))) == payload
    assert [entry.name for entry in cache.inventory(stored).entries] == ["pi", "e"]
    assert cache.fetch(cache.put({"v": 10**4_000}).spill_id) == b'{"v":1' + b"0" * 4_000 + b"}"


def test_a_quoted_line_break_at_the_edge_of_a_page_splits_no_claim(cache: SyncSpillCache) -> None:
    """CSV with newlines in its fields: exact bytes, the rows parse after joining, and no page counts rows."""
    rows = [[str(number), f"two\nlines, {number}", 'say "hi"'] for number in range(900)]
    text = io.StringIO()
    csv.writer(text).writerows([["id", "note", "quote"], *rows])
    pages = walked(cache, text.getvalue(), budget=SMALL)
    assert {page.chunk_kind for page in pages} == {"csv"}
    assert list(csv.reader(io.StringIO(data_of(pages).decode(), newline="")))[1:] == rows
    assert not any("row" in key for page in pages for key in page.as_dict())


def test_one_bad_line_spoils_only_itself(cache: SyncSpillCache) -> None:
    """NDJSON with a line that is cut in a string: exact bytes, and the lines after it are still results."""
    lines = [json.dumps({"id": number, "v": "x" * 40}) for number in range(400)]
    lines[200] = '{"id": 200, "v": "never clo'
    pages = walked(cache, "\n".join(lines) + "\n", budget=SMALL)
    assert {page.chunk_kind for page in pages} == {"ndjson"}
    assert data_of(pages).decode().splitlines() == lines
    assert all(page.chunk.endswith("\n") for page in pages)
    stored = cache.put("\n".join(lines) + "\n").spill_id
    entries = cache.inventory(stored).entries
    assert len(entries) == 400
    assert json.loads(cache.page(stored, result="399").chunk)["id"] == 399
    assert entries[200].type == "invalid"


def test_the_worst_a_text_block_can_hold_fits(cache: SyncSpillCache) -> None:
    """Quotes, backslashes and controls alone, escaped twice on their way through MCP."""
    for unit in ('"', "\\", "\x00", '\\"', "\n"):
        assert data_of(walked(cache, unit * 9_000, wire=MCP)) == (unit * 9_000).encode()
