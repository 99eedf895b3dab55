"""Digest fields: what is announced is found, and what cannot be checked is an error."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.errors import ArgumentsInvalid
from spillcache.http.digests import announced_sha256, digest_field

SHA256 = bytes(range(32))
FIELD = digest_field(SHA256)


@given(st.binary(min_size=32, max_size=32))
def test_what_is_announced_is_found(sha256: bytes) -> None:
    """A field that we write is one that we read."""
    assert announced_sha256([digest_field(sha256)]) == sha256


@pytest.mark.parametrize(
    "fields",
    [
        [FIELD],
        [FIELD, FIELD],
        [f"sha-512=:{base64.b64encode(bytes(64)).decode()}:, {FIELD}"],
        [f" {FIELD} ;q=1 "],
        ["md5=:AAAA:", FIELD],
    ],
)
def test_it_is_found_among_others(fields: list[str]) -> None:
    """In any field, beside other algorithms, with parameters."""
    assert announced_sha256(fields) == SHA256


@pytest.mark.parametrize("fields", [[], [""], [" "]])
def test_nothing_announced_is_nothing_to_check(fields: list[str]) -> None:
    """A blank field counts as none."""
    assert announced_sha256(fields) is None


@pytest.mark.parametrize(
    "field",
    [
        "sha-256",
        "sha-256=:AAAA:",
        "sha-256=:" + "A" * 43 + ":",
        "sha-256=" + "A" * 43 + "=",
        "sha-512=:AAAA:",
        f"{FIELD}x",
        f"{FIELD}, {digest_field(bytes(32))}",
    ],
)
def test_what_cannot_be_checked_is_an_error(field: str) -> None:
    """Malformed, of another algorithm alone, or two for one body."""
    with pytest.raises(ArgumentsInvalid):
        announced_sha256([field])


@given(st.text(max_size=60))
def test_no_field_is_more_than_wrong(field: str) -> None:
    """Whatever comes is a digest, nothing, or our own error."""
    try:
        found = announced_sha256([field])
    except ArgumentsInvalid:
        return
    assert found is None or len(found) == 32
