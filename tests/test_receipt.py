"""Receipts: what was served, signed; nothing else passes for one."""

from __future__ import annotations

import base64
import hashlib
import string
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.cursor import LEASE_EPOCH, MAX_POSITION
from spillcache.errors import ReceiptRejected
from spillcache.ids import new_id
from spillcache.keyring import Keyring
from spillcache.manifest import tenant_digest
from spillcache.receipt import CHARACTERS, Receipt, issue_receipt, verify_receipt

OLD, NEW = hashlib.sha256(b"old").digest(), hashlib.sha256(b"new").digest()
RING = Keyring.from_secret(OLD, kid="old")
URL_SAFE = string.ascii_letters + string.digits + "-_"

receipts = st.builds(
    Receipt,
    st.binary(min_size=15, max_size=15).map(new_id),
    st.integers(0, MAX_POSITION),
    st.binary(min_size=32, max_size=32),
    st.text(max_size=9).map(tenant_digest),
    st.integers(0, 2**32 - 1),
    st.integers(LEASE_EPOCH, LEASE_EPOCH + 2**32 - 1),
)


def refused(text: str) -> bool:
    """Whether this is no receipt, and the error says what that means."""
    with pytest.raises(ReceiptRejected) as error:
        verify_receipt(text, RING)
    return "unproven" in error.value.next_step


@given(receipts)
def test_a_receipt_claims_what_was_issued(receipt: Receipt) -> None:
    """Spill, size, SHA-256, tenant, walk and time come back without any server."""
    text = issue_receipt(receipt, RING)
    assert len(text) == CHARACTERS
    assert set(text) <= set(URL_SAFE)
    assert verify_receipt(text, RING) == receipt
    assert verify_receipt(f" `{text}`\n", RING) == receipt


@given(receipts)
def test_every_other_character_at_every_place_is_refused(receipt: Receipt) -> None:
    """No bit of a receipt may change, and it has one spelling."""
    text = issue_receipt(receipt, RING)
    for place in range(CHARACTERS):
        bit = URL_SAFE.index(text[place])
        for letter in (URL_SAFE[bit ^ 1], URL_SAFE[bit ^ 32], "+", "=", " ", "\u212a"):
            changed = text[:place] + letter + text[place + 1 :]
            assert changed.strip() != changed or refused(changed)


@given(receipts, st.integers(1, CHARACTERS - 1))
def test_a_shortened_padded_or_recoded_receipt_is_refused(receipt: Receipt, length: int) -> None:
    """Cut, doubled, padded or spelled in another alphabet it proves nothing."""
    text = issue_receipt(receipt, RING)
    standard = base64.b64encode(base64.urlsafe_b64decode(text)).decode()
    inner = text[:length] + "\n" + text[length:]
    for changed in (text[:length], text[length:], text + text, text + "=", text + "\n.", inner):
        assert refused(changed)
    assert standard == text or refused(standard)


@pytest.mark.parametrize(
    "text", ["", " ", "0", "null", "é" * 128, "\ud83d" * 128, "A" * 128, "A" * 127, "A" * 40, "=" * 128]
)
def test_what_is_invented_is_refused(text: str) -> None:
    """Placeholders and well-formed rubbish are no receipts."""
    assert refused(text)


@given(receipts)
def test_a_receipt_may_be_checked_for_its_tenant(receipt: Receipt) -> None:
    """The tenant is in the claim as a digest."""
    text = issue_receipt(replace(receipt, tenant_digest=tenant_digest("acme")), RING)
    assert verify_receipt(text, RING, tenant="acme").walk == receipt.walk
    with pytest.raises(ReceiptRejected, match="another tenant"):
        verify_receipt(text, RING, tenant="acme ")


@given(receipts)
def test_only_a_key_of_the_ring_vouches(receipt: Receipt) -> None:
    """Another key, or the same key id with another secret, does not; an old key does until it is removed."""
    text = issue_receipt(receipt, RING)
    assert verify_receipt(text, Keyring({"old": OLD, "new": NEW}, sign="new")) == receipt
    for ring in (Keyring.from_secret(NEW, kid="new"), Keyring.from_secret(NEW, kid="old")):
        with pytest.raises(ReceiptRejected):
            verify_receipt(text, ring)


def test_a_cursor_s_key_signs_no_receipt() -> None:
    """Each purpose has a subkey of its own."""
    assert RING.signing_key("cursor")[1] != RING.signing_key("receipt")[1]
