"""Edges: where a text may be cut, against a reference that looks at every byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.edges import LONGEST_UNIT, ceil_edge, floor_edge
from tests.strategies import texts
from tests.uncuttable import inside

PIECES = st.lists(
    st.sampled_from(
        ("\\", "\\\\", '\\"', "\\u", "u", "d83d", "\\ud83d", "\\ude00", "\\uD83D\\uDE00", "\\u00e9", "\\u12", "é",
         "漢", "😀", "a", '"', "\n")
    ),
    max_size=14,
).map(lambda pieces: "".join(pieces).encode())  # fmt: skip


@given(PIECES)
def test_floor_is_the_last_safe_place_and_ceil_the_first(text: bytes) -> None:
    """At every offset of every text, both agree with the reference."""
    unsafe = inside(text)
    safe = [at for at in range(len(text) + 1) if at not in unsafe]
    for at in range(len(text) + 1):
        assert floor_edge(text, at) == max(place for place in safe if place <= at)
        assert ceil_edge(text, at) == min(place for place in safe if place >= at)


@given(texts, st.data())
def test_an_edge_is_never_far(text: bytes, data: st.DataObject) -> None:
    """No unit is longer than an escaped surrogate pair, and both sides of an edge are text."""
    at = data.draw(st.integers(0, len(text)))
    low, high = floor_edge(text, at), ceil_edge(text, at)
    assert at - LONGEST_UNIT < low <= at <= high < at + LONGEST_UNIT
    assert text[:low].decode() + text[low:high].decode() + text[high:].decode() == text.decode()


@given(PIECES, PIECES)
def test_edges_count_from_any_safe_place(head: bytes, tail: bytes) -> None:
    """A page that begins at a safe edge has the edges that the whole payload has."""
    text = head + tail
    begin = floor_edge(text, len(head))
    for at in range(begin, len(text) + 1):
        assert floor_edge(text[begin:], at - begin) + begin == floor_edge(text, at)


@pytest.mark.parametrize("backslashes", range(7))
def test_only_a_backslash_that_is_not_itself_escaped_begins_an_escape(backslashes: int) -> None:
    """An even number of backslashes before `u` makes it a letter."""
    text = b"\\" * backslashes + b"ud83d"
    assert floor_edge(text, backslashes + 3) == (backslashes - 1 if backslashes % 2 else backslashes + 3)


def test_what_lies_beyond_the_text_is_its_end() -> None:
    """Asking past the end gives the end."""
    assert floor_edge(b"abc", 9) == 3
    assert ceil_edge(b"", 0) == 0


def test_bytes_that_are_not_utf8_may_be_cut_anywhere() -> None:
    """A run of continuation bytes belongs to no code point."""
    assert floor_edge(b"\x80" * 9, 7) == 7
