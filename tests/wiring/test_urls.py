"""A URL as it may be shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.wiring.urls import shown_url

SECRET = "SECRET"  # noqa: S105 - a stand-in to look for


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://host:6379/0", "redis://host:6379/0"),
        ("rediss://app:SECRET@host:6379/0?db=1", "rediss://app:***@host:6379/0"),
        ("redis://:SECRET@host", "redis://:***@host"),
        ("redis://SECRET@host", "redis://***@host"),
        ("redis://host?password=SECRET", "redis://host"),
        ("redis://host?password=x@SECRET", "redis://***"),
        ("redis+sentinel://a:1,b:2/main", "redis+sentinel://a:1,b:2/main"),
        ("unix:///run/redis@1.sock?password=SECRET", "unix:///run/redis@1.sock"),
        ("SECRET", "(not a URL)"),
    ],
)
def test_where_it_is_is_shown_and_what_opens_it_is_not(url: str, shown: str) -> None:
    """User, host, port and database stay; a password goes, wherever it stands."""
    assert shown_url(url) == shown


@given(st.text(alphabet="a:/@?#%&= ", max_size=8), st.text(alphabet="a:/@?#%&= ", max_size=8))
def test_no_part_of_a_password_is_shown(before: str, after: str) -> None:
    """Also of one that is not quoted as it should be."""
    assert SECRET not in shown_url(f"redis://app:{before}{SECRET}{after}@host:6379/0")
