"""Data frames: which are told, and where their columns and times are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spillcache.series.frames import DataFrame, read_frame

FIELDS: list[dict[str, Any]] = [
    {"name": "Time", "type": "time"},
    {"name": "Value", "type": "number", "labels": {"cpu": "0"}},
    {"name": "Other", "type": "number"},
]
COLUMNS = "[[1000,2000,3000],[1.50,null,-2e3],[7,7,8]]"


def frame(columns: str = COLUMNS, fields: Any = FIELDS, end: str = "}") -> DataFrame | None:
    """The frame of these columns, some text before them."""
    return read_frame(b"xyz%b%b" % (columns.encode(), end.encode()), json.dumps({"fields": fields}).encode(), 3)


def test_each_column_of_numbers_is_told_as_it_is_spelled() -> None:
    """With the times of its frame, its own labels or its name, and its place."""
    found = frame()
    assert found is not None
    assert found.end == 3 + len(COLUMNS)
    first, other = found.columns
    assert (first.labels, other.labels) == ('{"cpu":"0"}', '{"name":"Other"}')
    assert first.told == (3, 1, "1000", "3000", "-2e3", "1.50", "-2e3")
    assert other.told == (3, 0, "1000", "3000", "7", "8", "8")
    assert COLUMNS[first.start - 3 : first.end - 3] == "[1.50,null,-2e3]"
    assert COLUMNS[other.start - 3 : other.end - 3] == "[7,7,8]"


@pytest.mark.parametrize(
    ("times", "step"),
    [
        ("[1000,2000,3000]", "1000"),
        ("[5,6,7]", "1"),
        ("[1000,2000,3001]", None),
        ("[3000,2000,1000]", None),
        ("[1000,1000,1000]", None),
        ("[1000, 2000, 3000]", None),
        ("[1000,2000,3e3]", None),
        ("[1.5,2.5,3.5]", None),
        ("[null,1000,2000]", None),
    ],
)
def test_times_are_an_axis_only_where_they_can_be_written_again(times: str, step: str | None) -> None:
    """Each so much after the one before, in these very bytes."""
    found = frame(f"[{times},[1,2,3],[1,2,3]]")
    assert found is not None
    if step is None:
        assert found.axis is None
        return
    assert found.axis is not None
    assert (found.axis.start, found.axis.end) == (4, 4 + len(times))
    assert (found.axis.first, found.axis.step, found.axis.points) == (times[1:-1].split(",", maxsplit=1)[0], step, 3)


def test_two_times_are_no_axis() -> None:
    """They are not longer than what would stand for them."""
    found = frame("[[1,2],[1,2],[1,2]]")
    assert found is not None
    assert found.axis is None


@pytest.mark.parametrize("fields", [None, [], [1], FIELDS[1:], [{"type": "time"}], FIELDS[:2]])
def test_a_schema_that_does_not_fit_names_no_series(fields: Any) -> None:
    """No times, no numbers, or fewer fields than columns."""
    assert frame(fields=fields) is None


@pytest.mark.parametrize(
    "columns",
    [
        '[[1000,2000,3000],["a",null,1],[7,7,8]]',
        "[[1000,2000,3000],[1,2],[7,7,8]]",
        "[[1000,2000,3000],[1,NaN,2],[7,7,8]]",
        "[[1000,2000,3000],[1,,2],[7,7,8]]",
        "[[1000,2000,3000],[1,true,2],[7,7,8]]",
        "[[1000,2000,3000],[[1],2,3],[7,7,8]]",
        "[[1000,2000,3000],[1,2,3],[7,7,8],[1,1,1]]",
        "[[1000,2000,3000],[1,2,3],[7,7,8]",
        "[[1000,2000,3000],[1,2,3]]",
        "[[1000,2000,3000],[1,2,3],[7,7",
        "[]",
    ],
)
def test_columns_that_are_not_all_numbers_are_not_told(columns: str) -> None:
    """None of the frame is: it stays to be read as it is."""
    assert frame(columns) is None


@pytest.mark.parametrize("end", ["", ',"entities":[]}', ',"nanos":[null]}', "]"])
def test_what_stands_beside_the_columns_may_change_their_meaning(end: str) -> None:
    """So nothing may."""
    assert frame(end=end) is None
    assert frame(end=" \n}") is not None


def test_an_empty_frame_has_series_without_samples() -> None:
    """None is least, greatest or last."""
    found = frame("[[],[],[]]")
    assert found is not None
    assert [column.told for column in found.columns] == [(0, 0, "", "", "", "", "")] * 2
    nulls = frame("[[1],[null],[2]]")
    assert nulls is not None
    assert nulls.columns[0].told == (1, 1, "1", "1", "", "", "null")
