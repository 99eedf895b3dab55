"""JSON texts: validity and sameness, for small ones by a parser, for large ones without."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.tool.documents import is_document, says, without_blanks
from tests.strategies import documents

LARGE = {"results": [{"name": f'query "{n}" \\', "values": [[at, f"{at} é"] for at in range(4_000)]} for n in range(6)]}
SPELLINGS: list[dict[str, Any]] = [
    {},
    {"indent": 2},
    {"indent": 7, "sort_keys": True},
    {"separators": (" , ", "\t:\r\n")},
]


def stored(value: Any) -> bytes:
    """As it comes from the wire."""
    return orjson.dumps(value)


@given(documents, st.sampled_from(SPELLINGS))
def test_blanks_between_tokens_go_and_those_in_strings_stay(document: Any, spelling: dict[str, Any]) -> None:
    """For every document and spacing: what is left is its compact spelling."""
    spaced = json.dumps(document, ensure_ascii=False, **spelling).encode()
    options = {"sort_keys": spelling.get("sort_keys", False), "separators": (",", ":")}
    assert without_blanks(spaced) == json.dumps(document, ensure_ascii=False, **options).encode()


@given(st.lists(st.sampled_from(['"', "\\", " ", "\n", "a", "{", '\\"']), max_size=300), st.integers(0, 70))
def test_a_string_open_at_a_block_s_end_goes_on_in_the_next(pieces: list[str], short: int) -> None:
    """The same is left whether or not an edge of blocks stands in between."""
    text = "".join(pieces).encode()
    filler = b"1" * ((256 << 10) - short)
    assert without_blanks(filler + text) == filler + without_blanks(text)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_large_text_says_the_same_however_it_is_spaced(spelling: dict[str, Any]) -> None:
    """And no longer when a digit, a blank in a string or a key is another."""
    value = orjson.loads(stored(LARGE))
    text = json.dumps(value, ensure_ascii=False, **spelling)
    assert len(text) > 300_000
    assert says(text, value)
    for old, new in (("3999 é", "3998 é"), ("query", "qu ery"), ('"name"', '"nane"')):
        assert not says(text.replace(old, new, 1), value)


def test_a_large_text_as_go_writes_it_says_the_same() -> None:
    """Go's encoder escapes in strings what HTML gives a meaning, and two line separators."""
    value = {"links": [f"https://host/?a=1&b=<{n}>\u2028" for n in range(10_000)]}
    text = json.dumps(value, ensure_ascii=False)
    for letter in "&<>\u2028":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    assert says(text, value)
    assert not says(text.replace("u0026", "u0027", 1), value)


@pytest.mark.parametrize(
    ("text", "value", "same"),
    [
        ('{"a": 1}', {"a": 1}, True),
        ('{"b":2,"a":1}', {"a": 1, "b": 2}, True),
        ('{"a":"\\u00e9"}', {"a": "é"}, True),
        ("[1]", [True], False),
        ("[1.0]", [1], False),
        ('{"a":1}', {"a": 1, "b": None}, False),
        ("plain", "plain", True),
        ('"plain"', "plain", True),
        ("null", None, True),
        ("Found 3: [1]", [1], False),
        ("[1", [1], False),
        ("", [], False),
        ("\ud83d", "\ud83d", True),
        ("[1]", [1 << 70], False),
    ],
)
def test_a_text_says_a_value_or_does_not(text: str, value: Any, same: bool) -> None:
    """Spacing, order of keys and escapes do not matter; types and values do."""
    assert says(text, value) is same


def _broken(text: str) -> list[str]:
    middle = text.index("[3999") - 1
    return [
        text[:-1],
        text + "]",
        text[:middle] + "," + text[middle:],
        text[:middle] + '"' + text[middle:],
        text[:middle] + "}" + text[middle + 1 :],
        text.replace('"name"', "name", 1),
        text.replace("[0,", "[NaN,", 1),
        text.replace('"results":', '"results":-', 1),
        text.replace('},{"name"', '}{"name"', 1),
        "{" + text + "}",
    ]


def test_a_large_document_is_valid_exactly_if_a_parser_says_so() -> None:
    """Lists and maps of results, one value alone, and all the ways to break them."""
    text = stored(LARGE).decode()
    by_name = stored({one["name"]: one["values"] for one in LARGE["results"]}).decode()
    numbers = stored(list(range(90_000))).decode()
    for whole in (text, by_name, numbers, json.dumps(LARGE, indent=3), json.dumps(LARGE["results"])):
        assert len(whole) > 300_000
        assert is_document(whole)
    for broken in _broken(text):
        assert not is_document(broken)
        with pytest.raises(orjson.JSONDecodeError):
            orjson.loads(broken)


@pytest.mark.parametrize("text", ["", "1", '"a"', " {}", "{} ", "[1,]", "{'a':1}", "[\ud83d]", "[NaN]"])
def test_only_an_object_or_array_that_is_strict_is_a_document(text: str) -> None:
    """What stands around it would be lost, and a number is a text like any other."""
    assert not is_document(text)
