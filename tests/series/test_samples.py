"""Lists of samples: which are told, and by which of their numbers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.series.samples import SampleReader, Told, find_extremes, read_values
from tests.series.spellings import VALUES, is_value


def test_a_list_is_told_as_it_is_spelled() -> None:
    """Blanks aside; its first and last time are those of its first and last sample, in any order."""
    told = Told(4, 1, "10", "7.5", "-1e3", "0.50", "0.50")
    reader = SampleReader()
    assert reader.tell(b'[[10,"0.5"],[20,"NaN"],[30,"-1e3"],[7.5,"0.50"]]') == told._replace(greatest="0.5")
    assert reader.tell(b'[ [10, "0.4"],\n[20,"NaN" ],[30,"-1e3"],[7.5,"0.50"] ]') == told


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (("5", "5", "5"), (0, "5", "5", "5")),
        (("NaN", "NaN", "NaN"), (3, "", "", "NaN")),
        (("+Inf", "1", "-Inf"), (0, "-Inf", "+Inf", "-Inf")),
        (("9550", "10", "9"), (0, "9", "9550", "9")),
        (("1", "NaN", "NaN"), (2, "1", "1", "NaN")),
    ],
)
def test_extremes_are_those_of_numbers(values: tuple[str, str, str], told: tuple[int, str, str, str]) -> None:
    """Not of their spelling, and NaN is neither."""
    found = SampleReader().tell('[[1,"{}"],[2,"{}"],[3,"{}"]]'.format(*values).encode())
    assert found == Told(3, told[0], "1", "3", *told[1:])


@pytest.mark.parametrize(
    "written",
    [
        b"", b"[]", b"[[]]", b'[[1,"2"]', b'[1,"2"]', b'[[1,"2"],]', b'[[1,"2"][2,"3"]]', b'[[1,"2",3]]', b'[[1,"2"]]]',
        b'[["1","2"]]', b'[[1,2]]', b'[[1,"2"],[2]]', b'[[1 0,"2"]]', b'[[1e5,"2"]]', b'[[01,"2"]]', b'[[1.,"2"]]',
        b'[[NaN,"2"]]', b'[[,"2"]]', b'[[1,"2"],[2,"nan"]]', b'[[1,"2"],[2,"1.2.3"]]', b'[[1,\x0b"2"]]', b'{[1,"2"]}',
        b'[[1,"0.' + b"1" * 399 + b'"]]', b'[[' + b"1" * 401 + b',"1"]]',
    ],
)  # fmt: skip
def test_a_list_of_another_form_is_not_told(written: bytes) -> None:
    """Also behind one with the same times."""
    reader = SampleReader()
    assert reader.tell(b'[[1,"2"],[2,"3"]]') is not None
    assert reader.tell(written) is None


def test_times_are_remembered_and_not_mixed_up() -> None:
    """Whatever was read in between."""
    reader = SampleReader()
    lists = [f'[[{at},"{at}"],[{at + 1},"7"]]'.encode() for at in range(12)] * 2
    assert [(told.first_time, told.last_time) for one in lists if (told := reader.tell(one))] == [
        (str(at), str(at + 1)) for at in range(12)
    ] * 2


@given(st.lists(st.one_of(st.sampled_from(("1", "NaN", "+Inf")), VALUES), max_size=6))
def test_values_are_read_all_or_none(spelled: list[str]) -> None:
    """As `float` reads them, None for NaN."""
    read = read_values([one.encode() for one in spelled])
    if not all(map(is_value, spelled)):
        assert read is None
        return
    assert read == [None if math.isnan(float(one)) else float(one) for one in spelled]


@given(st.lists(st.one_of(st.none(), st.integers(-3, 3).map(float)), max_size=8))
def test_extremes_are_found_among_gaps(values: list[float | None]) -> None:
    """Their places, and how many gaps there are."""
    extremes, gaps = find_extremes(values)
    shown = [value for value in values if value is not None]
    assert gaps == len(values) - len(shown)
    if extremes is None:
        assert not shown
    else:
        assert [values[place] for place in extremes] == [min(shown), max(shown)]
