"""The answer of a search: bounded, in order, and never to be taken for the data."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.errors import BudgetTooSmall
from spillcache.search import Match, Matches, Next
from spillcache.search.matches import window
from spillcache.search.place import Role
from spillcache.shown import spelled_text
from spillcache.wire import MCP, PLAIN, Wire
from tests.strategies import wires

_CURSOR = "x" * 56


def match(role: Role = "value", *, result: int | None = 1, text: str = 'say "it"') -> Match:
    """A match of this role."""
    return Match(10, 12, role, text, (0, len(text)), False, _CURSOR, path="$.data[0]", result=result)


def answer(*matches: Match, total: int | None = None) -> Matches:
    """An answer with these matches."""
    starts = tuple(Next(number, f"query {number}", _CURSOR) for number in range(1, 8))
    found = len(matches) if total is None else total
    return Matches("", found, 1000, 1000, matches, starts=starts)


def test_the_answer_says_first_what_it_is_and_then_what_was_found() -> None:
    """PARTIAL before all else, cursors behind the text they belong to."""
    said = answer(match(), match(), total=40).as_dict()
    assert list(said) == ["status", "matches_total", "shown", "searched", "note", "matches"]
    assert (said["status"], said["matches_total"], said["shown"], said["searched"]) == ("PARTIAL", 40, 2, 1000)
    assert list(said["matches"][0]) == ["bytes", "path", "in", "text", "cursor"]
    assert "not the data" in said["note"]
    assert "38 matches are not shown" in said["note"]


def test_names_without_values_are_told_with_where_to_read_the_values() -> None:
    """The incident, caught in the act."""
    said = answer(match("label", result=2), match("key", result=2), match("label", result=5), total=40).as_dict()
    assert "All matches shown (3 of 40) are keys or labels; no value was matched" in said["note"]
    assert [one["result"] for one in said["read_next"]] == [2, 5]
    assert list(said["read_next"][0]) == ["result", "name", "cursor"]
    assert "read_next" not in answer(match("label"), match("value")).as_dict()


def test_at_most_five_results_are_recommended_and_the_others_are_said_to_be_more() -> None:
    """The answer stays small, and five do not look like all."""
    found = answer(*(match("key", result=number) for number in range(1, 8)))
    assert len(found.read_next) == 5
    assert "5 of 7 results are listed; the others are in the inventory." in found.note
    assert "not listed either" not in found.note
    assert "results are listed" not in answer(*(match("key", result=number) for number in range(1, 6))).note


def test_results_of_matches_left_out_are_said_to_be_unlisted() -> None:
    """By the number that is shown at most, or by the budget."""
    words = "Results of matches that are not shown are not listed either"
    assert words in answer(match("label", result=2), total=40).note
    assert words in answer(*(match("key", result=number) for number in range(1, 8))).within(1_200, PLAIN).note
    assert words not in answer(match("label", result=2)).note
    assert words not in answer(match("value", result=2), total=40).note


def test_no_match_of_what_json_escapes_says_how_json_spells_it() -> None:
    """Only there: a match needs no such advice."""
    assert r"é as \u00e9" in replace(answer(), escapes=True).note
    assert r"\u00e9" not in replace(answer(match()), escapes=True).note
    assert r"\u00e9" not in answer().note


def test_no_match_says_what_was_searched_and_that_it_proves_nothing() -> None:
    """Of the payload, or of a result alone."""
    assert "No match in 1000 bytes of the payload" in answer().note
    assert "not the absence of data" in answer().note
    assert "result 3 alone" in replace(answer(), result=3).note


def test_what_was_not_searched_or_not_counted_is_said() -> None:
    """Whatever limits the answer is in its words."""
    for why, words in (("count", "too many matches"), ("time", "slow to search for")):
        stopped = replace(answer(match("key"), total=9), stopped=why, searched=400)  # type: ignore[arg-type]
        assert stopped.as_dict()["search_incomplete"] is True
        assert (
            f"400 of 1000 bytes, because {'there were ' if why == 'count' else 'this pattern is '}{words}"
            in stopped.note
        )
        assert "1 of at least 9" in stopped.note
    assert "not followed to its end" in replace(answer(match()), overran=True).note
    assert "more than 16384 bytes may be missing" in replace(answer(match()), reach=16_384).note


@given(
    roles=st.lists(st.sampled_from(("key", "label", "value", "text")), max_size=30),
    text=st.text(max_size=300),
    wire=wires,
    budget=st.integers(1_500, 20_000),
)
def test_an_answer_fits_its_budget_on_every_wire(roles: list[Role], text: str, wire: Wire, budget: int) -> None:
    """With as many matches as there is room for, and the true number of all."""
    whole = answer(*(match(role, result=number % 7 + 1, text=text) for number, role in enumerate(roles)))
    budget = max(budget, _least(whole, wire))
    said = whole.within(budget, wire).as_dict()
    assert wire.size(said) <= budget
    assert said["matches_total"] == len(roles)
    assert said["shown"] == len(said["matches"])
    assert bool(said["shown"]) == bool(roles)


def _least(whole: Matches, wire: Wire) -> int:
    """The least budget for an answer, as the refusal of one that is too small says it."""
    with pytest.raises(BudgetTooSmall) as caught:
        whole.within(1, wire)
    return caught.value.minimum


def test_a_match_too_large_for_the_budget_is_shown_without_its_text() -> None:
    """Its cursor is what counts."""
    said = answer(match(text="x" * 9_000)).within(1_000, PLAIN).as_dict()
    assert (said["shown"], said["matches"][0]["text"], said["matches"][0]["cut"]) == (1, "", True)
    with pytest.raises(BudgetTooSmall):
        answer(match()).within(200, MCP)
    with pytest.raises(BudgetTooSmall) as caught:
        answer(match()).within(200, MCP, least_budget=9_000)
    assert caught.value.minimum == 9_000


def test_a_window_shows_whole_code_points_and_nothing_unseen() -> None:
    """Half a code point at its ends is left out; what commands a terminal is spelled, not dropped in silence."""
    before, after = "漢é".encode()[1:], "é漢".encode()[:-1]
    shown = r"é漢\x1b[31m\x{202e}!é"
    assert window(before, "漢\x1b[31m\u202e!".encode(), after, 64, binary=False) == (shown, (1, len(shown) - 1), False)
    assert window(b"", "漢漢".encode(), b"after", 5, binary=False) == ("漢", (0, 1), True)
    assert window(b"\xff", b"a", b"\xfe", 64, binary=True) == ("\ufffda\ufffd", (1, 2), False)


@given(
    text=st.text(st.sampled_from("aé漢😀\x1b\u200b\n"), min_size=1, max_size=20),
    edges=st.tuples(*[st.integers(0, 80)] * 2),
    binary=st.booleans(),
)
def test_the_span_of_a_match_in_its_window_is_what_was_matched(text: str, edges: tuple[int, int], binary: bool) -> None:
    """Wherever controls are spelled, in longer words; characters that it begins or ends within count as matched."""
    raw = text.encode()
    start = min(edges) % len(raw)
    end = min(start + 1 + max(edges), len(raw))
    shown, span, cut = window(raw[:start], raw[start:end], raw[end:], 80, binary=binary)
    ends = list(itertools.accumulate(len(one.encode()) for one in text))
    matched = [one for one, stop in zip(text, ends, strict=True) if stop > start and stop - len(one.encode()) < end]
    before = [one for one, stop in zip(text, ends, strict=True) if stop <= start]
    assert (shown, cut) == (spelled_text(text), False)
    assert shown[: span[0]] == spelled_text("".join(before))
    assert shown[slice(*span)] == spelled_text("".join(matched))


@given(raw=st.binary(max_size=24), edges=st.tuples(*[st.integers(0, 24)] * 2))
def test_in_binary_data_a_window_is_the_text_of_all_its_bytes(raw: bytes, edges: tuple[int, int]) -> None:
    """However the match cuts it, and the span lies within it."""
    start, end = sorted(edges)
    shown, span, _ = window(raw[:start], raw[start:end], raw[end:], 64, binary=True)
    assert shown == spelled_text(raw.decode("utf-8", "replace"))
    assert 0 <= span[0] <= span[1] <= len(shown)


def test_the_span_of_a_match_that_is_cut_goes_to_the_end() -> None:
    """What is shown of it is all there is behind its context; without text there is nothing to mark."""
    assert window(b"\x1b", b"ab\x1bcd", b"after", 3, binary=False) == (r"\x1bab\x1b", (4, 10), True)
    (bare,) = answer(match(text="x" * 9_000)).within(1_000, PLAIN).matches
    assert (bare.text, bare.span) == ("", (0, 0))
