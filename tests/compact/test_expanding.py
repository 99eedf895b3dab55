"""What is written in short reads back as what it stands for; anything else is an error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.compact import expand
from spillcache.compact.expanding import keeps_time


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("<1: 2>", '[[1,"2"]]'),
        ("<1+2: 3*3>", '[[1,"3"],[3,"3"],[5,"3"]]'),
        ("<1+0.5: 2 3*2; 9: NaN>", '[[1,"2"],[1.5,"3"],[2,"3"],[9,"NaN"]]'),
        ("<1: 2><3: +Inf>", '[[1,"2"],[3,"+Inf"]]'),
        ("<1.5 -Inf>", '[1.5,"-Inf"]'),
        ('[{"a":<1 2>},{"a":<= 3>}]', '[{"a":[1,"2"]},{"a":[1,"3"]}]'),
        ("<1000+15*3>", "[1000,1015,1030]"),
        ('{cpu=0,mode="a b"}', '{"cpu":"0","mode":"a b"}'),
        ('{"a":"<1: 2> {b=c} ="}', '{"a":"<1: 2> {b=c} ="}'),
        (r'["\"<1: 2>\\"]', r'["\"<1: 2>\\"]'),
        ("{}", "{}"),
    ],
)
def test_each_short_form_stands_for_one_text(short: str, long: str) -> None:
    """Within strings nothing is short."""
    assert expand(short) == long


@pytest.mark.parametrize(
    "text",
    [
        "<= 1>",
        "<1 2>[3]<= 1>",
        "<1: 2>,<= 1>",
        "<1e+5: 1 2 3>",
        "<1+0: 1 2 3>",
        "<1:>",
        "<1 a>",
        "<1+2>",
        "a<b",
        "{a=b",
        "<1: 2*x>",
        "<01: 2>",
        "<1: nan>",
        "<1: -NaN>",
        "<1 2",
        "1>",
    ],
)
def test_what_is_no_compact_text_is_not_read_as_one(text: str) -> None:
    """Better an error than another value."""
    with pytest.raises(ValueError, match=r"."):
        expand(text)


@given(st.text(st.sampled_from('<>{}[]:;,=+* "\\\\n019.eNaInf')))
def test_no_text_is_too_strange(text: str) -> None:
    """It is read, or it is an error, and what holds nothing short comes back as it is."""
    try:
        read = expand(text)
    except ValueError:
        return
    assert read == text or any(sign in text for sign in "<=")


@pytest.mark.parametrize(
    ("between", "keeps"),
    [
        ("},{", True),
        ('},{"a":"1 [2] <3 4>"},{', True),
        (r'"\"7\"",', True),
        ("[", False),
        ("7", False),
        ("null", False),
    ],
)
def test_a_time_is_kept_across_what_says_no_other(between: str, keeps: bool) -> None:
    """Whatever stands in strings."""
    assert keeps_time(between) is keeps
