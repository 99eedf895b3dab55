"""Receipt keys: what a ring and a public file may hold, and what is refused before anything starts."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spillcache.errors import KeyringInvalid
from spillcache.keyring import Keyring, PublicKeys, format_ring, key_tag, parse_ring
from spillcache.signatures import ReceiptKeys, format_public_keys, holds, parse_receipt_keys, public_of, sign

# RFC 8032, section 7.1, test 2.
SEED = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
PUBLIC = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
SIGNATURE = bytes.fromhex(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
)
SECRET = bytes(range(32))


def encoded(key: bytes) -> str:
    """As it stands in a file."""
    return base64.b64encode(key).decode()


def ring(receipts: Any) -> str:
    """A ring's text with that under `receipts`."""
    return json.dumps({"sign": "k", "keys": {"k": encoded(SECRET)}, "receipts": receipts})


def test_signatures_are_those_of_rfc_8032() -> None:
    """Test 2 of its section 7.1, and nothing else holds."""
    assert (public_of(SEED), sign(SEED, b"\x72")) == (PUBLIC, SIGNATURE)
    assert holds(PUBLIC, SIGNATURE, b"\x72")
    assert not holds(PUBLIC, SIGNATURE, b"\x73")
    assert not holds(b"\xff" * 32, SIGNATURE, b"\x72")


def test_a_ring_with_receipt_keys_reads_back() -> None:
    """Private ones, the one that signs, and retired public ones; the secrets beside them as ever."""
    retired = public_of(SECRET)
    keys = ReceiptKeys("new", {"new": SEED}, {"old": retired})
    text = format_ring({"k": SECRET}, "k", keys)
    assert parse_ring(text) == ({"k": SECRET}, "k")
    assert parse_receipt_keys(text) == keys
    assert Keyring.from_json(text).receipt_signer() == (key_tag("new"), SEED)
    assert keys.public == {"old": retired, "new": PUBLIC}
    assert parse_receipt_keys(format_ring({"k": SECRET}, "k")) is None


def test_the_public_file_holds_nothing_that_signs() -> None:
    """Every public key of the ring; no secret, no private key, and no representation shows one."""
    keys = ReceiptKeys("new", {"new": SEED}, {"old": public_of(SECRET)})
    text = format_public_keys(keys)
    assert encoded(SEED) not in text
    verifier = PublicKeys.from_json(text)
    assert verifier.public_keys(key_tag("new")) == [PUBLIC]
    assert verifier.verifying_keys(key_tag("new"), "receipt") == []
    assert repr(SEED) not in f"{keys!r}{verifier!r}{Keyring({'k': SECRET}, sign='k', receipts=keys)!r}"


@pytest.mark.parametrize(
    "receipts",
    [
        [], "r", 7, {"sign": 1}, {"sign": "r"}, {"publik": {}}, {"private": []}, {"private": {"r": 1}},
        {"private": {"r": "no base64!"}}, {"private": {"r": "QUJD"}}, {"public": {"r": "QUJD"}},
        {"sign": "r", "public": {"r": encoded(PUBLIC)}},
        {"private": {"r": encoded(SEED)}, "public": {"r": encoded(SEED)}}, {"private": {"": encoded(SEED)}},
        {"public": {"k" * 33: encoded(PUBLIC)}},
    ],
)  # fmt: skip
def test_what_are_no_receipt_keys_is_refused(receipts: Any) -> None:
    """A ring with a part that cannot be right must not start, and no key is in the message."""
    with pytest.raises(KeyringInvalid) as error:
        Keyring.from_json(ring(receipts))
    assert encoded(SEED) not in error.value.message


def test_a_verifier_is_not_given_a_ring() -> None:
    """Who verifies should not hold what signs; the way out is named."""
    for text in (ring({"sign": "r", "private": {"r": encoded(SEED)}}), ring({}), "{}", "null", "no json", "[1]"):
        with pytest.raises(KeyringInvalid) as error:
            PublicKeys.from_json(text)
        assert "spillcache keys public" in error.value.next_step


def test_an_unknown_receipt_key_reads_the_ring_s_file_once_more(tmp_path: Path) -> None:
    """A key that another replica signs with already verifies without a restart."""
    file = tmp_path / "ring"
    file.write_text(format_ring({"k": SECRET}, "k"))
    held = Keyring.from_file(file)
    assert held.public_keys(key_tag("r")) == []
    file.write_text(format_ring({"k": SECRET}, "k", ReceiptKeys(None, {"r": SEED})))
    assert held.public_keys(key_tag("r")) == [PUBLIC]
    assert held.receipt_signer() is None
    file.write_text(format_ring({"k": SECRET}, "k", ReceiptKeys("r", {"r": SEED})))
    assert held.reload()
    assert held.receipt_signer() == (key_tag("r"), SEED)


def test_without_the_package_a_ring_with_receipt_keys_says_what_to_install() -> None:
    """Typed, at the start; a ring of secrets alone needs nothing."""
    plain, signing = format_ring({"k": SECRET}, "k"), ring({"sign": "r", "private": {"r": encoded(SEED)}})
    public = format_public_keys(ReceiptKeys(None, {"r": SEED}))
    code = f"""
import sys
sys.modules["cryptography"] = None
from spillcache import Keyring, PublicKeys
from spillcache.errors import KeyringInvalid
Keyring.from_json({plain!r})
for read, text in ((Keyring.from_json, {signing!r}), (PublicKeys.from_json, {public!r})):
    try:
        read(text)
    except KeyringInvalid as error:
        assert "spillcache[evidence]" in error.message, error.message
        print(error.code)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout.split() == ["keyring_invalid"] * 2, ran.stderr
