"""Seals: a field that changed, or stands in another place, is not believed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.digest import FORMAT, OVERHEAD, seal, unseal
from spillcache.errors import ManifestVersionUnsupported, SpillCorrupt
from spillcache.ids import new_id

SPILL, OTHER = new_id(bytes(15)), new_id(bytes(14) + b"\x01")
bodies = st.binary(max_size=60)


@given(bodies)
def test_a_sealed_field_opens_to_its_body(body: bytes) -> None:
    """Nine bytes before the body, nothing else."""
    stored = seal(SPILL, 0, "7", body)
    assert len(stored) == OVERHEAD + len(body)
    assert bytes(unseal(SPILL, 0, "7", stored)) == body


@given(bodies)
def test_every_flipped_bit_is_found(body: bytes) -> None:
    """In the version it is another format, anywhere else a corrupt field."""
    stored = seal(SPILL, 0, "7", body)
    for bit in range(8 * len(stored)):
        changed = bytearray(stored)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ManifestVersionUnsupported if bit < 8 else SpillCorrupt):
            unseal(SPILL, 0, "7", bytes(changed))


@given(bodies)
def test_every_shorter_or_longer_field_is_found(body: bytes) -> None:
    """Cut anywhere, or with anything behind it, it fails."""
    stored = seal(SPILL, 0, "7", body)
    for length in range(len(stored)):
        with pytest.raises(SpillCorrupt):
            unseal(SPILL, 0, "7", stored[:length])
    with pytest.raises(SpillCorrupt):
        unseal(SPILL, 0, "7", stored + b"\x00")


@given(bodies)
def test_a_field_opens_only_in_its_own_place(body: bytes) -> None:
    """Swapped with another field, segment or spill it fails, though it is whole."""
    stored = seal(SPILL, 1, "7", body)
    for place in ((SPILL, 1, "8"), (SPILL, 0, "7"), (OTHER, 1, "7"), (SPILL, 1, "m"), (SPILL, 17, "")):
        with pytest.raises(SpillCorrupt):
            unseal(*place, stored)


def test_a_newer_format_is_unsupported_not_corrupt() -> None:
    """What a newer release wrote is told apart from damage, so that the caller tries another replica."""
    stored = bytes([FORMAT + 1]) + seal(SPILL, 0, "m", b"body")[1:]
    with pytest.raises(ManifestVersionUnsupported) as error:
        unseal(SPILL, 0, "m", stored)
    assert error.value.retryable
