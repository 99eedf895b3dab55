"""Cursors: only what we signed, for this spill and this tenant, spelled as we spelled it."""

from __future__ import annotations

import base64
import hashlib
import string
import urllib.parse
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.cursor import (
    LEASE_EPOCH,
    MAX_CHARACTERS,
    MAX_POSITION,
    Cursor,
    WalkKind,
    claimed_kind,
    decode_cursor,
    encode_cursor,
    is_given,
)
from spillcache.errors import CursorError, CursorKeyUnknown, CursorMalformed, CursorRejected, CursorVersionUnsupported
from spillcache.ids import new_id
from spillcache.keyring import Keyring, format_ring

OLD, NEW = hashlib.sha256(b"old").digest(), hashlib.sha256(b"new").digest()
RING = Keyring.from_secret(OLD, kid="old")
SPILL, OTHER = new_id(bytes(15)), new_id(bytes(14) + b"\x01")
URL_SAFE = string.ascii_letters + string.digits + "-_"
#: Kinds whose cursors hold where the walk begins and ends.
BOUNDED = (WalkKind.RESULT, WalkKind.PART, WalkKind.COMPACT, WalkKind.SERIES)
POSITIONS = st.integers(0, MAX_POSITION)

STAMPS = st.integers(LEASE_EPOCH, LEASE_EPOCH + 2**32 - 1)
WALKS = st.integers(0, 2**32 - 1)

cursors = st.one_of(
    st.tuples(st.sampled_from((WalkKind.WALK, WalkKind.INVENTORY)), POSITIONS, STAMPS, WALKS).map(
        lambda parts: Cursor(*parts)
    ),
    st.tuples(st.sampled_from(BOUNDED), POSITIONS, STAMPS, WALKS, POSITIONS, POSITIONS).map(
        lambda parts: Cursor(*parts)
    ),
)


def sign(cursor: Cursor, ring: Keyring = RING, spill_id: str = SPILL, tenant: str = "default") -> str:
    """A cursor's text."""
    return encode_cursor(cursor, ring, spill_id, tenant)


def read(text: str, ring: Keyring = RING, spill_id: str = SPILL, tenant: str = "default") -> Cursor:
    """A text's cursor."""
    return decode_cursor(text, ring, spill_id, tenant)


def refused(text: str) -> type[CursorError]:
    """Which error a text gets; it always says how to start over."""
    with pytest.raises(CursorError) as error:
        read(text)
    assert "only spill_id" in error.value.next_step
    assert len(text) < 20 or text not in error.value.message
    return type(error.value)


@given(cursors)
def test_a_cursor_says_what_was_signed(cursor: Cursor) -> None:
    """40 characters for a walk and the inventory, 56 inside a result, all of them safe in a URL; read back exactly."""
    text = sign(cursor)
    assert read(text) == cursor
    assert len(text) == (MAX_CHARACTERS if cursor.kind in BOUNDED else 40)
    assert set(text) <= set(URL_SAFE)


@given(cursors)
def test_every_other_character_at_every_place_is_refused(cursor: Cursor) -> None:
    """No spare bits: each cursor has one spelling, and each changed character breaks it."""
    text = sign(cursor)
    for place in range(len(text)):
        bit = URL_SAFE.index(text[place])
        for letter in {URL_SAFE[bit ^ 1 << shift] for shift in range(6)} | set("+/=. \x00\u212a\uff4b"):
            changed = text[:place] + letter + text[place + 1 :]
            assert issubclass(refused(changed), CursorError)


@given(cursors, st.data())
def test_a_shortened_or_padded_cursor_is_refused(cursor: Cursor, data: st.DataObject) -> None:
    """Cut at the end, at the beginning, in the middle; lengthened; with `=`: not a cursor."""
    text = sign(cursor)
    length = data.draw(st.integers(1, len(text) - 1))
    for changed in (
        text[:length],
        text[length:],
        text[: length - 1] + text[length:],
        text + text[:length],
        text + "=",
        text + "AAAA",
        text[:length] + " " + text[length:],
        text[:length] + "…" + text[-4:],
    ):
        assert issubclass(refused(changed), CursorError)  # what is left of a long one may have a short one's length
    assert refused(text[:-5]) is CursorMalformed


@given(cursors)
def test_what_models_put_around_a_token_is_forgiven(cursor: Cursor) -> None:
    """White space, quotes and backticks outside do not matter; it survives URL encoding unchanged."""
    text = sign(cursor)
    assert read(f" `{text}`\n") == cursor
    assert read(f'"{text}"') == cursor
    assert urllib.parse.quote(text, safe="") == text
    assert urllib.parse.unquote_plus(text) == text


@given(cursors)
def test_another_alphabet_or_case_is_refused(cursor: Cursor) -> None:
    """Standard base64, percent-encoding, hexadecimal and changed case are not how we spell."""
    text = sign(cursor)
    raw = base64.urlsafe_b64decode(text)
    for changed in (raw.hex(), "".join(f"%{ord(letter):02X}" for letter in text), text.swapcase(), text.lower()):
        assert changed == text or issubclass(refused(changed), CursorError)
    if {"-", "_"} & set(text):
        assert refused(base64.b64encode(raw).decode()) is CursorMalformed


@pytest.mark.parametrize(
    "text",
    ["0", "1", "start", "null", "None", "undefined", "next_cursor", "page2", "…", "a" * 39,
        "a" * 41, "x" * 10_000, "{}", "\ud83d" * 40, "é" * 20],
)  # fmt: skip
def test_invented_cursors_are_malformed(text: str) -> None:
    """A placeholder never means page 1."""
    assert refused(text) is CursorMalformed


@pytest.mark.parametrize("sent", [0, 1, False, 1.5, b"", [], {}])
def test_what_is_not_text_is_malformed(sent: Any) -> None:
    """Agents send numbers and lists too; a typed error tells them what a cursor is."""
    with pytest.raises(CursorMalformed):
        is_given(sent)


@given(cursors)
def test_a_cursor_belongs_to_its_spill_and_its_tenant(cursor: Cursor) -> None:
    """With another spill, another tenant, or a tenant that only joins up the same, it is rejected."""
    text = sign(cursor)
    with pytest.raises(CursorRejected):
        read(text, spill_id=OTHER)
    for tenant in ("", "Default", "default ", "defaul", "\ud83d"):
        with pytest.raises(CursorRejected):
            read(text, tenant=tenant)


@given(cursors, st.text(max_size=40))
def test_any_tenant_name_can_be_bound(cursor: Cursor, tenant: str) -> None:
    """Braces, NUL, emoji: the name is length-prefixed bytes under the signature."""
    assert read(sign(cursor, tenant=tenant), tenant=tenant) == cursor


@given(cursors)
def test_a_key_that_is_not_held_is_unknown_and_one_that_is_not_the_signer_s_is_rejected(cursor: Cursor) -> None:
    """By its tag a reader tells an unknown key from a forged signature."""
    text = sign(cursor, ring=Keyring.from_secret(NEW, kid="new"))
    assert refused(text) is CursorKeyUnknown
    assert refused(sign(cursor, ring=Keyring.from_secret(NEW, kid="old"))) is CursorRejected


@given(cursors)
def test_cursors_outlive_a_rotation_until_the_old_key_is_removed(cursor: Cursor) -> None:
    """Added, promoted, removed: what the old key signed verifies until the last step."""
    old = sign(cursor)
    added = Keyring({"old": OLD, "new": NEW}, sign="old")
    promoted = Keyring({"old": OLD, "new": NEW}, sign="new")
    removed = Keyring({"new": NEW}, sign="new")
    assert read(old, ring=added) == read(old, ring=promoted) == cursor
    assert read(sign(cursor, ring=promoted), ring=added) == cursor
    assert read(sign(cursor, ring=promoted), ring=removed) == cursor
    with pytest.raises(CursorKeyUnknown):
        read(old, ring=removed)


def test_a_replica_learns_a_new_key_from_the_ring_s_file(tmp_path: Path) -> None:
    """A cursor of a key that was added after the start is honoured without a restart."""
    path = tmp_path / "ring"
    path.write_text(format_ring({"old": OLD}, "old"))
    ring = Keyring.from_file(path)
    cursor = Cursor(WalkKind.WALK, 7, LEASE_EPOCH, 1)
    text = sign(cursor, ring=Keyring({"old": OLD, "new": NEW}, sign="new"))
    with pytest.raises(CursorKeyUnknown):
        read(text, ring=ring)
    path.write_text(format_ring({"old": OLD, "new": NEW}, "old"))
    assert read(text, ring=ring) == cursor


def test_two_processes_without_a_shared_secret_reject_each_other() -> None:
    """A key made in each process would fail half of all reads: so none is ever made by itself."""
    cursor = Cursor(WalkKind.WALK, 7, LEASE_EPOCH, 1)
    here, there = (Keyring.from_secret(hashlib.sha256(seed).digest()) for seed in (b"a", b"b"))
    with pytest.raises(CursorRejected):
        read(sign(cursor, ring=here), ring=there)


@pytest.mark.parametrize("version", [0, 2, 15])
def test_another_format_is_told_apart_before_anything_else(version: int) -> None:
    """During a rollout a cursor of a newer release is unsupported, not tampered with."""
    raw = bytearray(base64.urlsafe_b64decode(sign(Cursor(WalkKind.WALK, 7, LEASE_EPOCH, 1))))
    raw[0] = version << 4
    assert refused(base64.urlsafe_b64encode(raw).decode()) is CursorVersionUnsupported


def test_no_kind_of_cursor_can_pass_for_another() -> None:
    """A walk inside a result, or of the inventory, cannot be turned into one of the whole."""
    for kind in (*BOUNDED, WalkKind.INVENTORY):
        raw = bytearray(base64.urlsafe_b64decode(sign(Cursor(kind, 7, LEASE_EPOCH, 1))))
        raw[0] &= 0xF0
        assert refused(base64.urlsafe_b64encode(raw).decode()) is CursorRejected


def test_what_is_signed_fits_its_bytes_or_fails_loudly() -> None:
    """A position beyond a tebibyte cannot be said, so it is not said wrongly."""
    with pytest.raises(OverflowError):
        sign(Cursor(WalkKind.WALK, MAX_POSITION + 1, LEASE_EPOCH, 1))


@given(cursors)
def test_what_a_cursor_continues_can_be_told_without_a_key(cursor: Cursor) -> None:
    """A face asks before it chooses the verb; the verb then verifies."""
    signed = encode_cursor(cursor, RING, SPILL, "t")
    assert claimed_kind(f" {signed}\n") is cursor.kind


@given(st.text().filter(lambda text: len(text.strip()) not in (40, 56)))
def test_what_is_no_cursor_continues_nothing(text: str) -> None:
    """It goes to the verb for pages, which says what is wrong with it."""
    assert claimed_kind(text) is None
