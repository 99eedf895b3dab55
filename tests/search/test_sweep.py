"""A text that comes in blocks is searched as if it were one piece."""

from __future__ import annotations

import re2
from hypothesis import assume, given
from hypothesis import strategies as st

from spillcache.errors import PatternInvalid
from spillcache.search.pattern import Pattern, compile_pattern
from spillcache.search.sweep import MOST_HELD, Found, Sweep
from tests.search.patterns import blocks, patterns, texts


def swept(pattern: Pattern, parts: list[bytes], *, lines: bool = False) -> tuple[list[Found], Sweep]:
    """All matches in a text that comes in these parts."""
    sweep = Sweep(pattern, lines=lines)
    found = [one for number, part in enumerate(parts, 1) for one in sweep.feed(part, last=number == len(parts))]
    return found, sweep


def at_once(pattern: str, text: bytes, *, binary: bool = False) -> list[tuple[int, int]]:
    """What RE2 finds in the whole text, but for matches of nothing."""
    options = re2.Options()
    options.encoding = options.Encoding.LATIN1 if binary else options.Encoding.UTF8
    spans = (match.span() for match in re2.compile(pattern.encode(), options).finditer(text))
    return [(start, end) for start, end in spans if start < end]


@given(pattern=patterns, text=texts, lengths=st.lists(st.integers(1, 9), min_size=1, max_size=6), binary=st.booleans())
def test_every_match_is_found_once_wherever_blocks_meet(
    pattern: str, text: bytes, lengths: list[int], binary: bool
) -> None:
    """For every pattern and text, and every way to cut it: what RE2 finds in the whole."""
    try:
        compiled = compile_pattern(pattern, binary=binary)
    except PatternInvalid:
        assume(False)
    text += b"\xff" * binary
    found, sweep = swept(compiled, blocks(text, lengths))
    assert [(one.start, one.end) for one in found] == at_once(pattern, text, binary=binary)
    assert not sweep.overran
    assert not any(one.open_ended for one in found)


def test_a_match_across_an_edge_is_found_at_every_offset() -> None:
    """Also by patterns without a longest match."""
    for pattern in ("needle", "n[e]+dle", "(?s)needle.*?!", r"\bneedle\b", "(?m)^needle$"):
        compiled = compile_pattern(pattern)
        for offset in range(12):
            text = b"." * 40 + b"\n" + b"needle\n!" + b"." * 40
            edge = 41 + offset - 2
            found, _ = swept(compiled, [text[:edge], text[edge:]])
            assert [one.start for one in found] == [41], (pattern, offset)


def test_edges_of_blocks_are_no_edges_of_words_lines_or_text() -> None:
    """What lies before and after a block counts."""
    for pattern in (r"\Acd", r"cd\z", r"\bcd", r"cd\b", "(?m)^cd", "(?m)cd$", "^cd", "cd$"):
        found, _ = swept(compile_pattern(pattern), [b"ab", b"cd", b"ef"])
        assert found == [], pattern


def test_a_match_that_is_too_long_to_be_held_is_told_as_far_as_it_was_seen() -> None:
    """Flagged, not dropped, and the search goes on behind it."""
    text = b"x" * (3 * MOST_HELD) + b" needle"
    found, sweep = swept(compile_pattern("x+|needle"), blocks(text, [50_000]))
    assert sweep.overran
    assert found[0].start == 0
    assert found[0].open_ended
    assert (found[-1].start, found[-1].open_ended) == (len(text) - 6, False)


def test_what_might_have_been_a_match_is_said_to_have_been_given_up() -> None:
    """A beginning without an end holds no more than it may."""
    found, sweep = swept(compile_pattern("(?s)begin.*end"), blocks(b"begin" + b"." * (3 * MOST_HELD), [65_536]))
    assert found == []
    assert sweep.overran


def test_lines_are_counted_where_matches_begin() -> None:
    """From 1, across blocks."""
    text = b"one\ntwo needle\nthree\nneedle needle\n"
    found, _ = swept(compile_pattern("needle"), blocks(text, [5]), lines=True)
    assert [one.line for one in found] == [2, 4, 4]


def test_a_pattern_of_places_only_finds_nothing_and_says_so() -> None:
    """Matches without characters count for nothing."""
    found, sweep = swept(compile_pattern(r"\b"), [b"some words"])
    assert found == []
    assert sweep.empty
