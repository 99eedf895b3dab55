"""Cuts: as full as the room allows, at the best edge near its end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.cut import MIN_ROOM, cut, prefix_within, reach
from spillcache.edges import LONGEST_UNIT, floor_edge
from spillcache.frame import Chunk
from spillcache.scan import scan
from spillcache.wire import MCP, PLAIN, Wire
from tests.strategies import TWO_COPIES, WIRES, texts, wires


def chunk_of(payload: bytes) -> Chunk:
    """A whole payload as one chunk."""
    found = scan(payload)
    return Chunk(
        payload,
        tuple(found.slabs.ends.tolist()),
        found.slabs.depth.tobytes(),
        tuple(found.slabs.extra_once.tolist()),
        tuple(found.slabs.extra_twice.tolist()),
        tuple(result.start for result in found.inventory.results),
    )


@given(texts, wires, st.data())
def test_a_page_is_as_full_as_it_may_be(payload: bytes, wire: Wire, data: st.DataObject) -> None:
    """From any safe place: it advances, fits, ends safely, and leaves no more than a quarter of its room."""
    chunk = chunk_of(payload)
    begin = floor_edge(payload, data.draw(st.integers(0, len(payload))))
    room = data.draw(st.integers(MIN_ROOM, 3_000)) * len(wire.copies)
    end = cut(chunk, begin, len(payload), room, wire, scan(payload).kind)
    assert begin < end <= len(payload) or begin == len(payload)
    assert wire.cost(payload[begin:end].decode()) <= room
    assert floor_edge(payload, end) == end


def test_a_page_ends_where_a_result_begins_or_at_the_shallowest_edge() -> None:
    """In the last quarter of its room it prefers the start of a result, in the last eighth the outermost comma."""
    results = b",".join(b'{"name":"r%d","v":[%b]}' % (n, b",".join([b"1234567"] * 160)) for n in range(9))
    payload = b'{"results":[' + results + b"]}"
    chunk = chunk_of(payload)
    starts = set(chunk.starts)
    assert len(starts) == 9
    assert cut(chunk, 0, len(payload), 3_000, PLAIN, "json") in starts
    end = cut(chunk, 0, len(payload), 2_300, PLAIN, "json")
    assert payload[end - 1 : end] == b","
    assert end > 2_300 * 7 // 8


def test_a_page_that_begins_inside_a_slab_pays_only_for_what_it_shows() -> None:
    """After a shrunk page, what stood before it in its slab does not count against the next one."""
    payload = b'"' * 400 + b"x" * 20_000
    end = cut(chunk_of(payload), 400, len(payload), 1_000, PLAIN, "text")
    assert 1_000 * 7 // 8 <= end - 400 <= 1_000


def test_inside_a_slab_a_page_still_ends_at_a_comma_or_a_line() -> None:
    """At small budgets the bytes themselves are looked at."""
    payload = b"[" + b",".join(b"%d" % number for number in range(900)) + b"]"
    end = cut(chunk_of(payload), 0, len(payload), 200, PLAIN, "json")
    assert payload[end - 1 : end] == b","
    lines = b"".join(b"line %d of a log\n" % number for number in range(90))
    end = cut(chunk_of(lines), 0, len(lines), 200, PLAIN, "text")
    assert lines[end - 1 : end] == b"\n"


def test_a_comma_in_a_string_is_no_edge() -> None:
    """A page that ends inside a long string is filled to the byte, whatever stands in the string."""
    payload = b'[1,"' + b"a,b " * 500 + b'",2]'
    assert cut(chunk_of(payload), 3, len(payload), 200, PLAIN, "json") == 3 + 199


@pytest.mark.parametrize("wire", WIRES, ids=str)
def test_binary_data_is_cut_by_arithmetic_at_multiples_of_three(wire: Wire) -> None:
    """Four characters for three bytes in every copy; only the last page may need padding."""
    payload = b"\xff" * 10_000
    room = 1_000 * len(wire.copies)
    assert cut(Chunk(payload), 0, len(payload), room, wire, "bytes") == 750
    assert cut(Chunk(payload), 9_999, len(payload), room, wire, "bytes") == 10_000


def test_the_end_of_the_scope_ends_the_page() -> None:
    """A walk inside a result never shows a byte behind it, although the text goes on."""
    payload = b'{"results":[' + b",".join(b'{"name":"r%d","v":[1,2,3]}' % n for n in range(90)) + b"]}"
    chunk = chunk_of(payload)
    for limit in range(13, 600, 7):
        assert cut(chunk, 12, limit, 5_000, PLAIN, "json") == limit


def test_a_window_that_ends_inside_a_code_point_is_never_read_to_its_end() -> None:
    """Where the chunks at hand end is not where a page may end."""
    payload = ("漢" * 5_000).encode()
    whole = chunk_of(payload)
    for length in range(10_000, 10_020):
        window = Chunk(
            payload[:length],
            tuple(end for end in whole.ends if end <= length),
            whole.depths[: sum(end <= length for end in whole.ends)],
            whole.once,
            whole.twice,
        )
        room = length - LONGEST_UNIT - 1
        window = window._replace(once=whole.once[: len(window.ends)], twice=whole.twice[: len(window.ends)])
        end = cut(window, 0, length, room, PLAIN, "text")
        assert payload[:end].decode()
        assert reach(room, PLAIN) < length


@given(texts, wires, st.integers(0, 4_000), st.integers(0, 4_000))
def test_a_prefix_is_the_longest_that_costs_no_more(payload: bytes, wire: Wire, room: int, most: int) -> None:
    """It ends at a safe edge, and one unit more would be too much."""
    length = prefix_within(payload, room, wire, most)
    assert length <= most
    assert wire.cost(payload[:length].decode()) <= room
    assert floor_edge(payload, length) == length
    longer = next((at for at in range(length + 1, length + 13) if floor_edge(payload, at) == at), None)
    if longer is not None and longer <= min(most, len(payload)):
        assert wire.cost(payload[:longer].decode()) > room


def test_reach_covers_what_may_fit() -> None:
    """No text costs less than its bytes in every copy, and one unit more tells where it must not be cut."""
    assert reach(1_000, PLAIN) == reach(1_000, MCP) == 1_000 + LONGEST_UNIT
    assert reach(1_000, TWO_COPIES) == 500 + LONGEST_UNIT
