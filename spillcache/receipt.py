"""Receipts: signed claims that every byte of a spill was *served* in one unbroken chain of pages.

A receipt proves what was served, not what was read: whoever must know the latter compares the pages.

```
byte 0       version (high 4 bits), zero
byte 1       tag of the key that signed
bytes 2-18   spill id
bytes 19-23  size in bytes
bytes 24-55  SHA-256 of the payload
bytes 56-71  tenant digest
bytes 72-75  walk number
bytes 76-79  time: the walk's last lease renewal, seconds since 2026-01-01 UTC; 0 when none succeeded
last 16      HMAC-SHA-256, cut to 128 bits
```
"""

from __future__ import annotations

import base64
import binascii
import hmac
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spillcache.cursor import LEASE_EPOCH
from spillcache.errors import ReceiptRejected
from spillcache.ids import id_bytes, id_from_bytes, trim
from spillcache.manifest import tenant_digest

if TYPE_CHECKING:
    from spillcache.keyring import Keyring

VERSION = 1
CHARACTERS = 128
_BODY = struct.Struct(">BB17s5s32s16sII")
_MAC_BYTES = 16


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a receipt claims. `time`, in Unix seconds, is when the walk last renewed the spill's lease.

    That is at most a quarter of the TTL before the last page, unless Redis refused to renew or the spill was too old
    for it; a walk of which no renewal succeeded has 2026-01-01. The last page's own time would differ each time that
    page is read again.
    """

    spill_id: str
    size: int
    sha256: bytes
    tenant_digest: bytes
    walk: int
    time: int


def issue_receipt(receipt: Receipt, keyring: Keyring) -> str:
    """Sign a receipt: 128 characters of base64url."""
    tag, key = keyring.signing_key("receipt")
    body = _BODY.pack(
        VERSION << 4,
        tag[0],
        id_bytes(receipt.spill_id),
        receipt.size.to_bytes(5),
        receipt.sha256,
        receipt.tenant_digest,
        receipt.walk,
        receipt.time - LEASE_EPOCH,
    )
    return base64.urlsafe_b64encode(body + _mac(key, body)).decode()


def verify_receipt(text: str, keyring: Keyring, *, tenant: str | None = None) -> Receipt:
    """Check a receipt without Redis and return its claim; with `tenant`, also that it was made for that tenant.

    Raises `ReceiptRejected`.
    """
    try:
        raw = base64.b64decode(trim(text).encode("ascii"), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise ReceiptRejected("this is not a receipt") from None
    if len(raw) != _BODY.size + _MAC_BYTES or base64.urlsafe_b64encode(raw).decode() != trim(text):
        raise ReceiptRejected("this is not a receipt")
    body, mac = raw[: _BODY.size], raw[_BODY.size :]
    keys = keyring.verifying_keys(body[1:2], "receipt")
    if not any(hmac.compare_digest(_mac(key, body), mac) for key in keys):
        raise ReceiptRejected("no key of this ring vouches for the receipt")
    head, _, spill, size, sha256, who, walk, time = _BODY.unpack(body)
    if head != VERSION << 4:
        raise ReceiptRejected("the receipt has a format that this release does not read")
    if tenant is not None and not hmac.compare_digest(who, tenant_digest(tenant)):
        raise ReceiptRejected("the receipt was made for another tenant")
    return Receipt(id_from_bytes(spill), int.from_bytes(size), sha256, who, walk, time + LEASE_EPOCH)


def _mac(key: bytes, body: bytes) -> bytes:
    return hmac.digest(key, body, "sha256")[:_MAC_BYTES]
