"""A sample is one or none wherever it stands: what is told of it does not depend on its neighbours."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings

from spillcache.series import find_series
from tests.series.parsed import check
from tests.series.spellings import TIMES, VALUES, is_time, is_value, samples_in_every_place


@given(TIMES, VALUES)
@example("1", "1.2.3")
@example("1", "10.0.0.1")
@example("1", "2024-01-01")
@example("1", "-")
@example("1", "e")
@example("1", "+-e")
@example("1", "Inf")
@example("1", "nan")
@example("1", "-nan")
@example("01", "1")
@example("1e+5", "1")
@settings(max_examples=150, deadline=None)
def test_the_same_sample_is_told_alike_wherever_it_stands(time: str, value: str) -> None:
    """Alone, in a run, in a matrix, with and without blanks: told with its numbers, or left out and said to be."""
    sound = is_time(time) and is_value(value)
    for document in samples_in_every_place(time, value):
        table = find_series(document.encode(), whole=True)
        others = document.count('{"a":"a"}') + document.count('{"a": "a"}')
        assert len(table.series) == others + sound, document
        if sound:
            assert table.partial == (), document
        else:
            assert "unrecognised" in table.partial, document
        for one in table.series:
            check(one, document.encode())


@pytest.mark.parametrize("blank", ["\x0b", "\x0c"])
@pytest.mark.parametrize("sample", ['[%s1,"2"]', '[1%s,"2"]', '[1,%s"2"]', '[1,"2"%s]'])
def test_what_is_no_blank_of_json_stands_in_no_sample(blank: str, sample: str) -> None:
    """It is no JSON then, and not known to be."""
    odd = sample % blank
    for document in (f'{{"metric":{{}},"value":{odd}}}', f'{{"metric":{{}},"values":[{odd}]}}'):
        table = find_series(document.encode(), whole=True)
        assert len(table.series) == 0
        assert "unrecognised" in table.partial
