"""Patterns: what can be searched for, and what is said of the rest."""

from __future__ import annotations

import pytest
from hypothesis import given

from spillcache.errors import PatternInvalid
from spillcache.search.partial import beginnings
from spillcache.search.pattern import MAX_CHARACTERS, compile_pattern
from tests.search.patterns import patterns


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("", "empty"),
        ("x*", "empty string"),
        ("^", "empty string"),
        ("(?:)", "empty string"),
        ("(?!x)", "lookaround"),
        ("(?<=a)b", "lookaround"),
        ("(?=a)", "lookaround"),
        ("(?>a)", "lookaround"),
        (r"(a)\1", "backreferences"),
        ("(", "missing )"),
        ("[z-a]", "character class"),
        ("a{2000}", "repetition"),
        ("a++", "repetition"),
        ("\\", "trailing"),
        ("\ud83d", "surrogate"),
        ("x" * (MAX_CHARACTERS + 1), "1001 characters"),
        ("(?:(?:x{1000}){1000}){1000}", "repetition"),
    ],
)
def test_what_cannot_be_searched_for_is_refused_with_its_reason(pattern: str, said: str) -> None:
    """Nothing was searched, which is not no match."""
    with pytest.raises(PatternInvalid) as caught:
        compile_pattern(pattern)
    assert said in caught.value.message
    assert "not 'no match'" in caught.value.next_step


def test_a_pattern_that_is_not_text_is_refused() -> None:
    """A number is no pattern."""
    with pytest.raises(PatternInvalid):
        compile_pattern(7)  # type: ignore[arg-type]


def test_literal_patterns_mean_what_they_say() -> None:
    """Every character stands for itself, in either case if asked for."""
    text = b'{"a.b(": 1, "A.B(": 2}'
    assert list(compile_pattern("a.b(", literal=True).matches(text, 0)) == [(2, 6)]
    assert list(compile_pattern("a.b(", literal=True, ignore_case=True).matches(text, 0)) == [(2, 6), (13, 17)]


def test_in_text_a_character_is_a_code_point_and_offsets_are_bytes() -> None:
    """In binary data it is a byte."""
    text = "é漢!".encode()
    assert list(compile_pattern("^.").matches(text, 0)) == [(0, 2)]
    assert list(compile_pattern("^.", binary=True).matches(text, 0)) == [(0, 1)]
    assert list(compile_pattern("漢", binary=True).matches(text, 0)) == [(2, 5)]
    assert list(compile_pattern(r"\xff+", binary=True).matches(b"a\xff\xffb", 0)) == [(1, 3)]


@given(pattern=patterns)
def test_the_beginnings_of_a_pattern_can_be_told(pattern: str) -> None:
    """So that matches of any length are found across edges."""
    try:
        compiled = compile_pattern(pattern + "|a+")
    except PatternInvalid:
        return
    assert compiled.exact
    assert compiled.reach is None


@pytest.mark.parametrize(
    ("pattern", "longest"),
    [
        ("abc", 3),
        ("ab?|c{2,5}", 5),
        (r"(?:a|\x{e9}b){3}", 6),
        ("a+", None),
        ("(?:a*b){2}", None),
        ("a{2,}", None),
        ("[a]]", 2),
    ],
)
def test_how_long_a_match_can_be_is_told_in_characters(pattern: str, longest: int | None) -> None:
    """So that as many bytes are kept across an edge, and no more."""
    begun = beginnings(pattern)
    assert begun is not None
    assert begun.longest == longest


@pytest.mark.parametrize("pattern", [r"\Qa.b\E+", "a(?i)b+", "(" * 60 + "a+" + ")" * 60])
def test_where_they_cannot_be_told_the_reach_is_limited(pattern: str) -> None:
    """And known to be."""
    assert beginnings(pattern) is None
    compiled = compile_pattern(pattern)
    assert not compiled.exact
    assert compiled.reach == 16 << 10
