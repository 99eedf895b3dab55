"""Ed25519 keys of receipts: whoever signs holds the private one, and whoever verifies cannot forge with the public.

In a ring's file they stand beside the secrets; a verifier gets a file that holds nothing else than public keys:

```
ring    {"sign": …, "keys": {…}, "receipts": {"sign": "2026-11", "private": {"2026-11": "<base64, 32 bytes>"},
                                              "public": {"2026-05": "<base64, 32 bytes>"}}}
public  {"receipts": {"public": {"2026-05": "…", "2026-11": "…"}}}
```

`sign` is absent while receipts are still signed with the ring's secret, such as until a first key is everywhere.
`public` in a ring are keys that sign no more: a receipt is evidence for longer than its spill lives.

The arithmetic is that of the package `cryptography`, an optional extra; a ring without such keys does not need it.
"""

from __future__ import annotations

import base64
import binascii
import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spillcache.errors import KeyringInvalid

KEY_BYTES = 32  # RFC 8032: of a private key and of a public one
SIGNATURE_BYTES = 64


@dataclass(frozen=True, slots=True)
class ReceiptKeys:
    """Private and public keys by id. `sign` names the private one that signs, or is None when none does.

    `private` and `public` hold raw keys of 32 bytes. Raises `KeyringInvalid`, also where `cryptography` is missing.
    """

    sign: str | None
    private: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    public: Mapping[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for kid, key in (*self.private.items(), *self.public.items()):
            if len(key) != KEY_BYTES:
                raise KeyringInvalid(f"receipt key {kid!r} has {len(key)} bytes; Ed25519 has {KEY_BYTES}")
        if self.sign is not None and self.sign not in self.private:
            raise KeyringInvalid("the key that `receipts.sign` names is not among `receipts.private`")
        derived = {kid: public_of(seed) for kid, seed in self.private.items()}
        if any(self.public.get(kid, key) != key for kid, key in derived.items()):
            raise KeyringInvalid("a receipt key's public half is not that of its private one")
        if not derived:
            _ed25519()  # who could not verify is told now, not by the first receipt
        object.__setattr__(self, "public", {**self.public, **derived})

    def retired(self, kids: set[str]) -> ReceiptKeys:
        """The same without the private halves of `kids`, which go on verifying."""
        return ReceiptKeys(self.sign, {kid: key for kid, key in self.private.items() if kid not in kids}, self.public)

    def as_dict(self) -> dict[str, Any]:
        """What stands under `receipts` in a ring: secrets are in it."""
        kept = {kid: key for kid, key in self.public.items() if kid not in self.private}
        answer: dict[str, Any] = {} if self.sign is None else {"sign": self.sign}
        answer |= {"private": _encoded(self.private)} if self.private else {}
        return answer | ({"public": _encoded(kept)} if kept else {})


def parse_receipt_keys(text: str) -> ReceiptKeys | None:
    """The receipt keys of a ring, or of a public file; None where there are none. Raises `KeyringInvalid`."""
    try:
        section = json.loads(text).get("receipts")
        if section is None:
            return None
        sign = section.get("sign")
        if not isinstance(sign, str | None) or section.keys() - {"sign", "private", "public"}:
            raise TypeError
        private, public = _decoded(section.get("private", {})), _decoded(section.get("public", {}))
    except (ValueError, TypeError, AttributeError, binascii.Error):
        raise KeyringInvalid(
            '`receipts` has the form {"sign": "id", "private": {"id": "<base64>"}, "public": {"id": "<base64>"}}'
        ) from None
    return ReceiptKeys(sign, private, public)


def format_public_keys(keys: ReceiptKeys) -> str:
    """The file for verifiers: every public key, and nothing that signs."""
    return json.dumps({"receipts": {"public": _encoded(keys.public)}}, indent=2) + "\n"


def public_of(seed: bytes) -> bytes:
    """The public half of a private key. Raises `KeyringInvalid` where `cryptography` is missing."""
    public: bytes = _ed25519().Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    return public


def sign(seed: bytes, message: bytes) -> bytes:
    """The signature of a message: 64 bytes, the same each time."""
    signature: bytes = _ed25519().Ed25519PrivateKey.from_private_bytes(seed).sign(message)
    return signature


def holds(public: bytes, signature: bytes, message: bytes) -> bool:
    """Whether the owner of the private half signed this message."""
    ed25519, failures = _ed25519(), importlib.import_module("cryptography.exceptions")
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (failures.InvalidSignature, ValueError):  # a ValueError: no point of the curve
        return False
    return True


def _ed25519() -> Any:
    try:
        return importlib.import_module("cryptography.hazmat.primitives.asymmetric.ed25519")
    except ModuleNotFoundError:
        raise KeyringInvalid(
            "receipt keys are Ed25519, which needs the package cryptography: `pip install 'spillcache[evidence]'`",
            next_step="Run `pip install 'spillcache[evidence]'` and start again.",
        ) from None


def _encoded(keys: Mapping[str, bytes]) -> dict[str, str]:
    return {kid: base64.b64encode(key).decode() for kid, key in keys.items()}


def _decoded(keys: Mapping[str, str]) -> dict[str, bytes]:
    return {kid: base64.b64decode("".join(key.split()), validate=True) for kid, key in keys.items()}
