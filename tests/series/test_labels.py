"""Labels in short are the same labels, and shown beside the data they neither hide nor command."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.compact import expand
from spillcache.series.labels import short_labels, shown_labels
from spillcache.shown import spelled_text
from tests.compact.walking import values
from tests.series.documents import LABELS


@given(LABELS, st.sampled_from((None, 1)), st.booleans())
def test_labels_in_short_read_back_as_they_were(labels: dict[str, str], indent: int | None, escaped: bool) -> None:
    """Names in their order and values in their spelling, or they are not written in short."""
    written = json.dumps(labels, indent=indent, ensure_ascii=escaped)
    short = short_labels(written)
    if short is not None:
        assert values(expand(short)) == values(written)
        assert len(short) < len(written)


@pytest.mark.parametrize(
    ("written", "short"),
    [
        ('{"cpu":"0","mode":"idle"}', "{cpu=0,mode=idle}"),
        ('{"a":"b c","d":""}', '{a="b c",d=""}'),
        ('{"a":"\u00e9,}"}', '{a="\u00e9,}"}'),
        ('{"a":"1","a":"2"}', "{a=1,a=2}"),
        ("{}", None),
        ('{"a":1}', None),
        ('{"a":{}}', None),
        ('{"a b":"1"}', None),
        ('{"\u00e9":"1"}', None),
        ('{"k8s.io/app":"1"}', None),
        (r'{"a":"\u0062"}', None),
        (r'{"a":"\""}', None),
        ('["a"]', None),
        ('{"a":', None),
    ],
)
def test_what_is_not_exact_in_short_stays_as_it_is(written: str, short: str | None) -> None:
    """Other values than strings, names that are no words, and escapes."""
    assert short_labels(written) == short


@given(st.text(max_size=1_000))
def test_labels_beside_the_data_are_bounded_and_harmless(written: str) -> None:
    """One line, at most 300 characters, nothing that hides or commands; and what is not all of them says so."""
    said = shown_labels(json.dumps({"a": written}))
    shown = said["labels"]
    assert len(shown) <= 300 + said.get("labels_cut", False)
    assert not {unicodedata.category(char) for char in shown} & {"Cc", "Zl", "Zp", "Cs"}
    assert shown == spelled_text(shown)
    assert said.get("labels_cut", False) == shown.endswith("…") or written.endswith("…")


@given(st.text(max_size=40), st.text(max_size=40))
def test_labels_that_differ_do_not_look_alike(one: str, other: str) -> None:
    """Blanks are kept, and what is not seen is spelled."""
    shown = [shown_labels(json.dumps({"a": text}, ensure_ascii=False)) for text in (one, other)]
    assert (shown[0] == shown[1]) == (one == other)
