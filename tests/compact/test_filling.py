"""The compact view leaves nothing out: what its pages say, put together and read back, are the payload's values."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spillcache.compact import CompactText, expand, write_compact
from spillcache.compact.filling import has_series
from spillcache.demo import sample
from spillcache.series import find_series
from spillcache.series.labels import shown_labels
from spillcache.wire import MCP, PLAIN, Wire
from tests.cache.test_samples import SAMPLES, payload_of
from tests.series.documents import documents
from tests.strategies import wires


def pages(text: bytes, room: int, wire: Wire, reach: int) -> Iterator[CompactText]:
    """A whole walk, each page made of no more than `reach` bytes of the payload."""
    table = find_series(text, whole=True)
    at = 0
    while at < len(text):
        base = max(0, at - 7)
        page = write_compact(text[base : at + reach], base, table, at, (0, len(text)), room, wire)
        assert page.end > at
        assert wire.cost(page.text) <= room
        yield page
        at = page.end
    assert at == len(text)


def values(text: str) -> object:
    """All values of a document in their order and spelling: members as pairs, numbers as text."""
    return json.loads(text, parse_float="f".__add__, parse_int="i".__add__, object_pairs_hook=tuple)


@given(documents, wires, st.integers(900, 4_000), st.sampled_from((4_200, 9_000)))
@settings(max_examples=100, deadline=None)
def test_the_pages_read_back_are_the_payload_s_values(text: bytes, wire: Wire, room: int, reach: int) -> None:
    """Every value, in order and as spelled, whatever the series, wherever pages end; and every page fits."""
    walked = "".join(page.text for page in pages(text, room, wire, reach))
    assert values(expand(walked)) == values(text.decode())


@pytest.mark.parametrize("path", [path for path in SAMPLES if path.name.startswith(("prom_query", "grafana", "loki"))])
def test_real_answers_read_back_byte_for_byte(path: object) -> None:
    """Where a backend writes JSON without blanks, not only the values come back but the very bytes."""
    text = payload_of(path)  # type: ignore[arg-type]
    walked = [page.text for page in pages(text, 7_000, MCP, 42_000)]
    assert expand("".join(walked)).encode() == text


def test_the_batch_of_the_incident_takes_a_third_of_the_text() -> None:
    """And comes back byte for byte."""
    text = sample.payload()
    walked = "".join(page.text for page in pages(text, 7_000, PLAIN, 42_000))
    assert expand(walked).encode() == text
    assert len(walked) < len(text) / 2.5


@given(documents, st.data())
@settings(max_examples=40, deadline=None)
def test_a_part_of_a_payload_reads_back_too(text: bytes, data: st.DataObject) -> None:
    """A scope that holds whole series, as a named result does."""
    table = find_series(text, whole=True)
    assume(table.series)
    one = data.draw(st.sampled_from(table.series))
    scope = (one.start, one.end)
    at, walked = one.start, ""
    while at < one.end:
        page = write_compact(text, 0, table, at, scope, 900, PLAIN)
        walked, at = walked + page.text, page.end
    assert at == one.end
    written = text[one.start : one.end].decode()
    around = ("[", "]") if written.startswith("{") else ("{", "}")  # members of an object that has others too
    assert values(expand(walked).join(around)) == values(written.join(around))


def test_what_is_short_says_what_it_stands_for() -> None:
    """Regular times once, repeated values once, gaps as runs of their own."""
    samples = '[[10,"1"],[20,"1"],[30,"1"],[40.5,"NaN"],[50,"2"],[60,"3"],[70,"4"]]'
    text = f'{{"metric":{{"cpu":"0","mode":"a b"}},"values":{samples}}}'
    (page,) = pages(text.encode(), 900, PLAIN, 4_096)
    assert page.text == '{"metric":{cpu=0,mode="a b"},"values":<10+10: 1*3; 40.5: NaN; 50+10: 2 3 4>}'
    assert expand(page.text) == text


def test_samples_of_an_instant_say_their_time_once_a_page() -> None:
    """The time before is meant only where it was said on the same page."""
    text = '[{"metric":{"a":"b"},"value":[1.5,"2"]},{"metric":{"a":"c"},"value":[1.5,"3"]}]'
    (page,) = pages(text.encode(), 900, PLAIN, 4_096)
    assert page.text == '[{"metric":{a=b},"value":<1.5 2>},{"metric":{a=c},"value":<= 3>}]'
    assert expand(page.text) == text


def test_only_a_scope_with_series_in_it_has_any() -> None:
    """A series that a scope cuts through does not count."""
    text = b'[{"metric":{"a":"b"},"values":[[1,"2"]]},3]'
    table = find_series(text, whole=True)
    assert has_series(table, 0, len(text))
    assert not has_series(table, 31, len(text))


@pytest.mark.parametrize("blank", ["", " "])
@pytest.mark.parametrize("sample", [f'[3,"{"9" * 1_000}"]', '[1e+5,"1"]', '[1.7e18,"1"]'])
def test_samples_that_are_not_to_be_written_short_stay_as_they_are(blank: str, sample: str) -> None:
    """The whole series does, whatever its neighbours: a time with a sign in it would read as a time and a step."""
    short = '{"metric":{"a":"b"},"values":[[1,"2"]]}'
    raw = f'{{"metric":{{"a":"c"}},"values":[[1,{blank}"2"],{sample}]}}'
    text = f"[{short},{raw}]"
    walked = "".join(page.text for page in pages(text.encode(), 900, PLAIN, 4_096))
    assert walked == f'[{{"metric":{{a=b}},"values":<1: 2>}},{raw}]'
    assert expand(walked) == text
    assert find_series(text.encode(), whole=True).partial == ("unrecognised",)


@pytest.mark.parametrize(
    "between",
    [
        '{"metric":{"x":"h"},"values":[[400,"0"],[500,"1"],[600,"2"]]}',
        '{"metric":{"x":"h"},"value":[600,"odd"]}',
        '{"metric":{"x":"h"},"histogram":[600,{"count":"5"}]}',
        '{"at":600}',
    ],
)
def test_the_time_before_is_that_of_the_element_right_before(between: str) -> None:
    """Behind anything that holds another time it is said again; reader and writer agree."""
    one, other = '{"metric":{"x":"1"},"value":[100,"1"]}', '{"metric":{"x":"2 "},"value":[100,"3"]}'
    text = f"[{one},{one},{between},{other},{other}]"
    walked = "".join(page.text for page in pages(text.encode(), 900, PLAIN, 4_096))
    assert walked.count("<100 ") == 2
    assert walked.count("<= ") == 2
    assert expand(walked) == text


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
    ],
)
def test_what_is_no_compact_text_is_not_read_as_one(text: str) -> None:
    """Better an error than another value."""
    with pytest.raises(ValueError, match=r"."):
        expand(text)


@given(st.text(max_size=1_000))
def test_labels_beside_the_data_are_bounded_and_harmless(written: str) -> None:
    """One line, at most 300 characters, nothing that hides or commands; and what is not all of them says so."""
    said = shown_labels(json.dumps({"a": written}))
    shown = said["labels"]
    assert len(shown) <= 300 + said.get("labels_cut", False)
    assert not any(char in shown for char in "\n\r\x1b\u202e\u200b\x00")
    assert said.get("labels_cut", False) == shown.endswith("…") or written.endswith("…")


@given(st.text(max_size=40), st.text(max_size=40))
def test_labels_that_differ_do_not_look_alike(one: str, other: str) -> None:
    """Blanks are kept, and what is not seen is spelled."""
    shown = [shown_labels(json.dumps({"a": text}, ensure_ascii=False)) for text in (one, other)]
    assert (shown[0] == shown[1]) == (one == other)
