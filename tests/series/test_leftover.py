"""What lies between the series that were found: whether it looks like more of them, and whether it is JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.series import leftover
from spillcache.series.leftover import known_json, leaves_series
from tests.strategies import documents

PLAIN = b'{"metric":{"a":"b"},"values":[[1,"2"]]}'


@pytest.mark.parametrize(
    "key",
    ['"values":[1]', '"value" : [1]', '"histogram":{}', '"histograms":[1]', '"metric":{}', '"stream":{', '"schema":{}',
     '"dataPoints":[', '"datapoints": []', r'\"metric\":{', r'\\\"values\\\":[', r'"val\u0075es":['],
)  # fmt: skip
def test_keys_of_series_look_like_series(key: str) -> None:
    """Before, between and behind those that were found, and within strings."""
    text = b"%b %b" % (PLAIN, key.encode())
    assert leaves_series(text, [(0, len(PLAIN))], whole=True)
    assert not leaves_series(text, [(0, len(text))], whole=True)
    text = b"%b %b" % (key.encode(), PLAIN)
    assert leaves_series(text, [(len(key) + 1, len(text))], whole=True)


@pytest.mark.parametrize(
    "text",
    [
        '"values":{}', '"value":1', '"values":"["', '"histograms":[]', '"metric":"a"', '"metrics":{}',
        '"stream":1', '"schemas":[]', '"data":[]', '"my values":[', r'"\u00e9":[', r'"a\u0061":1', '{"result":[]}', "",
    ],
)  # fmt: skip
def test_other_text_does_not(text: str) -> None:
    """Keys with other values, and other keys."""
    assert not leaves_series(text.encode(), [], whole=True)


def test_what_a_window_cuts_off_does_not_count() -> None:
    """It may be one that would have been found; what stands before it does count."""
    cut = b'%b,{"metric":{"a":"b"},"values":[[1' % PLAIN
    assert leaves_series(cut, [(0, len(PLAIN))], whole=True)
    assert not leaves_series(cut, [(0, len(PLAIN))], whole=False)
    assert leaves_series(b'{"histogram":{}},' + cut, [(17, 17 + len(PLAIN))], whole=False)


@given(documents, st.booleans(), st.sampled_from((None, 2)))
def test_json_is_known_to_its_end(document: object, escaped: bool, indent: int | None) -> None:
    """Whatever it is; and it is asked for only where there are series."""
    text = json.dumps(document, ensure_ascii=escaped, indent=indent).encode()
    assert known_json(text, [(0, 0)]) == len(text)
    assert known_json(text, []) == 0


@pytest.mark.parametrize(
    "odd", ["<1: 2>", "{a=1}", "word", "'x'", '"open', "[1,2\\]", '"\\\x01"', '"a\nb"', "\x0b", "é"]
)
@pytest.mark.parametrize("most", [0, 4 << 20])
def test_what_is_no_word_of_json_ends_what_is_known(odd: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where all of it is too long to be looked at in one piece; what was read to the last byte is not asked."""
    monkeypatch.setattr(leftover, "_AT_ONCE", most)
    before = b'{"a":[true,null,-1e5,"<1: 2> {b=c} \\" \\\\"],"b":NaN}\n'
    text = before + odd.encode() + b"\n" + PLAIN
    start, end = len(before), len(before) + len(odd.encode())
    assert len(before) <= known_json(text, [(end + 1, len(text))]) < end
    assert known_json(text, [(start, end)]) == len(text)
    assert known_json(PLAIN + b"\n" + before, [(0, len(PLAIN))]) == len(PLAIN) + 1 + len(before)
