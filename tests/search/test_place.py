"""Where in a document a match lies, and whether that is a key, a label or a value."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spillcache.search import KEY_BYTES, Place, Root, key_offsets, place_of, skipped

ROOT = Root(0, "$")


def place(text: str, match: str, *, root: Root = ROOT) -> Place:
    """The place of the first such match in a document."""
    raw, found = text.encode(), match.encode()
    start = raw.index(found, root.start)
    end = start + len(found)
    start += skipped(found, root.state().after(raw[root.start : start]))
    state = root.state().after(raw[root.start : start])
    heads = {at: raw[at : at + KEY_BYTES] for at in key_offsets(state)}
    return place_of(start, end, not found.strip(b" \t\r\n,:{}[]"), root, state, heads)


@pytest.mark.parametrize(
    ("match", "path", "role"),
    [
        ("query", "$.results[0].query", "key"),
        ("up{", "$.results[0].query", "value"),
        ('"metric"', "$.results[0].result[0].metric", "key"),
        ("job", "$.results[0].result[0].metric.job", "key"),
        ("node-a", "$.results[0].result[0].metric.instance", "label"),
        ('"metric":{"job"', "$.results[0].result[0].metric", "label"),
        ("1796", "$.results[0].result[0].values[0][0]", "value"),
        ("0.25", "$.results[0].result[0].values[1][1]", "value"),
        (',"odd', '$.results[0].result[0]["odd key"]', "key"),
        ("],[", "$.results[0].result[0].values[0]", "text"),
        ('"line"', "$.results[0].result[1].values[0][1]", "value"),
        ("sunk", "$.results[0].result[1].stream.nested.deep", "value"),
        ('"nested":{"deep', "$.results[0].result[1].stream.nested", "value"),
        ("app=", "$.results[0].result[1].stream.app", "label"),
        ("Value", "$.results[1].schema.fields[0].name", "label"),
        ("cpu7", "$.results[1].schema.fields[0].labels.cpu", "label"),
        ("77", "$.results[1].data.values[0][0]", "value"),
    ],
)
def test_what_was_matched_is_told_by_where_it_stands(match: str, path: str, role: str) -> None:
    """Labels say what was asked for; what is nested in them, or stands behind them, is data."""
    found = place(DOCUMENT, match)
    assert (found.path, found.role) == (path, role)


DOCUMENT = json.dumps(
    {
        "results": [
            {
                "query": "up{}",
                "result": [
                    {
                        "metric": {"job": "a", "instance": "node-a"},
                        "values": [[1796, "0.5"], [1802, "0.25"]],
                        "odd key": 1,
                    },
                    {"stream": {"app": "app=", "nested": {"deep": "sunk"}}, "values": [["1", "line"]]},
                ],
            },
            {"schema": {"fields": [{"name": "Value", "labels": {"cpu": "cpu7"}}]}, "data": {"values": [[77]]}},
        ]
    },
    separators=(",", ":"),
)


def test_the_name_of_a_named_result_is_a_label_of_it_alone() -> None:
    """Elsewhere the same member is a value."""
    text = '{"query":"up","note":"down"}'
    named = Root(0, "$.results[3]", named=True)
    assert place(text, "up", root=named)[:2] == ("$.results[3].query", "label")
    assert place(text, "down", root=named)[:2] == ("$.results[3].note", "value")
    assert place(text, "up")[:2] == ("$.query", "value")


def test_a_result_that_is_a_member_begins_with_its_key() -> None:
    """Its path is the member's."""
    text = '{"results":{"A":{"x":[1,2]},"B":3}}'
    root = Root(text.index('"A"'), "$.results", keyed=True)
    assert place(text, "2", root=root).path.endswith(".x[1]")
    assert place(text, '"A"', root=root).role == "key"


def test_a_match_that_leaves_its_labels_is_known_to() -> None:
    """It may hold values then."""
    raw = DOCUMENT.encode()
    found = place(DOCUMENT, '"metric":{"job"')
    start = raw.index(b'"metric"')
    before = ROOT.state().after(raw[:start])
    assert not found.left(before, ROOT.state().after(raw[: raw.index(b"node-a")]))
    assert found.left(before, ROOT.state().after(raw[: raw.index(b"1796")]))


def test_a_key_that_is_too_long_is_no_key_for_certain() -> None:
    """Its end is not seen: beyond what is looked at it may be a value, and nobody says that it is none."""
    text = '{"%s":1}' % ("k" * 2_000)
    assert place(text, "k").role == "key"
    assert place(text, "k").path == '$["…"]'
    assert place(f'{{"{"k" * 1_500}needle":1}}', "needle").role == "value"


@given(st.text(max_size=400))
@example("k" * 400)
@example("\u202e\x1b\n")
@example("\u2028")
def test_a_path_is_short_and_on_one_line(key: str) -> None:
    """Whatever keys are called: nothing of them hides or commands."""
    path = place(json.dumps({"a": {key: [7]}}), "7").path
    assert len(path) <= 161
    assert not any(char in path for char in "\n\r\x00\x1b\u202e\u2028")


@pytest.mark.parametrize(
    ("match", "rest"), [(b' , "a"', b'"a"'), (b"]},{", b"]},{"), (b"x", b"x"), (b"", b""), (b'[["', b'"')]
)
def test_what_only_stands_between_values_is_skipped(match: bytes, rest: bytes) -> None:
    """Unless there is nothing else, and never within a string."""
    assert match[skipped(match, ROOT.state()) :] == rest
    assert skipped(match, ROOT.state().after(b'["')) == 0


_documents: st.SearchStrategy[Any] = st.recursive(
    st.integers(0, 9),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(("a", "b", "é", "a b", "metric")), inner, max_size=3),
    ),
    max_leaves=8,
)


@given(_documents, st.data())
def test_the_path_leads_to_the_value(document: Any, data: st.DataObject) -> None:
    """As a reader follows it from the root."""
    text = json.dumps({"x": document, "needle": "!"}, ensure_ascii=data.draw(st.booleans()))
    numbers = [at for at, char in enumerate(text) if char.isdecimal() and text[at - 1] in " [" and '"' not in char]
    if not numbers:
        return
    at = data.draw(st.sampled_from(numbers))
    raw = text.encode()
    start = len(text[:at].encode())
    state = ROOT.state().after(raw[:start])
    path = place_of(
        start, start + 1, False, ROOT, state, {one: raw[one : one + KEY_BYTES] for one in key_offsets(state)}
    ).path
    assert str(_followed(json.loads(text), path)) == text[at]


_STEPS = re.compile(r'\.([^.\[]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]')


def _followed(value: Any, path: str) -> Any:
    """The value at a path of JSON."""
    for step in _STEPS.findall(path[1:]):
        value = value[int(step[1])] if step[1] else value[json.loads(step[2]) if step[2] else step[0]]
    return value
