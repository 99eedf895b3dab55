"""Receipts: what was served, signed; nothing else passes for one."""

from __future__ import annotations

import base64
import hashlib
import string
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spillcache.cursor import LEASE_EPOCH, MAX_POSITION, Cursor, WalkKind, encode_cursor
from spillcache.errors import ReceiptRejected
from spillcache.ids import new_id
from spillcache.keyring import Keyring, PublicKeys
from spillcache.manifest import tenant_digest
from spillcache.receipt import CHARACTERS, ED25519_CHARACTERS, Receipt, issue_receipt, verify_receipt
from spillcache.signatures import ReceiptKeys

OLD, NEW = hashlib.sha256(b"old").digest(), hashlib.sha256(b"new").digest()
RING = Keyring.from_secret(OLD, kid="old")
SEED, OTHER_SEED = hashlib.sha256(b"seed").digest(), hashlib.sha256(b"another seed").digest()
KEYS = ReceiptKeys("r", {"r": SEED})
SIGNING = Keyring({"old": OLD}, sign="old", receipts=KEYS)
PUBLIC = PublicKeys(KEYS.public)
RING_K = Keyring.from_secret(OLD, kid="k")
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


@given(receipts)
def test_an_ed25519_receipt_is_checked_by_who_cannot_make_one(receipt: Receipt) -> None:
    """The public key is enough, the ring has it too, and the claim says how it was signed."""
    text = issue_receipt(receipt, SIGNING)
    assert len(text) == ED25519_CHARACTERS
    assert set(text) <= set(URL_SAFE)
    assert text == issue_receipt(receipt, SIGNING)
    for keys in (PUBLIC, SIGNING):
        assert verify_receipt(text, keys) == replace(receipt, signed="ed25519")


@settings(max_examples=5)
@given(receipts)
def test_no_character_of_an_ed25519_receipt_may_change(receipt: Receipt) -> None:
    """Nor may it be cut to the length of the other kind, or be said to be of it."""
    text = issue_receipt(receipt, SIGNING)
    for place in range(ED25519_CHARACTERS):
        changed = text[:place] + URL_SAFE[URL_SAFE.index(text[place]) ^ 1] + text[place + 1 :]
        with pytest.raises(ReceiptRejected):
            verify_receipt(changed, PUBLIC)
    for changed in (text[:CHARACTERS], text[:-4], text + "AAAA", issue_receipt(receipt, RING) + text[CHARACTERS:]):
        for keys in (PUBLIC, SIGNING):
            with pytest.raises(ReceiptRejected):
                verify_receipt(changed, keys)


@given(receipts)
def test_both_kinds_hold_where_their_keys_are(receipt: Receipt) -> None:
    """A ring that turns to Ed25519 still vouches for its older receipts; who has public keys only, never did."""
    older = issue_receipt(receipt, RING)
    assert verify_receipt(older, SIGNING) == receipt
    with pytest.raises(ReceiptRejected):
        verify_receipt(older, PUBLIC)
    newer = issue_receipt(receipt, SIGNING)
    for keys in (RING, PublicKeys({"r": ReceiptKeys("r", {"r": OTHER_SEED}).public["r"]})):
        with pytest.raises(ReceiptRejected):
            verify_receipt(newer, keys)


@given(receipts)
def test_holding_the_public_key_and_the_secrets_forges_no_ed25519_receipt(receipt: Receipt) -> None:
    """What a replica's secret signs says so, and nobody takes it for the other kind."""
    verifier = Keyring({"old": OLD}, sign="old", receipts=ReceiptKeys(None, public=KEYS.public))
    assert verify_receipt(issue_receipt(receipt, verifier), verifier).signed == "hmac"


def test_receipt_keys_rotate_and_retired_ones_go_on_verifying() -> None:
    """Added but not promoted, a key does not sign; its public half outlives it, as receipts outlive spills."""
    receipt = Receipt(new_id(bytes(15)), 1, bytes(32), bytes(16), 1, LEASE_EPOCH)
    added = ReceiptKeys(None, {"r": SEED})
    assert (
        verify_receipt(issue_receipt(receipt, Keyring({"k": OLD}, sign="k", receipts=added)), RING_K).signed == "hmac"
    )
    first = issue_receipt(receipt, SIGNING)
    both = ReceiptKeys("s", {"r": SEED, "s": OTHER_SEED})
    retired = both.retired({"r"})
    assert (set(retired.private), set(retired.public)) == ({"s"}, {"r", "s"})
    for keys in (both, retired):
        assert verify_receipt(first, Keyring({"k": OLD}, sign="k", receipts=keys)).signed == "ed25519"
        assert verify_receipt(first, PublicKeys(keys.public)).signed == "ed25519"


@pytest.mark.parametrize(
    "cursor",
    [
        Cursor(WalkKind.WALK, 500, LEASE_EPOCH, 1),
        Cursor(WalkKind.PART, 9, LEASE_EPOCH, 1, 0, 9),
        Cursor(WalkKind.COMPACT, 9, LEASE_EPOCH, 1, 0, 9),
    ],
)
def test_a_cursor_is_sent_to_where_it_can_be_checked(cursor: Cursor) -> None:
    """A genuine one is no receipt, and is not refuted either: what can check it needs the spill's id."""
    with pytest.raises(ReceiptRejected, match="cursor or range_receipt") as error:
        verify_receipt(encode_cursor(cursor, RING, "a" * 26, "default"), RING)
    assert "spillcache claims" in error.value.next_step


def test_a_public_key_says_that_it_cannot_check_what_a_secret_signed() -> None:
    """That is no verdict on the receipt."""
    public = PublicKeys(ReceiptKeys("r", {"r": bytes(32)}).public)
    with pytest.raises(ReceiptRejected, match="a public key cannot check this kind"):
        verify_receipt(issue_receipt(Receipt("a" * 26, 1, bytes(32), bytes(16), 1, LEASE_EPOCH), RING), public)
