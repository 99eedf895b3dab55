"""Manifests: all that a reader must know, packed, sealed and bound to their place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.digest import OVERHEAD, seal
from spillcache.errors import ManifestVersionUnsupported, SpillCorrupt
from spillcache.ids import new_id
from spillcache.manifest import (
    FIELD,
    MAX_TOOL_BYTES,
    Manifest,
    decode_manifest,
    encode_manifest,
    tenant_digest,
)

SPILL = new_id(bytes(15))
manifests = st.builds(
    Manifest,
    kind=st.sampled_from(("json", "ndjson", "csv", "text", "bytes")),
    size=st.integers(0, 2**40),
    chunks=st.integers(1, 2**32 - 1),
    sha256=st.binary(min_size=32, max_size=32),
    tenant=st.text().map(tenant_digest),
    ttl_ms=st.integers(1, 2**40),
    max_age_ms=st.integers(1, 2**40),
    created_ms=st.integers(0, 2**45),
    results=st.one_of(st.none(), st.integers(0, 20_000)),
    tool=st.text(st.characters(codec="utf-8"), max_size=30),
)


@given(manifests, st.integers(0, 99))
def test_a_manifest_reads_back_as_it_was_written(manifest: Manifest, segment: int) -> None:
    """Every field, "no results" and "not known" told apart."""
    assert decode_manifest(encode_manifest(manifest, SPILL, segment), SPILL, segment) == manifest


@given(manifests)
def test_a_manifest_is_small(manifest: Manifest) -> None:
    """It comes with every page, so it has 92 bytes and the tool's name."""
    assert len(encode_manifest(manifest, SPILL, 0)) == OVERHEAD + 90 + len(manifest.tool.encode())


@given(manifests, st.text(min_size=200, max_size=300))
def test_a_long_or_odd_tool_name_is_cut_not_refused(manifest: Manifest, tool: str) -> None:
    """At most 128 bytes of it are kept, lone surrogates replaced."""
    named = Manifest(**{name: getattr(manifest, name) for name in Manifest.__slots__} | {"tool": tool})
    read = decode_manifest(encode_manifest(named, SPILL, 0), SPILL, 0)
    assert len(read.tool.encode()) <= MAX_TOOL_BYTES + 2
    assert read.size == manifest.size


@given(manifests)
def test_damage_is_corrupt_and_another_place_too(manifest: Manifest) -> None:
    """Every flipped bit, every shorter form, every other segment or spill."""
    stored = encode_manifest(manifest, SPILL, 3)
    for bit in range(8, 8 * len(stored), 7):
        changed = bytearray(stored)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(SpillCorrupt):
            decode_manifest(bytes(changed), SPILL, 3)
    for length in range(len(stored)):
        with pytest.raises(SpillCorrupt):
            decode_manifest(stored[:length], SPILL, 3)
    with pytest.raises(SpillCorrupt):
        decode_manifest(stored, SPILL, 2)
    with pytest.raises(SpillCorrupt):
        decode_manifest(stored, new_id(b"\x01" * 15), 3)


@pytest.mark.parametrize("body", [b"", b"\x00" * 89, b"\xff" * 90, b"\x00" * 89 + b"\x05", b"\x00" * 91])
def test_a_sealed_body_without_the_form_is_corrupt(body: bytes) -> None:
    """A good digest over the wrong length, kind or name length is still not a manifest."""
    with pytest.raises(SpillCorrupt):
        decode_manifest(seal(SPILL, 0, FIELD, body), SPILL, 0)


@given(manifests)
def test_a_newer_manifest_is_unsupported(manifest: Manifest) -> None:
    """What a newer release stored is told apart from damage."""
    stored = encode_manifest(manifest, SPILL, 0)
    with pytest.raises(ManifestVersionUnsupported):
        decode_manifest(bytes([stored[0] + 1]) + stored[1:], SPILL, 0)


@given(st.text(), st.text())
def test_tenants_have_digests_of_their_own(one: str, two: str) -> None:
    """Sixteen bytes that name nobody."""
    assert len(tenant_digest(one)) == 16
    assert (tenant_digest(one) == tenant_digest(two)) == (one == two)
