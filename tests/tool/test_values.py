"""Single values of arguments: what is taken, and what is said of the rest."""

from __future__ import annotations

import pytest

from spillcache.errors import ArgumentsInvalid
from spillcache.tool.values import count, flag, positive, view_of


@pytest.mark.parametrize(("given", "meant"), [(0, 0), ("0", 0), (7, 7), (" 7 ", 7), (7.0, 7), (None, None)])
def test_numbers_may_be_written_as_text(given: object, meant: int | None) -> None:
    """0 is a number, and for a limit it is none."""
    assert count({"n": given}, "n") == meant
    assert positive({"n": given}, "n") == (meant or None)


@pytest.mark.parametrize("given", [-1, "-1", 1.5, True, "much", [], float("nan")])
def test_what_is_no_number_is_refused_by_what_is_taken(given: object) -> None:
    """Which includes 0, so the words do not rule it out."""
    for read in (count, positive):
        with pytest.raises(ArgumentsInvalid) as caught:
            read({"n": given}, "n")
        assert caught.value.message == "n must be a whole number that is not negative"


def test_flags_and_views_are_words_in_any_case() -> None:
    """Absent is false, and the raw view."""
    assert [flag({"f": word}, "f") for word in (True, "TRUE", "false", False)] == [True, True, False, False]
    assert [view_of(word) for word in (None, "raw", " Compact")] == ["raw", "raw", "compact"]
    assert not flag({}, "f")
    for refused in (1, "yes"):
        with pytest.raises(ArgumentsInvalid):
            flag({"f": refused}, "f")
        with pytest.raises(ArgumentsInvalid):
            view_of(refused)
