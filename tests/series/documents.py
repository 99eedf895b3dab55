"""Documents with time series of every kind, for Hypothesis: as backends send them, and as they might."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

NUMBERS = st.one_of(
    st.sampled_from(("0", "1", "NaN", "+Inf", "-Inf", "-0", "1e5", "9550", "10", "9", "0.5", "0.50", "1.7E+308")),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**18), 10**18).map(str),
)
WORDS = st.one_of(
    st.sampled_from(
        ("", "0", "node-a:9100", "a b", "{x}", "a,b", "=", "]]", '"]]', "\\", "é", "<1: 2>", "\u202e", "😀")
    ),
    st.text(max_size=12),
)
#: As long as labels may be that are told at all, and a little longer.
LONG_WORDS = st.builds(
    lambda unit, size: (unit * size)[:size],
    st.sampled_from(("/api/v1", "a b", "é", "漢", "\\", "=,}")),
    st.integers(300, 2_100),
)
LABELS = st.dictionaries(
    st.sampled_from(("__name__", "cpu", "job", "mode", "k8s.io/app", "é")),
    st.one_of(WORDS, WORDS, WORDS, LONG_WORDS),
    max_size=4,
)
REGULAR = st.builds(
    lambda start, step, count: [start + step * number for number in range(count)],
    st.integers(0, 2 * 10**12),
    st.integers(1, 10**6),
    st.integers(1, 30),
)
IRREGULAR = st.lists(st.integers(0, 2 * 10**12), min_size=1, max_size=12).map(sorted)
TIMES = st.one_of(REGULAR, IRREGULAR, st.tuples(REGULAR, REGULAR).map(lambda two: two[0] + two[1]))


def _time(milliseconds: int) -> float | int:
    return milliseconds // 1000 if milliseconds % 1000 == 0 else milliseconds / 1000


def _matrix(labels: dict[str, str], times: list[int], values: list[str], more: dict[str, Any]) -> dict[str, Any]:
    samples = [[_time(time), values[number % len(values)]] for number, time in enumerate(times)]
    return {"metric": labels, "values": samples, **more}


def _frame(labels: dict[str, str], times: list[int], values: list[float | None]) -> dict[str, Any]:
    fields = [{"name": "Time", "type": "time"}, {"name": "Value", "type": "number", "labels": labels}]
    columns = [times, [values[number % len(values)] for number in range(len(times))]]
    return {"schema": {"refId": "A", "fields": fields}, "data": {"values": columns}}


VALUES = st.lists(NUMBERS, min_size=1, max_size=30)
matrices = st.builds(_matrix, LABELS, TIMES, VALUES, st.sampled_from(({}, {"histograms": []}, {"note": "]]"})))
vectors = st.builds(
    lambda labels, time, value: {"metric": labels, "value": [_time(time), value]},
    LABELS,
    st.sampled_from((1796040997245, 1796040997000, 5)),
    NUMBERS,
)
streams = st.builds(
    lambda labels, lines, backwards: {
        "stream": labels,
        "values": [[str(9_999_999_999_999_999_998 + n), line] for n, line in enumerate(lines)][
            :: -1 if backwards else 1
        ],
    },
    LABELS,
    st.lists(WORDS, min_size=1, max_size=6),
    st.booleans(),
)
frames = st.builds(
    _frame,
    LABELS,
    TIMES,
    st.lists(st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)), min_size=1, max_size=20),
)
others = st.one_of(WORDS, st.none(), st.lists(st.integers(), max_size=3), st.just({"values": [[1, "x"]], "metric": {}}))


def _document(series: list[Any], head: Any, indent: int | None, escaped: bool) -> bytes:
    separators = (",", ":") if indent is None else None
    document = {"status": head, "data": {"resultType": "matrix", "result": series}, "stats": {"values": 3}}
    return json.dumps(document, indent=indent, separators=separators, ensure_ascii=escaped).encode("utf-8", "replace")


documents = st.builds(
    _document,
    st.one_of(
        st.lists(matrices, max_size=5),
        st.lists(vectors, max_size=12),
        st.lists(streams, max_size=3),
        st.lists(frames, max_size=4),
        st.lists(st.one_of(matrices, vectors, streams, frames, others), max_size=6),
    ),
    others,
    st.sampled_from((None, None, 2)),
    st.booleans(),
)
