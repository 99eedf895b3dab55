"""What is told of time series is what a parser finds, in the payload's own spelling, or it is not told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spillcache.demo import sample
from spillcache.series import MAX_SERIES, Series, SeriesTable, find_series
from tests.samples import DATA, payload_of
from tests.series.documents import documents, matrices
from tests.series.parsed import check
from tests.strategies import payloads


def told(text: bytes) -> Sequence[Series]:
    """The series of a whole payload."""
    return find_series(text, whole=True).series


@given(documents)
@settings(max_examples=80, deadline=None)
def test_every_series_that_is_told_is_as_a_parser_reads_it(text: bytes) -> None:
    """Whatever the numbers, labels, blanks and neighbours; in the order of the bytes, and none within another."""
    found = told(text)
    for one in found:
        check(one, text)
    places = [place for one in found for place in (one.values_start, one.values_end)]
    assert places == sorted(places)


@given(st.lists(matrices.filter(lambda one: one["metric"]), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_no_series_of_a_matrix_is_missed(series: list[dict[str, Any]]) -> None:
    """As Prometheus writes them, all are found."""
    text = json.dumps({"data": {"result": series}}, separators=(",", ":"), ensure_ascii=False)
    found = told(text.encode("utf-8", "replace"))
    assert [one.points for one in found] == [len(one["values"]) for one in series]


@given(payloads)
@example(b'"values":[[')
@example(b'{"metric":{},"values":[[1,"')
@example(b'{"metric":{"a":"b"},"values":[[1,"1"]')
@example(b'"value":[1,"1"]')
@example(b'{"a":"\\"metric\\":{\\"a\\":\\"b\\"},\\"values\\":[[1,\\"1\\"]]"}')
@settings(max_examples=60, deadline=None)
def test_no_payload_is_too_strange(text: bytes) -> None:
    """What is cut short, binary or JSON within a string has no series, and raises nothing."""
    for one in told(text):
        check(one, text)


@pytest.mark.parametrize(
    ("name", "forms", "count"),
    [
        ("prom_query_range_matrix_cpu.json", {"matrix"}, 16),
        ("prom_query_instant_vector_all.json", {"vector"}, 997),
        ("grafana_ds_query_frames.json.zst", {"frame"}, 77),
        ("loki_query_range_streams.json.zst", {"streams"}, 5),
        ("prom_label_values_name.json", set(), 0),
        ("node_exporter_metrics.txt", set(), 0),
    ],
)
def test_the_samples_of_backends_are_told_whole(name: str, forms: set[str], count: int) -> None:
    """As many as there are, of the form they have."""
    text = payload_of(DATA / name)
    found = told(text)
    assert ({one.form for one in found}, len(found)) == (forms, count)
    for one in found:
        check(one, text)


def test_the_batch_of_the_incident_is_told_whole() -> None:
    """Every series of its twelve queries, with the numbers that a parser finds."""
    text = sample.payload()
    series = [one for result in json.loads(text)["results"] for one in result["result"]]
    found = told(text)
    assert [one.points for one in found] == [len(one["values"]) for one in series]
    assert [one.last for one in found] == [one["values"][-1][1] for one in series]


def test_what_was_not_looked_at_and_what_is_too_much_is_said() -> None:
    """A beginning, and more series than are kept, make the table partial."""
    one = '{"metric":{"a":"b"},"value":[1,"2"]}'
    many = f"[{','.join([one] * (MAX_SERIES + 1))}]".encode()
    table = find_series(many, whole=True)
    assert (len(table.series), table.partial) == (MAX_SERIES, ("too_many",))
    assert find_series(f"[{one}".encode(), whole=False).partial == ("window",)
    assert find_series(b"[]", whole=True) == SeriesTable()


@pytest.mark.parametrize(
    "piece",
    [
        b'{"metric":{"a":"b"},"values":[[1,"1"],',
        b'"values":[["1","a',
        b'"values":[["1","a\\"]]',
        b'{"metric":{"a":"b"},"values":[ [1,"1"] ,',
        b'{"schema":{"fields":[{"type":"time"}]},"data":{"values":[[1,',
        b'{"metric":{"a":"b"},"value":[1,"x"]},',
        b',{"metric":{"a":1},"value":[1,"1"]}',
        b'"values":[[1,"1"',
    ],
)
@pytest.mark.parametrize("end", [b"", b'"]]}', b"]]]}}"])
def test_lists_that_never_end_are_given_up(piece: bytes, end: bytes) -> None:
    """A megabyte of beginnings takes no longer than a few readings of it, and nothing in it is taken for a series."""
    text = piece * (1_000_000 // len(piece)) + end
    table = find_series(text, whole=True)
    for one in table.series:
        check(one, text)
    assert len(table.series) <= 1


_FRAME = '{"schema":{"fields":[{"name":"t","type":"time"},{"name":"v","type":"number"}]},"data":{"values":[%s]%s}}'
_PLAIN_FRAME = _FRAME % ("[1000,2000],[1,2]", "")


@pytest.mark.parametrize(
    "one",
    [
        '{"metric":{"a":"b"},"histogram":[1,{"count":"5"}]}',
        '{"metric":{"a":"b"},"histograms":[[1,{"count":"5"}]]}',
        '{"values":[[1,"2"]],"metric":{"a":"b"}}',
        '{"metric":{"a":"b"},"values":[[1,2]]}',
        '{"metric":{"a":"b"},"values":[[1,null]]}',
        '{"metric":{"a":"b"},"values":[[1,"2"],[2,"odd"]]}',
        '{"metric":{"a":"b"},"value":[1,"odd"]}',
        '{"metric":{"a":"b"},"values":[]}',
        '{"metric":{"a":"b"},"values":[[1 0,"2"]]}',
        '{"metric":{"a":"b"},"values":[[1e+5,"2"]]}',
        '{"metric":{"a":"b"},"value":[1e+5,"2"]}',
        '{"metric":{"a":"b"},"value":[1.2.3,"2"]}',
        '{"metric":{"a":"b"}}',
        '{"metric":{"a":"b"},"more":{"c":{}},"values":[[1,"2"]]}',
        '{"metric":{"a":"%s"},"values":[[1,"2"]]}' % ("x" * 20_000),
        '{"stream":{"a":"b"},"values":[["1","line",{"trace":"c"}]]}',
        '{"stream":{"a":"b"},"values":[["1","line"],["2","line",{"trace":"c"}]]}',
        _FRAME % ("[1000,2000],[1,NaN]", ""),
        _FRAME % ('[1000,2000],["a","b"]', ""),
        _FRAME % ("[1000,2000],[1,null]", ',"entities":[null,{"Inf":[1]}]'),
        _FRAME % ("[1000,2000],[1,null]", ',"nanos":[null,[1,2]]'),
        '{"target":"a","datapoints":[[1,2]]}',
        json.dumps(json.dumps({"metric": {"a": "b"}, "values": [[1, "2"]]})),
    ],
)
@pytest.mark.parametrize("known", ['{"metric":{"a":"b"},"values":[[1,"2"]]}', _PLAIN_FRAME, "{}"])
def test_what_is_not_understood_makes_the_table_partial(one: str, known: str) -> None:
    """Alone, before, behind and between series that are."""
    assert find_series(known.encode(), whole=True).partial == ()
    for text in (one, f"[{one},{known}]", f"[{known},{one}]", f"[{known}, {one}, {known}]"):
        table = find_series(text.encode(), whole=True)
        assert table.partial == ("unrecognised",)
        assert len(table.series) == (known != "{}") * text.count(known)


_PLAIN = '{"metric":{"c":"C"},"values":[[1,"2"]]}'


@pytest.mark.parametrize(
    "one",
    [
        r'{"m\u0065tric":{"a":"A"},"values":[[1,"1"]]}',
        r'{"m\u0065tric":{"a":"A"},"value\u0073":[[1,"1"]]}',
        r'{"m\u0065tric":{"a":"A"},"v\u0061lue":[1,"1"]}',
        r'{"\u006D\u0065\u0074\u0072\u0069\u0063":{"a":"A"},"\u0076alue":[1,"1"]}',
        r'{"str\u0065am":{"a":"A"},"v\u0061lues" : [ ["1","line"]]}',
        r'{"\u006detric":{"a":"A"},"histogr\u0061m":[1,{"count":"5"}]}',
        r'{"metric":{"a":"A"},"value\u0073":[[1,"1"]]}',
        r'{"metric":{"a":"A"},"values":[[1,"1"]],"value\u0073":[[1,"2"]]}',
        r'{"metric":{"a":"A"},"values":[[1,"1"]],"m\u0065tric":{"b":"B"}}',
        r'{"metric":{"a":"A"},"m\u0065tric":{"b":"B"},"values":[[1,"1"]]}',
        r'{"m\u0065tric":{"b":"B"},"metric":{"a":"A"},"values":[[1,"1"]]}',
    ],
)
def test_keys_spelled_with_escapes_are_not_missed_in_silence(one: str) -> None:
    """They are keys of series all the same: whatever is told of the others, the table is partial."""
    for text in (one, f"[{one}]", f"[{_PLAIN},{one}]", f"[{one},{_PLAIN}]", f"[{_PLAIN}, {one}, {_PLAIN}]"):
        assert "unrecognised" in find_series(text.encode(), whole=True).partial, text


@pytest.mark.parametrize("key", ["metric", "stream", "labels"])
@pytest.mark.parametrize("values", ['"values":[[1,"1"]]', '"value":[1,"1"]', '"values":[["1","line"]]'])
@pytest.mark.parametrize("between", ["", '"note":1,', '"note":{},', '"note":"}",', '"note":[{}],'])
def test_labels_that_are_repeated_are_not_told_as_the_labels(key: str, values: str, between: str) -> None:
    """Readers differ in which of the two hold: neither goes without a word."""
    one, other = f'"{key}":{{"a":"A"}}', f'"{key}":{{"b":"B"}}'
    for members in (
        f"{one},{values},{between}{other}",
        f"{one},{between}{other},{values}",
        f"{one}, {values}, {between}{other}",
    ):
        for text in (f"{{{members}}}", f"[{_PLAIN},{{{members}}}]", f"[{{{members}}},{_PLAIN}]"):
            assert "unrecognised" in find_series(text.encode(), whole=True).partial, text


@given(documents)
@settings(max_examples=60, deadline=None)
def test_no_list_that_left_a_series_out_is_complete(text: bytes) -> None:
    """A member of the results that has labels is in the list, or the table is partial."""
    table = find_series(text, whole=True)
    results = json.loads(text)["data"]["result"]
    like = [one for one in results if isinstance(one, dict) and {"metric", "stream", "schema"} & one.keys()]
    assert len({one.start for one in table.series}) == len(like) or table.partial


@pytest.mark.parametrize("odd", ["<1: 2>", "{a=1}", "word", "'x'", '"open', "[1,2\\]"])
def test_json_is_known_as_far_as_it_is_json(odd: str) -> None:
    """Up to what stands outside strings and is no word of JSON; within strings anything may."""
    known = '{"metric":{"a":"<1: 2>"},"values":[[1,"2"]],"b":[true,null,-1e5,"{a=b} \\" <"]}'
    assert find_series(known.encode(), whole=True).known_json == len(known)
    for before in ("", f"{known}\n", f"{known},{known},"):
        text = f"{before}{odd}\n{known}"
        assert len(before) <= find_series(text.encode(), whole=True).known_json < len(before) + len(odd)
