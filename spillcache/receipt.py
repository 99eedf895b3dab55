"""Receipts: signed claims that every byte of a spill was *served* in one unbroken chain of pages.

A receipt proves what was served, not what was read: whoever must know the latter compares the pages.

```
byte 0       version (high 4 bits), how it is signed (low 4 bits): 0 with a secret, 1 with an Ed25519 key
byte 1       tag of the key that signed
bytes 2-18   spill id
bytes 19-23  size in bytes
bytes 24-55  SHA-256 of the payload
bytes 56-71  tenant digest
bytes 72-75  walk number
bytes 76-79  time: the walk's last lease renewal, seconds since 2026-01-01 UTC; 0 when none succeeded
the rest     HMAC-SHA-256, cut to 128 bits, or an Ed25519 signature of 64 bytes
```

Both lengths, 96 and 144 bytes, are multiples of three, so that each receipt has one spelling only. Signed with a
secret, a receipt can be made by whoever can check it; with an Ed25519 key, only by whoever holds its private half.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import struct
from dataclasses import dataclass
from typing import Literal

from spillcache.cursor import LEASE_EPOCH, claimed_kind
from spillcache.errors import ReceiptRejected
from spillcache.ids import id_bytes, id_from_bytes, trim
from spillcache.keyring import Keyring, PublicKeys
from spillcache.manifest import tenant_digest
from spillcache.signatures import SIGNATURE_BYTES, holds
from spillcache.signatures import sign as sign_ed25519

VERSION = 1
CHARACTERS = 128
ED25519_CHARACTERS = 192
_BODY = struct.Struct(">BB17s5s32s16sII")
_MAC_BYTES = 16
_SECRET, _ED25519 = 0, 1
_SEAL_BYTES = {_SECRET: _MAC_BYTES, _ED25519: SIGNATURE_BYTES}
_TO_CLAIMS = (
    "Check it with `spillcache claims ID TOKEN` and the key ring: that says whether it is genuine, and which part of "
    "the spill ID was served. Until then that is unproven."
)
_MESSAGE = b"spillcache/1/receipt:"  # an Ed25519 key has no subkeys: what it signs says what it is for


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a receipt claims. `time`, in Unix seconds, is when the walk last renewed the spill's lease.

    That is at most a quarter of the TTL before the last page, unless Redis refused to renew or the spill was too old
    for it; a walk of which no renewal succeeded has 2026-01-01. The last page's own time would differ each time that
    page is read again. `signed` says with what: "hmac", which every holder of the ring can make, or "ed25519".
    """

    spill_id: str
    size: int
    sha256: bytes
    tenant_digest: bytes
    walk: int
    time: int
    signed: Literal["hmac", "ed25519"] = "hmac"


def receipt_characters(keyring: Keyring) -> int:
    """How long the receipts are that this ring signs."""
    return CHARACTERS if keyring.receipt_signer() is None else ED25519_CHARACTERS


def issue_receipt(receipt: Receipt, keyring: Keyring) -> str:
    """Sign a receipt, as the ring says: 128 characters of base64url, or 192 with an Ed25519 key."""
    signer = keyring.receipt_signer()
    if signer is None:
        tag, key = keyring.signing_key("receipt")
        body = _body(receipt, _SECRET, tag)
        return _text(body + _mac(key, body))
    tag, seed = signer
    body = _body(receipt, _ED25519, tag)
    return _text(body + sign_ed25519(seed, _MESSAGE + body))


def verify_receipt(text: str, keyring: Keyring | PublicKeys, *, tenant: str | None = None) -> Receipt:
    """Check a receipt without Redis and return its claim; with `tenant`, also that it was made for that tenant.

    A ring checks both kinds, `PublicKeys` those with an Ed25519 signature. Raises `ReceiptRejected`, which sends
    what has the form of a cursor to `claims`: without a spill's id nobody can say whether such a token is genuine.
    """
    if claimed_kind(text) is not None:
        raise ReceiptRejected("this is no receipt: it has the form of a cursor or range_receipt", next_step=_TO_CLAIMS)
    try:
        raw = base64.b64decode(trim(text).encode("ascii"), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise ReceiptRejected("this is not a receipt") from None
    body, seal = raw[: _BODY.size], raw[_BODY.size :]
    if len(seal) not in _SEAL_BYTES.values() or _text(raw) != trim(text):
        raise ReceiptRejected("this is not a receipt")
    if raw[0] >> 4 != VERSION or _SEAL_BYTES.get(raw[0] & 15) != len(seal):
        raise ReceiptRejected("the receipt has a format that this release does not read, or was altered")
    if not _vouched(body, seal, keyring):
        if isinstance(keyring, PublicKeys) and raw[0] & 15 == _SECRET:
            raise ReceiptRejected("a public key cannot check this kind of receipt: a secret signed it")
        key = "public key" if raw[0] & 15 == _ED25519 else "secret"
        raise ReceiptRejected(f"no {key} that is held here vouches for the receipt")
    head, _, spill, size, sha256, who, walk, time = _BODY.unpack(body)
    if tenant is not None and not hmac.compare_digest(who, tenant_digest(tenant)):
        raise ReceiptRejected("the receipt was made for another tenant")
    signed: Literal["hmac", "ed25519"] = "ed25519" if head & 15 == _ED25519 else "hmac"
    return Receipt(id_from_bytes(spill), int.from_bytes(size), sha256, who, walk, time + LEASE_EPOCH, signed)


def _vouched(body: bytes, seal: bytes, keyring: Keyring | PublicKeys) -> bool:
    if body[0] & 15 == _ED25519:
        return any(holds(key, seal, _MESSAGE + body) for key in keyring.public_keys(body[1:2]))
    return any(hmac.compare_digest(_mac(key, body), seal) for key in keyring.verifying_keys(body[1:2], "receipt"))


def _body(receipt: Receipt, how: int, tag: bytes) -> bytes:
    return _BODY.pack(
        VERSION << 4 | how,
        tag[0],
        id_bytes(receipt.spill_id),
        receipt.size.to_bytes(5),
        receipt.sha256,
        receipt.tenant_digest,
        receipt.walk,
        receipt.time - LEASE_EPOCH,
    )


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode()


def _mac(key: bytes, body: bytes) -> bytes:
    return hmac.digest(key, body, "sha256")[:_MAC_BYTES]
