"""The key ring: which secrets sign, which ones still verify, and a subkey for each purpose.

A ring is one JSON file, `{"sign": "2026-11", "keys": {"2026-11": "<base64, 32 bytes or more>"}}`. `sign` names the key
that signs; every key verifies. To rotate: add the new key everywhere, then name it in `sign`, wait for the maximum age
of a spill, remove the old one. Nothing here makes a key by itself: replicas that each made their own would reject one
another's cursors. A ring may also hold Ed25519 keys, which then sign receipts in its secrets' place (`signatures`).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from spillcache.errors import KeyringInvalid
from spillcache.signatures import ReceiptKeys, parse_receipt_keys

MIN_KEY_BYTES = 32  # RFC 2104: keys shorter than the hash's output weaken it
TAG_BYTES = 1
ASK_S = 1.0
REFRESH_S = 30.0  # a promoted or removed key counts everywhere within half a minute


class Keyring:
    """Named signing keys, one of which signs. A ring that was read from a file follows the file.

    `keys` maps a key id (1–32 printable ASCII characters) to a secret of at least 32 bytes. `receipts` are Ed25519
    keys, for receipts that who checks them must not be able to make. Raises `KeyringInvalid`.
    """

    def __init__(
        self,
        keys: Mapping[str, bytes],
        *,
        sign: str,
        receipts: ReceiptKeys | None = None,
        source: Callable[[], tuple[Mapping[str, bytes], str, ReceiptKeys | None]] | None = None,
    ) -> None:
        self._source = source
        self._now: float | None = None
        self._read_at: float | None = None
        self._asked_at: float | None = None
        self._ring = _checked(keys, sign, receipts)

    @classmethod
    def from_file(cls, path: str | Path) -> Keyring:
        """Read a ring from a JSON file, which it then follows: see `refresh` and `verifying_keys`.

        Raises `KeyringInvalid`; later, a file that has become unreadable leaves the ring as it was.
        """
        file = Path(path)

        def read() -> tuple[Mapping[str, bytes], str, ReceiptKeys | None]:
            text = _text(file, "the key ring file")
            return (*parse_ring(text), parse_receipt_keys(text))

        keys, sign, receipts = read()
        return cls(keys, sign=sign, receipts=receipts, source=read)

    @classmethod
    def from_json(cls, text: str) -> Keyring:
        """Read a ring from the same JSON as text, such as an environment variable's. Raises `KeyringInvalid`."""
        keys, sign = parse_ring(text)
        return cls(keys, sign=sign, receipts=parse_receipt_keys(text))

    @classmethod
    def from_secret(cls, secret: bytes, *, kid: str = "default") -> Keyring:
        """A ring of one key, for tests and programs that manage their secret themselves. Raises `KeyringInvalid`."""
        return cls({kid: secret}, sign=kid)

    @property
    def sign_kid(self) -> str:
        """The id of the key that signs now."""
        return self._ring.sign

    @property
    def kids(self) -> tuple[str, ...]:
        """The ids of all keys, in the order of the ring."""
        return tuple(self._ring.keys)

    def signing_key(self, purpose: str) -> tuple[bytes, bytes]:
        """The tag and subkey that sign for `purpose` ("cursor", "receipt")."""
        ring = self._ring
        return key_tag(ring.sign), ring.subkey(ring.sign, purpose)

    def verifying_keys(self, tag: bytes, purpose: str) -> list[bytes]:
        """The subkeys that may have signed under `tag`; none when even reading the file again does not know it."""
        if tag not in self._ring.by_tag and self._may_reload():
            self.reload()
        ring = self._ring
        return [ring.subkey(kid, purpose) for kid in ring.by_tag.get(tag, ())]

    @property
    def receipt_keys(self) -> ReceiptKeys | None:
        """The Ed25519 keys, where there are any."""
        return self._ring.receipts

    def receipt_signer(self) -> tuple[bytes, bytes] | None:
        """The tag and private key that sign receipts; None when a secret's subkey for "receipt" does."""
        receipts = self._ring.receipts
        if receipts is None or receipts.sign is None:
            return None
        return key_tag(receipts.sign), receipts.private[receipts.sign]

    def public_keys(self, tag: bytes) -> list[bytes]:
        """The public keys that may vouch for a receipt under `tag`, as `verifying_keys` has secrets."""
        found = _tagged(self._ring.receipts, tag)
        if not found and self._may_reload() and self.reload():
            found = _tagged(self._ring.receipts, tag)
        return found

    def refresh(self, now: float) -> None:
        """Read the file again if that was last done half a minute ago; `now` is a monotonic clock's, in seconds."""
        self._now = now
        if self._read_at is None:
            self._read_at = now
        elif now - self._read_at >= REFRESH_S:
            self._read_at = now
            self.reload()

    def _may_reload(self) -> bool:
        """Whether an unknown tag is worth reading the file again: once a second, or made-up cursors would be a load."""
        if self._now is None:  # nobody tells us the time
            return True
        if self._asked_at is not None and self._now - self._asked_at < ASK_S:
            return False
        self._asked_at = self._now
        return True

    def reload(self) -> bool:
        """Read the ring's file again. A ring without a file, or whose file is unreadable now, stays as it is.

        Returns whether the ring was read. A broken file must not take down replicas that hold a good ring.
        """
        if self._source is None:
            return False
        try:
            ring = _checked(*self._source())
        except KeyringInvalid:
            return False
        self._ring = ring  # one assignment: other threads see the old ring or the new one
        return True

    def __repr__(self) -> str:
        return f"Keyring(kids={self.kids!r}, sign={self.sign_kid!r})"


class PublicKeys:
    """The public receipt keys alone: they verify Ed25519 receipts, and neither sign nor read anything.

    `public` maps key ids to raw keys of 32 bytes. Raises `KeyringInvalid`.
    """

    def __init__(self, public: Mapping[str, bytes]) -> None:
        _check_kids(public)
        self._keys = ReceiptKeys(None, public=public)

    @classmethod
    def from_file(cls, path: str | Path) -> PublicKeys:
        """Read the file that `spillcache keys public` made. Raises `KeyringInvalid`."""
        return cls.from_json(_text(Path(path), "the file of public keys"))

    @classmethod
    def from_json(cls, text: str) -> PublicKeys:
        """The same from text. A ring is refused: who verifies should not hold what signs. Raises `KeyringInvalid`."""
        make = "Make the file with `spillcache keys public`, where the key ring is."
        try:
            keys = parse_receipt_keys(text)
        except KeyringInvalid as error:
            raise KeyringInvalid(error.message, next_step=make) from None
        if keys is None or not keys.public:
            raise KeyringInvalid("this is not a file of public receipt keys", next_step=make)
        if keys.private:
            raise KeyringInvalid("this file holds private keys, which sign; a verifier needs none", next_step=make)
        return cls(keys.public)

    def verifying_keys(self, tag: bytes, purpose: str) -> list[bytes]:
        """None, whatever the tag: there are no secrets here."""
        return []

    def public_keys(self, tag: bytes) -> list[bytes]:
        """The public keys that may vouch for a receipt under `tag`."""
        return _tagged(self._keys, tag)

    def __repr__(self) -> str:
        return f"PublicKeys(kids={tuple(self._keys.public)!r})"


class _Ring(NamedTuple):
    """A checked ring. `subkeys` remembers what HKDF made of (kid, purpose)."""

    keys: Mapping[str, bytes]
    sign: str
    by_tag: Mapping[bytes, tuple[str, ...]]
    subkeys: dict[tuple[str, str], bytes]
    receipts: ReceiptKeys | None

    def subkey(self, kid: str, purpose: str) -> bytes:
        subkey = self.subkeys.get((kid, purpose))
        if subkey is None:
            subkey = self.subkeys[kid, purpose] = hkdf_sha256(self.keys[kid], f"spillcache/1/{purpose}".encode())
        return subkey


def _checked(keys: Mapping[str, bytes], sign: str, receipts: ReceiptKeys | None) -> _Ring:
    if sign not in keys:
        raise KeyringInvalid("the key that `sign` names is not among `keys`")
    _check_kids(keys)
    _check_kids(receipts.public if receipts is not None else ())
    for kid, secret in keys.items():
        if len(secret) < MIN_KEY_BYTES:
            raise KeyringInvalid(f"key {kid!r} has {len(secret)} bytes; at least {MIN_KEY_BYTES} are needed")
    by_tag: dict[bytes, tuple[str, ...]] = {}
    for kid in keys:
        by_tag[key_tag(kid)] = (*by_tag.get(key_tag(kid), ()), kid)
    return _Ring(dict(keys), sign, by_tag, {}, receipts)


def _check_kids(kids: Iterable[str]) -> None:
    if not all(1 <= len(kid) <= 32 and kid.isascii() and kid.isprintable() for kid in kids):
        raise KeyringInvalid("a key id must have 1 to 32 printable ASCII characters")


def _tagged(receipts: ReceiptKeys | None, tag: bytes) -> list[bytes]:
    return [key for kid, key in receipts.public.items() if key_tag(kid) == tag] if receipts is not None else []


def _text(file: Path, name: str) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise KeyringInvalid(f"{name} cannot be read ({type(error).__name__})") from None


def parse_ring(text: str) -> tuple[dict[str, bytes], str]:
    """Parse a ring's JSON into keys and the name of the signing one. Raises `KeyringInvalid`."""
    try:
        ring = json.loads(text)
        sign, keys = ring["sign"], ring["keys"]
        if not isinstance(sign, str) or not isinstance(keys, dict):
            raise TypeError
        return {kid: base64.b64decode("".join(secret.split()), validate=True) for kid, secret in keys.items()}, sign
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error):
        raise KeyringInvalid('a key ring is JSON of the form {"sign": "id", "keys": {"id": "<base64>"}}') from None


def format_ring(keys: Mapping[str, bytes], sign: str, receipts: ReceiptKeys | None = None) -> str:
    """The JSON text of a ring, as `parse_ring` and `parse_receipt_keys` read it."""
    ring: dict[str, object] = {
        "sign": sign,
        "keys": {kid: base64.b64encode(secret).decode() for kid, secret in keys.items()},
    }
    if receipts is not None:
        ring["receipts"] = receipts.as_dict()
    return json.dumps(ring, indent=2) + "\n"


def key_tag(kid: str) -> bytes:
    """One byte that tells a cursor's key among the few of a ring. Two ids may share it: then both are tried."""
    return hashlib.sha256(kid.encode()).digest()[:TAG_BYTES]


def hkdf_sha256(secret: bytes, info: bytes) -> bytes:
    """HKDF-SHA-256 (RFC 5869) with no salt and one block, 32 bytes, of output."""
    extracted = hmac.digest(bytes(32), secret, "sha256")
    return hmac.digest(extracted, info + b"\x01", "sha256")
