"""The inventory: which results a payload holds, where, under which names, with how many samples."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.scan import MAX_RESULTS, Inventory, Result, scan
from tests.malformed import malformed

DATA = Path(__file__).parent.parent / "data"


def inventory(payload: object, window: int = 1 << 27) -> Inventory:
    """The inventory of a payload, or of a value as JSON."""
    return scan(payload if isinstance(payload, bytes) else orjson.dumps(payload), window=window).inventory


def names(found: Inventory) -> list[str]:
    """The names of the results."""
    return [result.name for result in found.results]


def counts(found: Inventory) -> list[tuple[int | None, int | None]]:
    """Series and points of the results."""
    return [(result.series, result.points) for result in found.results]


def series(samples: int, **labels: str) -> dict[str, object]:
    """A series as Prometheus has it."""
    return {"metric": labels, "values": [[1796040099.1 + number, "0.5"] for number in range(samples)]}


def frame(name: str, rows: int) -> dict[str, object]:
    """A data frame as Grafana has it."""
    return {"schema": {"refId": "A", "name": name, "fields": [1]}, "data": {"values": [[*range(rows)], [0.5] * rows]}}


def test_a_batch_of_queries_is_listed_by_query() -> None:
    """Each query of a batch is a result, with its series and the samples under them."""
    batch = [
        {"query": "up", "resultType": "matrix", "result": [series(3, job="a"), series(4, job="b")]},
        {"query": "down", "resultType": "matrix", "result": []},
        {"query": "gone", "resultType": "matrix", "result": None},
    ]
    found = inventory({"results": batch})
    assert (found.path, found.results_total, found.partial, found.strict) == ("$.results", 3, (), True)
    assert names(found) == ["up", "down", "gone"]
    assert counts(found) == [(2, 7), (0, 0), (None, None)]


def test_a_matrix_is_listed_by_labels() -> None:
    """A real answer: sixteen series, each named by its labels."""
    found = inventory((DATA / "prom_query_range_matrix_cpu.json").read_bytes())
    assert (found.path, found.results_total) == ("$.data.result", 16)
    assert found.results[0].name == '{cpu="0",instance="node-a:9100",job="node",mode="idle"}'
    assert {result.points for result in found.results} == {451}


def test_an_instant_vector_is_listed_by_metric_name_and_labels() -> None:
    """A real answer: 997 samples, named as PromQL writes them."""
    found = inventory((DATA / "prom_query_instant_vector_all.json").read_bytes())
    assert found.results_total == len(found.results) == 997
    assert found.results[0].name == 'ALERTS{alertname="RigAlwaysFiring",alertstate="firing",severity="none"}'
    assert found.results[-1].path == "$.data.result[996]"
    assert {result.points for result in found.results} == {1}


def test_label_values_are_one_result() -> None:
    """A list of scalars is no list of results: it is one, and its points are its elements."""
    found = inventory((DATA / "prom_label_values_name.json").read_bytes())
    assert names(found) == ["data"]
    assert (found.results[0].path, found.results[0].type, found.results[0].points) == ("$.data", "array", 465)


def test_log_streams_are_listed_by_labels() -> None:
    """Streams of log lines; statistics beside them are no results."""
    streams = [{"stream": {"job": name}, "values": [["1", "line"]] * 5} for name in ("a", "b")]
    found = inventory({"data": {"resultType": "streams", "result": streams, "stats": {"summary": {"n": 1}, "x": {}}}})
    assert (names(found), counts(found)) == (['{job="a"}', '{job="b"}'], [(None, 5), (None, 5)])


def test_data_frames_are_counted_by_their_first_column() -> None:
    """A map of queries is listed by key; series are its frames, points their rows."""
    found = inventory(
        {"results": {"A": {"status": 200, "frames": [frame("x", 7), frame("y", 2)]}, "B": {"frames": [frame("z", 0)]}}}
    )
    assert (names(found), counts(found)) == (["A", "B"], [(2, 9), (1, 0)])
    assert [result.path for result in found.results] == ["$.results.A", "$.results.B"]


def test_one_query_descends_to_its_frames() -> None:
    """A wrapper around one result is passed through."""
    found = inventory({"results": {"A": {"status": 200, "frames": [frame("x", 7), frame("y", 2)]}}})
    assert (found.path, names(found), counts(found)) == ("$.results.A.frames", ["x", "y"], [(None, 7), (None, 2)])


def test_tool_results_are_listed_by_what_their_structure_says() -> None:
    """Of tool results with text and structure the structure's own query is the name, its data the series."""
    answer = {
        "content": [{"type": "text", "text": "## up"}],
        "structuredContent": {"query": "up", "data": [series(2, a="1")]},
    }
    found = inventory([answer, answer])
    assert (found.path, names(found), counts(found)) == ("$", ["up", "up"], [(1, 2), (1, 2)])


def test_resources_are_listed_by_name() -> None:
    """A real tool result of six content blocks, five of which have a name."""
    found = inventory((DATA / "mcp_everything_get-resource-links.json").read_bytes())
    assert (found.path, names(found)[:3]) == ("$.content", ["[0]", "Blob Resource 1", "Text Resource 2"])


def test_objects_of_a_cluster_are_listed_by_their_metadata() -> None:
    """Names one level down count where results have none of their own."""
    found = inventory({"kind": "PodList", "items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]})
    assert names(found) == ["a", "b"]


@pytest.mark.parametrize(
    ("member", "name"),
    [
        ({"name": "n", "id": 3}, "n"),
        ({"id": 3, "refId": "A"}, "A"),
        ({"title": "t", "expr": "e"}, "e"),
        ({"id": 17}, "17"),
        ({"name": "", "title": "t"}, "t"),
        ({"name": None, "metric": {}}, "{}"),
        ({"name": {"first": 1}}, "[0]"),
        ({"metric": {"__name__": "up"}}, "up"),
        ({"name": 'say "é" \\ \n'}, 'say "é" \\ \n'),
        ({"name": "x" * 900}, "x" * 200),
        ({"name": "é" * 9000}, "é" * 200),
        ({"other": 1}, "[0]"),
    ],
)
def test_names(member: object, name: str) -> None:
    """The first usable of name, refId, query, expr, title, id, labels; at most 200 characters; else the place."""
    assert names(inventory([member, {}]))[0] == name


def test_names_that_are_not_unique_are_all_listed() -> None:
    """Two results of one name are two results."""
    assert names(inventory([{"name": "a"}, {"name": "a"}])) == ["a", "a"]


def test_keys_are_paths_and_repeated_keys_are_counted() -> None:
    """A map's members are named by key and begin at the key; both of two with one key are there."""
    payload = b'{"odd key":{"x":[1]},"b":[1,2],"b":{}}'
    found = inventory(payload)
    assert [(r.name, r.path) for r in found.results] == [("odd key", '$["odd key"]'), ("b", "$.b"), ("b", "$.b")]
    assert payload[found.results[1].start : found.results[1].end] == b'"b":[1,2]'
    assert found.duplicate_keys == 1


def test_repeated_keys_within_results_are_counted() -> None:
    """The results' own members count too."""
    assert inventory(b'[{"name":"a","name":"b"},{"id":1,"x":{"y":1,"y":2}}]').duplicate_keys == 1
    assert inventory(b'[{"a:1":1,"a:2":2},{"id":1}]').duplicate_keys == 0


def test_keys_of_a_large_map_are_found_and_repeats_counted() -> None:
    """Thousands of members, with escapes in their keys, blanks around colons, and one key that comes twice."""
    keys = [f'a "{number}" \\ é' for number in range(3000)]
    members = [f"{json.dumps(key, ensure_ascii=False)}  : [{{}}]" for key in (*keys, keys[7])]
    found = inventory(("{" + ",\n ".join(members) + "}").encode())
    assert names(found) == [*keys, keys[7]]
    assert found.results[7].path == f"$[{json.dumps(keys[7], ensure_ascii=False)}]"
    assert found.duplicate_keys == 1


@pytest.mark.parametrize(
    ("payload", "type_", "series_", "points"),
    [
        (b'{"data":null}', "null", None, None),
        (b"null", "null", None, None),
        (b'{"data":"text"}', None, None, None),
        (b'{"results":[{"name":"a","v":1}]}', "object", None, None),
        (b'{"results":[{}]}', "object", 0, 0),
        (b'{"data":[[1,2],[3,4],[5,6]]}', "array", None, 3),
    ],
)
def test_null_is_not_empty(payload: bytes, type_: str | None, series_: int | None, points: int | None) -> None:
    """Null has no counts, empty has counts of 0, and what is no result is not listed."""
    found = [(result.type, result.series, result.points) for result in inventory(payload).results]
    assert found == ([] if type_ is None else [(type_, series_, points)])


@pytest.mark.parametrize("payload", [b"[]", b'{"data":{"result":[]}}', b'{"results":[],"stats":{"a":{},"b":{}}}'])
def test_an_empty_list_has_a_total_of_zero(payload: bytes) -> None:
    """Nothing was found, and that is known."""
    assert (inventory(payload).results_total, list(inventory(payload).results)) == (0, [])


@pytest.mark.parametrize("payload", [b"", b"a log line", b'{"status":"error","error":"bad"}', b"\xff\xfe"])
def test_without_results_the_total_is_not_known(payload: bytes) -> None:
    """No list of results is not an empty one."""
    assert (inventory(payload).results_total, inventory(payload).path) == (None, "$")


LISTED = b'{"results":[{"name":"a"},{"name":"b"}' + b',{"name":"x"}' * 30


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (LISTED + b',{"na', "truncated"),
        (LISTED, "truncated"),
        (LISTED + b']}{"results":[]}', "concatenated"),
        (LISTED + b"]}]", "malformed"),
        (LISTED + b"}}", "malformed"),
        (LISTED + b'],"deep":' + b"[" * 3000 + b"]" * 3000 + b"}", "too_deep"),
    ],
)
def test_what_was_not_seen_is_said(payload: bytes, reason: str) -> None:
    """What can be listed is, and the reason why there may be more stands beside it."""
    found = inventory(payload)
    assert reason in found.partial
    assert names(found) == ["a", "b", *["x"] * 30]


def test_an_unfinished_result_is_not_listed() -> None:
    """A result whose end does not show is not there, and the total is unknown."""
    found = inventory(b'{"results":[{"name":"a"},{"name":"b"},{"name":"c","x":[1]')
    assert (names(found), found.results_total) == (["a", "b"], None)


def test_a_window_shows_what_ends_in_it() -> None:
    """Of a payload longer than the window, only whole results within it are listed, and it says so."""
    payload = orjson.dumps({"results": [{"name": f"n{number}", "text": "x" * 300} for number in range(40)]})
    found = inventory(payload, window=4096)
    assert (found.partial, found.results_total, names(found)) == (
        ("window",),
        None,
        [f"n{number}" for number in range(12)],
    )
    assert max(result.end for result in found.results) <= 4096


def test_results_are_capped() -> None:
    """Of very many results the first are listed, and the total says how many there are."""
    found = inventory(b"[" + b",".join([b'{"id":1}'] * (MAX_RESULTS + 5)) + b"]")
    assert (len(found.results), found.results_total, found.partial) == (MAX_RESULTS, MAX_RESULTS + 5, ("too_many",))


def test_lines_are_results() -> None:
    """Each line of NDJSON is one, numbered by line; a bad line is invalid and harms no other."""
    payload = b'{"name":"a","values":[1,2]}\n{"broken":"\n\n[1,2]\n7\n{"id":5}'
    found = inventory(payload)
    assert [(r.name, r.path, r.type) for r in found.results] == [
        ("a", "$[0]", "object"), ("[1]", "$[1]", "invalid"), ("[3]", "$[3]", "array"),
        ("[4]", "$[4]", "number"), ("5", "$[5]", "object"),
    ]  # fmt: skip
    assert found.results_total == 5
    assert found.results[0].points == 2


def test_very_many_lines_are_counted() -> None:
    """Of more lines than are listed, and blank ones between, the number of all is known, and of each its own."""
    lines = [f'{{"ts":[{number},{number}],"a":1,"b":2,"c":[]}}' for number in range(3 * MAX_RESULTS)]
    found = inventory("\n\n".join(lines).encode())
    assert (len(found.results), found.results_total, found.partial) == (MAX_RESULTS, 3 * MAX_RESULTS, ("too_many",))
    assert found.results[-1].path == f"$[{2 * (MAX_RESULTS - 1)}]"


@pytest.mark.parametrize(
    ("payload", "strict"),
    [(b'{"a":"NaN, Infinity"}', True), (b'{"a":[NaN,1]}', False), (b"[-Infinity]", False), (b"[1e5,1E5,true]", True)],
)
def test_not_a_number_is_flagged(payload: bytes, strict: bool) -> None:
    """NaN and Infinity outside strings are not strict JSON; inside they are text."""
    assert inventory(payload).strict is strict


def test_blanks_do_not_matter() -> None:
    """Indented or not, the results are the same."""
    value = {"data": {"result": [series(3, a="1"), series(0, b="2"), {"metric": {}, "value": [1, "2"]}]}}
    plain, indented = inventory(value), inventory(json.dumps(value, indent=60).encode())
    assert [(r.name, r.path, r.type, r.series, r.points) for r in plain.results] == [
        (r.name, r.path, r.type, r.series, r.points) for r in indented.results
    ]
    assert counts(plain) == [(None, 3), (None, 0), (None, 1)]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 10**20) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from(["data", "name", "a b", "values", "é"]), inner)
    ),
    max_leaves=40,
)


@given(
    st.lists(st.dictionaries(st.sampled_from(["name", "id", "x"]), VALUES, min_size=1), min_size=2, max_size=9),
    st.booleans(),
)
def test_ranges_hold_exactly_the_values(results: list[object], indented: bool) -> None:
    """The bytes of a result parse to that result."""
    payload = json.dumps({"results": results}, indent=3 if indented else None, ensure_ascii=indented).encode()
    found = inventory(payload)
    assert [json.loads(payload[result.start : result.end]) for result in found.results] == results


@given(VALUES)
def test_an_inventory_is_consistent(value: object) -> None:
    """Of any document: ranges ascend without overlap, and the total counts what is listed."""
    check(inventory(json.dumps(value).encode()))


@pytest.mark.parametrize("payload", [payload for _, payload in malformed()], ids=[name for name, _ in malformed()])
def test_damaged_documents_have_a_consistent_inventory(payload: bytes) -> None:
    """Whatever is wrong with a document, its inventory can be taken, stored and read."""
    check(scan(payload).inventory)


def check(found: Inventory) -> None:
    """What holds of every inventory."""
    position = 0
    for result in found.results:
        assert position <= result.start <= result.end
        position = result.end
        assert len(result.name) <= 200
        assert result.name
        assert isinstance(result, Result)
        orjson.dumps([result.name, result.path])
    assert found.results_total is None or found.results_total >= len(found.results)
