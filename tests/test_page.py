"""Pages: they concatenate to the payload, fit their budget, and say exactly what they are."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spillcache.cursor import LEASE_EPOCH, MAX_POSITION, Cursor, WalkKind, decode_cursor, encode_cursor
from spillcache.errors import ArgumentsInvalid, BudgetTooSmall
from spillcache.frame import CHUNK_BYTES
from spillcache.page import Page, reserve, room_for_chunk
from spillcache.receipt import verify_receipt
from spillcache.wire import MCP, PLAIN, Wire
from tests.malformed import malformed
from tests.memory import KEYRING, SPILL_ID, TENANT, spill
from tests.strategies import WIRES, budgets, payloads, smallest_budget, straddlers, wires
from tests.uncuttable import inside

MALFORMED = list(malformed())
FIELDS = ("position", "inventory", "chunk_kind", "chunk", "status", "result_status", "unread", "next_cursor", "receipt")


def check_walk(payload: bytes, pages: Sequence[Page], budget: Sequence[int], wire: Wire) -> None:
    """What holds of every walk of a whole payload."""
    assert b"".join(page.data for page in pages) == payload
    assert [page.end for page in pages[:-1]] == [page.start for page in pages[1:]]
    for page, most in zip(pages, itertools.cycle(budget), strict=False):
        answer = page.as_dict()
        assert wire.size(answer) <= most
        assert page.data or not payload
        assert None not in answer.values()
        assert list(answer) == [name for name in FIELDS if name in answer]
    assert [page.status for page in pages] == ["PARTIAL"] * (len(pages) - 1) + ["COMPLETE"]
    assert [page.next_cursor is None for page in pages] == [False] * (len(pages) - 1) + [True]
    assert [page.receipt is None for page in pages] == [True] * (len(pages) - 1) + [False]


def check_edges(payload: bytes, pages: Sequence[Page]) -> None:
    """No page of text ends inside a code point, an escape or an escaped surrogate pair."""
    if pages[0].chunk_kind != "base64":
        assert not inside(payload) & {page.end for page in pages[:-1]}


@given(payloads, wires, st.data())
def test_pages_concatenate_to_the_payload_and_fit(payload: bytes, wire: Wire, data: st.DataObject) -> None:
    """For every payload, wire and order of budgets the pages are the payload, and none is over its budget."""
    turns = data.draw(st.lists(budgets(wire), min_size=1, max_size=3))
    pages = list(spill(payload).walk(turns, wire))
    check_walk(payload, pages, turns, wire)
    check_edges(payload, pages)


@given(straddlers, wires, st.sampled_from((1_500, 7_500, 32_640, 33_000, 48_000)))
@example(("x" * (CHUNK_BYTES - 1) + "漢" * 3_000).encode(), PLAIN, 33_000)
def test_what_must_not_be_cut_may_lie_across_the_edge_of_a_chunk(payload: bytes, wire: Wire, budget: int) -> None:
    """Where a chunk ends inside a code point or an escape, pages still end at safe edges."""
    pages = list(spill(payload).walk([budget], wire))
    check_walk(payload, pages, [budget], wire)
    check_edges(payload, pages)


@given(st.integers(0, 12), st.sampled_from(("😀", "漢", "\\ud83d\\ude00", "\\u00e9", '\\"')), st.integers(-600, 600))
def test_a_page_may_begin_so_that_it_would_end_near_the_edge_of_a_chunk(shift: int, unit: str, near: int) -> None:
    """Whatever distance a page begins from the edge of a chunk, its window's last, cut code point does no harm."""
    payload = ("y" * shift + unit * (2 * CHUNK_BYTES // len(unit.encode()))).encode()
    stored = spill(payload)
    budget = CHUNK_BYTES // 2 + near
    check_walk(payload, list(stored.walk([budget])), [budget], PLAIN)


@pytest.mark.parametrize("turn", range(2))
def test_documents_cut_short_damaged_and_glued_together_walk_back_exactly(turn: int) -> None:
    """Seven hundred malformed documents come back byte for byte, at the smallest budget or a usual one."""
    for number, (_, payload) in enumerate(MALFORMED):
        if number % 2 == turn:
            wire = WIRES[number // 2 % len(WIRES)]
            least = smallest_budget(wire)
            turns = [least, least + 97, 1_500] if len(payload) < 2_000 else [1_500, 7_500, 48_000]
            turns = turns if len(payload) < 20_000 else [48_000]
            check_walk(payload, list(spill(payload).walk(turns, wire)), turns, wire)


@pytest.mark.parametrize("unit", ["x", '"', "\\\\", "\n", "é", "漢", "😀", "\x00", "\\ud83d\\ude00"])
@pytest.mark.parametrize("wire", WIRES, ids=str)
def test_text_that_grows_by_escaping_still_fits(unit: str, wire: Wire) -> None:
    """Quotes, backslashes, controls, CJK and emoji alone: the measure is what is sent."""
    payload = (unit * 2_500).encode()
    budget = smallest_budget(wire) + 411
    check_walk(payload, list(spill(payload).walk([budget], wire)), [budget], wire)


@pytest.mark.parametrize("more", [-1, 0, 1])
@pytest.mark.parametrize("unit", [b"x", b"\xff"])
def test_a_payload_of_exactly_one_room(unit: bytes, more: int) -> None:
    """A payload that fills page 1 to the byte is one page; one byte more is two, neither of them empty."""
    room = room_for_chunk(1_500, PLAIN)
    payload = unit * ((room if unit == b"x" else room // 4 * 3) + more)
    pages = list(spill(payload).walk([1_500]))
    check_walk(payload, pages, [1_500], PLAIN)
    assert len(pages) == 1 + (more > 0)


@pytest.mark.parametrize("count", [2, 3, 7])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_payload_of_exactly_so_many_budgets(count: int, more: int) -> None:
    """Where the last page is full to the byte, no empty page follows."""
    lines = b"".join(b"%0598d\n" % number for number in range(60))
    room = room_for_chunk(600 + reserve(PLAIN), PLAIN)
    assert room == 600
    payload = lines[: 599 * count + more]
    pages = list(spill(payload).walk([600 + reserve(PLAIN)]))
    check_walk(payload, pages, [600 + reserve(PLAIN)], PLAIN)
    assert len(pages) == count + (more > 0)


def test_an_empty_payload_is_one_complete_page() -> None:
    """Nothing to read is said as a page: COMPLETE, with a receipt for no bytes."""
    (page,) = spill(b"").walk([1_500])
    assert page.as_dict() | {"receipt": ""} == {
        "position": "0-0/0", "chunk_kind": "text", "chunk": "", "status": "COMPLETE", "receipt": "",
    }  # fmt: skip
    assert page.receipt is not None
    assert verify_receipt(page.receipt, KEYRING).size == 0


@pytest.mark.parametrize("offset", range(-12, 5))
@pytest.mark.parametrize("unit", ["😀", "\\ud83d\\ude00", "\\ud83d", "\\ude00"])
def test_a_pair_at_every_offset_around_a_page_edge_is_not_cut(offset: int, unit: str) -> None:
    """An emoji, or its escaped halves, around the last byte of a page's room stays whole."""
    room = room_for_chunk(800, PLAIN)
    payload = ('"' + "z" * (room - 2 + offset) + unit + "z" * 900 + '"').encode()
    pages = list(spill(payload).walk([800]))
    check_walk(payload, pages, [800], PLAIN)
    check_edges(payload, pages)


@pytest.mark.parametrize("wire", WIRES, ids=str)
def test_a_budget_too_small_names_the_smallest_that_works(wire: Wire) -> None:
    """One byte less than the minimum is refused; the minimum it names serves every payload."""
    stored = spill(("😀\\ud83d\\ude00\x01" * 40).encode())
    with pytest.raises(BudgetTooSmall) as refused:
        stored.first(smallest_budget(wire) - 1, wire)
    assert refused.value.minimum == smallest_budget(wire)
    assert str(refused.value.minimum) in refused.value.next_step
    check_walk(stored.payload, list(stored.walk([refused.value.minimum], wire)), [refused.value.minimum], wire)


@given(payloads, wires, st.data())
def test_a_lower_budget_starts_at_the_same_byte(payload: bytes, wire: Wire, data: st.DataObject) -> None:
    """The same cursor with any other budget gives a page from the same byte on."""
    stored = spill(payload)
    budget = data.draw(budgets(wire))
    for page in list(stored.walk([budget], wire))[:4]:
        if page.next_cursor is not None:
            other = stored.next(page.next_cursor, data.draw(budgets(wire)), wire)
            assert other.start == page.end
            assert other.data == payload[other.start : other.end]


@given(payloads, wires, st.data())
def test_the_same_cursor_and_budget_give_the_same_page(payload: bytes, wire: Wire, data: st.DataObject) -> None:
    """Reading again changes nothing, the last page with its receipt included."""
    stored = spill(payload)
    budget = data.draw(budgets(wire))
    pages = list(stored.walk([budget], wire))
    assert [page.as_dict() for page in stored.walk([budget], wire)] == [page.as_dict() for page in pages]


def prefixes(page: Page) -> st.SearchStrategy[str]:
    """What a host may have left of a page's chunk."""
    return st.integers(0, len(page.chunk)).map(lambda length: page.chunk[:length])


@given(payloads, wires, st.data())
def test_cutting_pages_anywhere_and_shrinking_loses_and_repeats_nothing(
    payload: bytes, wire: Wire, data: st.DataObject
) -> None:
    """Whatever a host left of each page, the shrunk pages concatenate to the payload and fit."""
    stored = spill(payload)
    budget = data.draw(budgets(wire))
    pages: list[Page] = []
    page = stored.first(budget, wire)
    for _ in range(5):
        page = page.shrink(data.draw(prefixes(page)))
        pages.append(page)
        assert wire.size(page.as_dict()) <= budget
        assert page.data == payload[page.start : page.end]
        if page.next_cursor is None:
            break
        page = stored.next(page.next_cursor, budget, wire)
        assert page.start == pages[-1].end
    else:
        pages.append(page)
    while (cursor := pages[-1].next_cursor) is not None:
        pages.append(stored.next(cursor, budget, wire))
    assert b"".join(page.data for page in pages) == payload
    assert pages[-1].status == "COMPLETE"


@given(payloads, st.data())
def test_a_shrunk_page_is_a_prefix_that_promises_nothing(payload: bytes, data: st.DataObject) -> None:
    """It holds no more than was delivered, never says COMPLETE, bears no receipt, and its cursor follows its end."""
    page = next(iter(spill(payload).walk([data.draw(budgets(PLAIN))])))
    delivered = data.draw(prefixes(page))
    shrunk = page.shrink(delivered)
    assert delivered.startswith(shrunk.chunk)
    assert shrunk.chunk_kind == "base64" or shrunk.end not in inside(payload)
    if delivered != page.chunk:
        assert (shrunk.status, shrunk.receipt, shrunk.result_status) == ("PARTIAL", None, None)
        assert shrunk.next_cursor is not None
        assert decode_cursor(shrunk.next_cursor, KEYRING, SPILL_ID, TENANT).position == shrunk.end
        assert len(page.data) - len(shrunk.data) > 0


def test_every_place_where_a_host_may_cut_is_rounded_down_to_a_safe_one() -> None:
    """Escapes, pairs, emoji: at each prefix the page ends at the last safe edge, and the next begins there."""
    payload = '["a\\ud83d\\ude00\\u00e9\\"b😀漢\\\\c\\ud83d\\ud83d"]'.encode()
    stored = spill(payload)
    (page,) = stored.walk([1_500])
    unsafe = inside(payload)
    for length in range(len(page.chunk)):
        shrunk = page.shrink(page.chunk[:length])
        delivered = len(page.chunk[:length].encode())
        assert shrunk.end == max(at for at in range(delivered + 1) if at not in unsafe)
        assert shrunk.next_cursor is not None
        assert shrunk.data + stored.next(shrunk.next_cursor, 1_500).data == payload


def test_a_page_delivered_whole_stays_as_it_is() -> None:
    """Shrinking to the whole chunk gives the page itself, receipt and all."""
    (page,) = spill(b'{"a":"\xf0\x9f\x98\x80"}').walk([1_500])
    assert page.shrink(page.chunk) is page
    assert page.shrink(page.chunk + "\ud83d") is page


@pytest.mark.parametrize("delivered", ["b", "ab\ufffd", "abcd…", " abc", "abcd" * 900])
def test_what_is_not_a_prefix_is_refused(delivered: str) -> None:
    """A chunk that a host altered, not only cut, cannot be counted from."""
    page = spill(b"abcd" * 800).first(1_500)
    with pytest.raises(ArgumentsInvalid):
        page.shrink(delivered)


def test_half_of_a_utf16_pair_at_the_end_of_what_was_delivered_is_dropped() -> None:
    """A host that counts UTF-16 units may have cut an emoji in two: the cursor points before it."""
    page = spill(("😀" * 800).encode()).first(1_500)
    shrunk = page.shrink("😀😀\ud83d")
    assert (shrunk.chunk, shrunk.end) == ("😀😀", 8)


BATCH = json.dumps(
    {"status": "success", "results": [{"name": f"q{n}", "values": ["é" * n, n, '"\\' * n] * 30} for n in range(1, 9)]},
    ensure_ascii=False,
).encode()


@given(st.integers(1, 8), wires, st.data())
def test_a_walk_of_one_result_is_that_result_and_never_the_whole(number: int, wire: Wire, data: st.DataObject) -> None:
    """Its pages are the result's bytes; the last says result_status COMPLETE, status PARTIAL, and has no receipt."""
    stored = spill(BATCH)
    result = stored.contents.inventory.results[number - 1]
    budget = data.draw(budgets(wire))
    pages = [stored.first_of_result(number, budget, wire)]
    while (cursor := pages[-1].next_cursor) is not None:
        pages.append(stored.next(cursor, budget, wire))
    assert b"".join(page.data for page in pages) == BATCH[result.start : result.end]
    assert {page.status for page in pages} == {"PARTIAL"}
    assert {page.receipt for page in pages} == {None}
    assert [page.result_status for page in pages] == [None] * (len(pages) - 1) + ["COMPLETE"]
    assert all(wire.size(page.as_dict()) <= budget for page in pages)
    assert {page.position.partition(" ")[2] for page in pages} == {f"result {number}/8"}


def test_a_walk_begun_elsewhere_ends_with_what_it_did_not_read() -> None:
    """A part of the payload, read to its end, lists the byte ranges outside it and is never COMPLETE."""
    stored = spill(b"x" * 5_000)
    for start, end, unread in ((0, 900, ((900, 5_000),)), (4_000, 5_000, ((0, 4_000),)), (7, 9, ((0, 7), (9, 5_000)))):
        page = stored.page(Cursor(WalkKind.PART, start, LEASE_EPOCH, 1, start, end), 7_500, PLAIN)
        assert (page.data, page.status, page.receipt) == (b"x" * (end - start), "PARTIAL", None)
        assert page.unread == unread
        assert page.as_dict()["unread"] == [list(span) for span in unread]


def test_positions_name_the_results_that_a_page_shows() -> None:
    """`start-end/size`, then `result n/total` or `results n-m/total`; what stands before result 1 counts to it."""
    stored = spill(BATCH)
    positions = [page.position for page in stored.walk([1_500])]
    assert positions[0].startswith("0-")
    assert all(f"/{len(BATCH)} result" in position for position in positions)
    assert positions[-1].endswith("8/8")
    assert " results 1-" in stored.first(7_500).position


@pytest.mark.parametrize(
    ("payload", "kind", "part"),
    [
        (b'{"a":1}', "json", "json_part"),
        (b'{"a":1}\n{"a":2}\n', "ndjson", "ndjson"),
        (b"a,b\n1,2\n3,4\n", "csv", "csv"),
        (b"plain words", "text", "text"),
        (b"\xff\xfe", "base64", "base64"),
        (b'{"city":"Z\xfcrich"}', "base64", "base64"),
    ],
)
def test_chunk_kind_says_what_the_chunk_is(payload: bytes, kind: str, part: str) -> None:
    """A whole JSON document is `json`, a piece of one `json_part`; what is not UTF-8 is base64."""
    page = spill(payload).first(1_500)
    assert page.chunk_kind == kind
    assert page.shrink(page.chunk[:1]).chunk_kind == part


@pytest.mark.parametrize("size", [10_000, 10_001, 10_002])
def test_binary_pages_are_base64_that_also_concatenates(size: int) -> None:
    """Every base64 chunk but the last has no padding, so even the texts concatenate."""
    payload = bytes(range(256)) * 40
    payload = payload[:size]
    pages = list(spill(payload).walk([1_500]))
    assert all("=" not in page.chunk for page in pages[:-1])
    check_walk(payload, pages, [1_500], PLAIN)


def test_pages_are_nearly_as_few_as_their_budget_allows() -> None:
    """Ending at good edges costs at most a tenth more pages than filling each to the byte."""
    values = [[1_796_040_099 + second, f"{second / 7:.6f}"] for second in range(60)]
    series = [{"metric": {"pod": f"p{number}"}, "values": values} for number in range(90)]
    payload = json.dumps({"data": {"result": series}}).encode()
    for budget in (1_500, 7_500, 48_000):
        pages = list(spill(payload).walk([budget]))
        fewest = -(-PLAIN.cost(payload.decode()) // room_for_chunk(budget, PLAIN))
        assert len(pages) <= 1.1 * fewest + 1


@pytest.mark.parametrize("wire", WIRES, ids=str)
def test_the_reserve_holds_for_the_largest_payload_there_may_be(wire: Wire) -> None:
    """A tebibyte, ten-digit results, the longest cursor, a receipt, two unread ranges: what stands beside a chunk."""
    far = MAX_POSITION
    page = Page("", far, far, far, "json_part", "", "PARTIAL", results=(10**10, 10**10 + 1), results_total=10**10)
    cursor = encode_cursor(Cursor(WalkKind.RESULT, far, LEASE_EPOCH, 2**32 - 1, far, far), KEYRING, SPILL_ID, TENANT)
    receipt = spill(b"").first(1_500).receipt
    for ending in (
        replace(page, next_cursor=cursor),
        replace(page, status="COMPLETE", receipt=receipt),
        replace(page, result_status="COMPLETE"),
        replace(page, unread=((0, far), (far, far))),
    ):
        assert wire.size(ending.as_dict()) <= reserve(wire)


@pytest.mark.parametrize("wire", [PLAIN, MCP])
def test_after_page_one_little_stands_beside_the_chunk(wire: Wire) -> None:
    """A page's own words are short: at three bytes a token, some 80 tokens with the cursor."""
    pages = list(spill(b'{"a":[1,2,3]}' * 4_000).walk([7_500], wire))
    for page in pages[1:-1]:
        assert len(json.dumps(page.as_dict())) - len(json.dumps(page.chunk)) <= 240
    assert reserve(wire) <= 400
