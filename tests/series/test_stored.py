"""The table of series comes back from the store as it was, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from spillcache.errors import SpillCorrupt
from spillcache.ids import new_id
from spillcache.series import SeriesTable, decode_series, encode_series, find_series
from tests.series.documents import documents

SPILL = new_id(bytes(15))


@given(documents)
@settings(max_examples=60, deadline=None)
def test_a_table_comes_back_as_it_was(text: bytes) -> None:
    """Every place and every spelling."""
    table = find_series(text, whole=True)
    assert decode_series(encode_series(table, SPILL), SPILL) == table


def test_an_empty_table_is_not_the_lack_of_one() -> None:
    """That nothing was recognised is stored, with what was not looked at."""
    table = SeriesTable(partial=("window",))
    assert decode_series(encode_series(table, SPILL), SPILL) == table


def test_a_table_that_was_altered_is_corrupt() -> None:
    """Its seal covers it like any field."""
    stored = bytearray(encode_series(SeriesTable(), SPILL))
    stored[-1] ^= 1
    with pytest.raises(SpillCorrupt):
        decode_series(bytes(stored), SPILL)
