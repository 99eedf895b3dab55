"""Lists of samples in short: every time and value in its spelling, and where in the text each ends."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spillcache.compact import expand
from spillcache.compact.samples import Samples, read_samples, regular_times, short_samples
from tests.series.spellings import TIMES, VALUES, is_time, is_value

values = st.one_of(st.sampled_from(("0", "1", "NaN", "+Inf")), VALUES.filter(is_value))
runs = st.builds(
    lambda start, step, count: [f"{start + step * number:g}" for number in range(count)],
    st.integers(0, 9_000),
    st.sampled_from((1, 15, 0.5, 0.125, 0, -1)),
    st.integers(1, 9),
)
times = st.lists(st.one_of(runs, TIMES.filter(is_time).map(lambda time: [time])), min_size=1, max_size=5).map(
    lambda parts: [time for part in parts for time in part]
)
lists = times.flatmap(
    lambda times: st.lists(values, min_size=len(times), max_size=len(times)).map(
        lambda values: list(zip(times, values, strict=True))
    )
)


def written(samples: list[tuple[str, str]], blank: str = "") -> str:
    """The list as JSON, with this blank wherever one may stand."""
    inner = f"{blank},{blank}".join(f'[{blank}{time}{blank},{blank}"{value}"{blank}]' for time, value in samples)
    return f"[{blank}{inner}{blank}]"


def short(samples: Samples) -> str:
    """These samples as they are written in short."""
    return f"<{''.join(unit.text for unit in short_samples(samples))}>"


@given(lists, st.sampled_from(("", " ", "\n\t")))
@example([("5", "1"), ("5", "2"), ("5", "3")], "")
@example([("7", "1"), ("6", "2"), ("5", "3")], " ")
def test_a_list_in_short_reads_back_as_it_was(samples: list[tuple[str, str]], blank: str) -> None:
    """Every time and value as spelled; blanks make no difference."""
    text = written(samples, blank).encode()
    read = read_samples(text, 0, 0, len(text))
    assert list(zip(read.times, read.values, strict=True)) == samples
    assert expand(short(read)) == written(samples)


@given(lists, st.sampled_from(("", " ")), st.data())
def test_a_list_can_go_on_behind_each_of_its_units(
    samples: list[tuple[str, str]], blank: str, data: st.DataObject
) -> None:
    """The rest is read from where the unit ends, as another list; the last ends where the list does."""
    text = written(samples, blank).encode()
    ends = [unit.end for unit in short_samples(read_samples(text, 0, 0, len(text)))]
    assert ends == sorted(set(ends))
    assert ends[-1] == len(text)
    end = data.draw(st.sampled_from(ends))
    before, after = read_samples(text[:end], 0, 0, len(text)), read_samples(text, end, 0, len(text))
    assert [*zip(before.times + after.times, before.values + after.values, strict=True)] == samples


@given(lists, st.sampled_from(("", " ")), st.data())
def test_of_a_text_that_is_cut_whole_samples_are_read(
    samples: list[tuple[str, str]], blank: str, data: st.DataObject
) -> None:
    """None that the cut goes through: its number might go on."""
    text = written(samples, blank).encode()
    cut = data.draw(st.integers(0, len(text)))
    read = read_samples(text[:cut], 0, 0, len(text))
    count = len(read.times)
    assert list(zip(read.times, read.values, strict=True)) == samples[:count]
    assert all(end <= cut for end in read.ends)


@pytest.mark.parametrize(
    ("first", "step"),
    [("1", "0"), ("-1", "1"), ("1.2345", "1"), ("01", "1"), ("1", "1e2"), ("1.0", "1")],
)
def test_what_no_run_begins_with_is_refused(first: str, step: str) -> None:
    """Times that would not be spelled the same again are never written as a run."""
    with pytest.raises(ValueError, match="not a time and a step"):
        list(regular_times(first, step, 2))
