"""The compact view leaves nothing out: what its pages say, put together and read back, are the payload's values."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from spillcache.compact import expand, write_compact
from spillcache.compact.filling import has_series
from spillcache.demo import sample
from spillcache.series import find_series
from spillcache.wire import MCP, PLAIN, Wire
from tests.compact.walking import pages, squeezed, values, walked
from tests.samples import SAMPLES, payload_of
from tests.series.documents import documents
from tests.series.spellings import TIMES, VALUES, samples_in_every_place
from tests.strategies import wires


@given(documents, wires, st.integers(900, 4_000), st.sampled_from((4_200, 9_000)))
@settings(max_examples=100, deadline=None)
def test_the_pages_read_back_are_the_payload_s_values(text: bytes, wire: Wire, room: int, reach: int) -> None:
    """Every value, in order and as spelled, whatever the series, wherever pages end; and every page fits."""
    whole = "".join(page.text for page in pages(text, room, wire, reach))
    assert values(expand(whole)) == values(text.decode())


@given(TIMES, VALUES, st.integers(60, 900))
@example("1", "nan", 900)
@example("1", "-nan", 900)
@example("1", "1.2.3", 900)
@example("1", "Inf", 60)
@settings(max_examples=100, deadline=None)
def test_whatever_a_sample_is_a_walk_goes_on_to_the_end(time: str, value: str, room: int) -> None:
    """Wherever it stands, and with blanks: it is in short where it is a sample, and else as it is; nothing stops."""
    for document in samples_in_every_place(time, value):
        room = max(room, len(time) + len(value) + 40)
        assert squeezed(expand(walked(document, room))) == squeezed(document)


@pytest.mark.parametrize("path", [path for path in SAMPLES if path.name.startswith(("prom_query", "grafana", "loki"))])
def test_real_answers_read_back_byte_for_byte(path: Path) -> None:
    """Where a backend writes JSON without blanks, not only the values come back but the very bytes."""
    text = payload_of(path)
    whole = "".join(page.text for page in pages(text, 7_000, MCP, 42_000))
    assert expand(whole).encode() == text


def test_the_batch_of_the_incident_takes_less_than_a_third_of_the_text() -> None:
    """And comes back byte for byte."""
    text = sample.payload()
    whole = "".join(page.text for page in pages(text, 7_000, PLAIN, 42_000))
    assert expand(whole).encode() == text
    assert len(whole) < len(text) / 3


@given(documents, st.data())
@settings(max_examples=40, deadline=None)
def test_a_part_of_a_payload_reads_back_too(text: bytes, data: st.DataObject) -> None:
    """A scope that holds whole series, as a named result does."""
    table = find_series(text, whole=True)
    assume(table.series)
    one = data.draw(st.sampled_from(table.series))
    scope = (one.start, one.end)
    at, whole = one.start, ""
    while at < one.end:
        page = write_compact(text, 0, table, at, scope, 900, PLAIN)
        whole, at = whole + page.text, page.end
    assert at == one.end
    written = text[one.start : one.end].decode()
    around = ("[", "]") if written.startswith("{") else ("{", "}")  # members of an object that has others too
    assert values(expand(whole).join(around)) == values(written.join(around))


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
    whole = walked(text)
    assert whole == f'[{{"metric":{{a=b}},"values":<1: 2>}},{raw}]'
    assert expand(whole) == text
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
    whole = walked(text)
    assert whole.count("<100 ") == 2
    assert whole.count("<= ") == 2
    assert expand(whole) == text
