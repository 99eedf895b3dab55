"""Series by columns are series: rows, slices and equality as of a list of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.series import Series, SeriesTable, find_series
from spillcache.series.model import FORMS, SeriesColumns
from tests.series.documents import documents

ROWS = [
    Series("matrix", at, at + 9, at, at + 1, at + 2, at + 8, 3, 0, "{}", "1", "2", "3", "4", "5") for at in (0, 10, 20)
]


def columns(rows: list[Series]) -> SeriesColumns:
    """These rows, kept by columns."""
    return SeriesColumns(zip(*rows, strict=True)) if rows else SeriesColumns()


@given(st.integers(0, 3), st.slices(4))
def test_rows_and_slices_are_those_of_a_list(count: int, taken: slice) -> None:
    """By number, by slice, and one after the other."""
    rows = ROWS[:count]
    kept = columns(rows)
    assert (len(kept), list(kept), [kept[at] for at in range(-count, count)]) == (count, rows, rows + rows)
    assert kept[taken] == columns(rows[taken])
    with pytest.raises(IndexError):
        _ = kept[count]


def test_what_is_equal_has_equal_rows() -> None:
    """And may be a key, as it does not change."""
    assert columns(ROWS) == columns(ROWS)
    assert hash(columns(ROWS)) == hash(columns(ROWS))
    assert columns(ROWS) != columns(ROWS[:2])
    assert columns(ROWS) != ROWS


@pytest.mark.parametrize("of", [[], [[]], [[1]] * 14, [[1]] * 14 + [[]], [[1]] * 16])
def test_columns_that_belong_to_no_series_are_refused(of: list[list[int]]) -> None:
    """One for each field, all of one length."""
    with pytest.raises(ValueError, match="a column for each field"):
        SeriesColumns(of)


def test_the_words_for_a_reader_are_few() -> None:
    """However many there are."""
    assert repr(columns(ROWS)).startswith("<3 series: Series(")
    assert repr(columns(ROWS)).endswith(", …>")
    assert repr(columns(ROWS[:1])).endswith(")>")


@given(documents)
def test_each_series_has_a_known_form(text: bytes) -> None:
    """Those that are stored by their numbers."""
    assert {one.form for one in find_series(text, whole=True).series} <= set(FORMS)


def test_faults_are_added_once() -> None:
    """What was known already stays first."""
    table = SeriesTable(partial=("window", "malformed"), known_json=7)
    assert table.with_faults(()) == table
    assert table.with_faults(("truncated", "malformed")).partial == ("window", "malformed", "truncated")
    assert table.with_faults(("truncated",)).known_json == 7
