"""What is shown of strangers' words: it can be seen, reads in one direction, and commands nothing."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.shown import MAX_NAME_CHARACTERS, shown_name, shown_text
from tests.strategies import HOSTILE_NAMES

#: Of category Cf, but seen: signs of Arabic numbers, joiners of hieroglyphs.
SIGNS_THAT_SHOW = {chr(code) for code in (*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD)}
SIGNS_THAT_SHOW |= {chr(code) for code in range(0x13430, 0x13440)}


@given(st.one_of(st.text(max_size=300), st.sampled_from(HOSTILE_NAMES)))
def test_a_shown_name_is_one_short_line_of_what_can_be_seen(name: str) -> None:
    """1 to 80 characters, none of them a control, a direction mark, a tag, a surrogate or another invisible sign."""
    shown = shown_name(name)
    assert len(shown) <= MAX_NAME_CHARACTERS
    assert shown == shown.strip()
    for character in set(shown) - SIGNS_THAT_SHOW:
        assert unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}
        assert not "\ufe00" <= character <= "\ufe0f"
    assert shown.encode().decode() == shown != ""


@given(st.one_of(st.text(max_size=300), st.sampled_from(HOSTILE_NAMES)))
def test_showing_a_shown_name_changes_nothing(name: str) -> None:
    """So a reader can pass back what it saw, and it is found by that."""
    assert shown_name(shown_name(name)) == shown_name(name)


@given(st.one_of(st.text(max_size=300), st.sampled_from(HOSTILE_NAMES)))
def test_a_shown_text_loses_what_cannot_be_seen_and_nothing_else(text: str) -> None:
    """Lines and tabs stay; of the characters that are taken away none is a letter, a digit or a sign."""
    shown = shown_text(text)
    for character in set(shown) - SIGNS_THAT_SHOW - set("\t\n\r"):
        assert unicodedata.category(character) not in {"Cc", "Cf", "Zl", "Zp"}
    for character in set(text) - set(shown):
        assert unicodedata.category(character)[0] in "CZM" or character in "\u115f\u1160\u2800\u3164\uffa0"
    assert shown_text(shown) == shown


@given(st.text(max_size=60), st.text(max_size=60))
def test_showing_goes_by_character(one: str, two: str) -> None:
    """So what is shown of a payload's beginning is the beginning of what would be shown of it all."""
    assert shown_text(one + two) == shown_text(one) + shown_text(two)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\r\nc\n", "a\tb\r\nc\n"),
        ("\x1b[31mred\x07\x00", "[31mred"),
        ("\u202etxt.exe\u2066", "txt.exe"),
        ("fine\U000e0041\U000e0042", "fine"),
        ("漢字 é 😀 NaN", "漢字 é 😀 NaN"),
    ],
)
def test_escapes_directions_and_tags_do_not_get_through(text: str, shown: str) -> None:
    """Terminals, people and models see the same."""
    assert shown_text(text) == shown
