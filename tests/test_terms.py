"""Terms: what a cache is given, checked once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.errors import ArgumentsInvalid
from spillcache.terms import Terms, stored_ttl_ms
from spillcache.wire import PLAIN


def terms(**given: object) -> Terms:
    """Terms whose clock stands still."""
    return Terms(clock=lambda: 0.0, monotonic=lambda: 0.0, random=bytes, **given)  # type: ignore[arg-type]


def test_the_defaults_are_the_documented_ones() -> None:
    """A lease of 15 minutes, a day at most, pages of 7,500 bytes."""
    default = terms()
    assert (default.ttl_ms, default.max_age_ms, default.budget_bytes) == (900_000, 86_400_000, 7_500)
    assert (default.max_payload_bytes, default.preview_bytes, default.wire) == (256 << 20, (1024, 256), PLAIN)
    assert default.tool_name == "search_query_spill"


@given(st.integers(1, 10**9))
def test_redis_keeps_a_spill_a_whole_lease_after_a_read_that_did_not_renew(ttl_ms: int) -> None:
    """Reads renew only when a quarter has passed, so four thirds are stored: three quarters of that are a lease."""
    assert stored_ttl_ms(ttl_ms) * 3 // 4 >= ttl_ms
    assert stored_ttl_ms(ttl_ms) <= ttl_ms * 4 / 3 + 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"ttl_s": 0}, {"ttl_s": -1}, {"max_age_s": 0}, {"preview_bytes": (-1, 0)}, {"preview_bytes": (0, -1)},
        {"max_payload_bytes": 0}, {"ttl_s": float("nan")}, {"ttl_s": float("inf")}, {"max_age_s": float("inf")},
        {"max_age_s": 1e18},
    ],
)  # fmt: skip
def test_terms_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    """A negative time would delete keys, a negative size would cut from the end."""
    with pytest.raises(ArgumentsInvalid):
        terms(**wrong)


def test_the_shortest_lease_is_a_millisecond() -> None:
    """Zero would mean "expire now"."""
    assert terms(ttl_s=0.0001).ttl_ms == 1
    assert terms(ttl_s=0.0001).stored_ttl_ms >= 1
