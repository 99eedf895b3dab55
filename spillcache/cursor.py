"""Cursors: signed statements that say all a replica needs to serve the next page.

```
byte 0        version (high 4 bits), kind (low 4 bits)
byte 1        tag of the key that signed
bytes 2-6     position: the first byte (or, for an inventory or a list of series, the first entry) not yet served
bytes 7-10    lease stamp: when the lease was last renewed, seconds since 2026-01-01 UTC
bytes 11-14   walk number, made on page 1
bytes 15-19   start of the walk  ┐ only in a walk inside a result or begun elsewhere,
bytes 20-24   end of the walk    ┘ in the compact view, or in a list of series;
bytes 25-26   zero                 zero bytes, so that both lengths are multiples of three
last 15       HMAC-SHA-256, cut to 120 bits, over all before it, the spill id and the length-prefixed tenant
```

30 or 42 bytes are 40 or 56 characters of base64url, with no spare bits, so that each cursor has one spelling only.
A cursor of kind `WALK` at position p is signed only by whoever served byte p-1 to the holder of a cursor before it, so
it proves that [0, p) was served in one chain. The budget is not bound: a reader may change it midway.
"""

from __future__ import annotations

import binascii
import hmac
import re
import struct
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from spillcache.errors import (
    ArgumentsInvalid,
    CursorKeyUnknown,
    CursorMalformed,
    CursorRejected,
    CursorVersionUnsupported,
)
from spillcache.ids import trim

if TYPE_CHECKING:
    from spillcache.keyring import Keyring, PublicKeys

VERSION = 1
MAC_BYTES = 15
MAX_CHARACTERS = 56
MAX_POSITION = (1 << 40) - 1  # 1 TiB in the five bytes of a position
LEASE_EPOCH = 1_767_225_600  # 2026-01-01T00:00:00Z in Unix seconds; four bytes reach to the year 2162

_SHORT = struct.Struct(">BB5sII")
_LONG = struct.Struct(">5s5s2s")
_SHAPE = re.compile("[A-Za-z0-9_-]{40}|[A-Za-z0-9_-]{56}", re.ASCII)
_TO_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_FROM_URL_SAFE = bytes.maketrans(b"-_", b"+/")


class WalkKind(IntEnum):
    """What the cursor continues."""

    WALK = 0  # the whole payload, from page 1
    RESULT = 1  # one named result, from its first byte
    PART = 2  # a part of the payload that was begun elsewhere
    INVENTORY = 3  # the list of results; position counts entries
    COMPACT = 4  # the compact view, of the whole payload or one result; position counts raw bytes
    SERIES = 5  # the list of series, of the whole payload or one result; position counts series


_KINDS = tuple(WalkKind)
#: Kinds whose cursors say where the walk begins and ends.
_BOUNDED = frozenset((WalkKind.RESULT, WalkKind.PART, WalkKind.COMPACT, WalkKind.SERIES))


class Cursor(NamedTuple):
    """What a cursor says. `start` and `end` bound the walk in bytes; both are 0 for kinds WALK and INVENTORY."""

    kind: WalkKind
    position: int
    stamp: int
    walk: int
    start: int = 0
    end: int = 0

    def at(self, position: int) -> Cursor:
        """The cursor of the same walk at another position."""
        return Cursor(self.kind, position, self.stamp, self.walk, self.start, self.end)

    def renewed(self, stamp: int) -> Cursor:
        """The same cursor with another lease stamp."""
        return self if stamp == self.stamp else self._replace(stamp=stamp)


def is_given(cursor: str | None) -> TypeGuard[str]:
    """Whether a reader passed a cursor: None and blanks are none. Raises `CursorMalformed` for what is not text."""
    if cursor is None:
        return False
    if not isinstance(cursor, str):
        raise CursorMalformed("this is not a cursor: it must be next_cursor of the previous page, copied exactly")
    return bool(trim(cursor))


def claimed_kind(cursor: str) -> WalkKind | None:
    """What a cursor says that it continues, None where it does not look like one. Nothing is verified.

    For faces whose one tool serves all kinds: whichever verb is then called verifies it.
    """
    trimmed = trim(cursor)
    if not _SHAPE.fullmatch(trimmed):
        return None
    kind = _unpacked(trimmed[:4])[0] & 15  # four characters are three bytes
    return _KINDS[kind] if kind < len(_KINDS) else None


def refuse_raw(cursor: str) -> None:
    """Refuse a cursor of the compact view where the raw one is asked for in words. Raises `ArgumentsInvalid`."""
    if claimed_kind(cursor) is WalkKind.COMPACT:
        raise ArgumentsInvalid(
            "this cursor continues the compact view, and view asks for the raw one",
            next_step="Leave out view to read on; to read the raw pages, call without this cursor.",
        )


def encode_cursor(cursor: Cursor, keyring: Keyring, spill_id: str, tenant: str) -> str:
    """Sign a cursor: 40 characters, or 56 for kinds that say where the walk begins and ends."""
    tag, key = keyring.signing_key("cursor")
    body = _SHORT.pack(
        VERSION << 4 | cursor.kind, tag[0], cursor.position.to_bytes(5), cursor.stamp - LEASE_EPOCH, cursor.walk
    )
    if cursor.kind in _BOUNDED:
        body += _LONG.pack(cursor.start.to_bytes(5), cursor.end.to_bytes(5), bytes(2))
    signed = binascii.b2a_base64(body + _mac(key, body, spill_id, tenant), newline=False)
    return signed.translate(_TO_URL_SAFE).decode()


def decode_cursor(text: str, keyring: Keyring | PublicKeys, spill_id: str, tenant: str) -> Cursor:
    """Verify a cursor against the spill and tenant it is presented for, then read it.

    Raises `CursorMalformed`, `CursorVersionUnsupported`, `CursorKeyUnknown` or `CursorRejected`.
    """
    raw = _raw(text)
    if raw[0] >> 4 != VERSION:
        raise CursorVersionUnsupported(f"the cursor has format {raw[0] >> 4}; this process reads format {VERSION}")
    body, mac = raw[:-MAC_BYTES], raw[-MAC_BYTES:]
    keys = keyring.verifying_keys(raw[1:2], "cursor")
    if not keys:
        raise CursorKeyUnknown("the cursor was signed with a key that this process does not hold")
    if not any(hmac.compare_digest(_mac(key, body, spill_id, tenant), mac) for key in keys):
        raise CursorRejected("the cursor was altered, or was made for another spill")
    return _read(body)


def _raw(text: str) -> bytes:
    trimmed = trim(text)
    if not _SHAPE.fullmatch(trimmed):
        raise CursorMalformed("this is not a cursor: it must be next_cursor of the previous page, copied exactly")
    return _unpacked(trimmed)


def _unpacked(trimmed: str) -> bytes:
    return binascii.a2b_base64(trimmed.encode().translate(_FROM_URL_SAFE))


def _read(body: bytes) -> Cursor:
    # The signature holds, so whatever is odd here was signed by a newer release.
    head, _, position, stamp, walk = _SHORT.unpack_from(body)
    if head & 15 >= len(_KINDS):
        raise CursorVersionUnsupported("the cursor continues something that this release does not know")
    kind = _KINDS[head & 15]
    long = kind in _BOUNDED
    if len(body) != _SHORT.size + long * _LONG.size:
        raise CursorVersionUnsupported("the cursor has a length that this release does not know")
    start, end, spare = _LONG.unpack_from(body, _SHORT.size) if long else (b"", b"", b"\0\0")
    if any(spare):
        raise CursorVersionUnsupported("the cursor says more than this release knows")
    return Cursor(kind, int.from_bytes(position), stamp + LEASE_EPOCH, walk, int.from_bytes(start), int.from_bytes(end))


def _mac(key: bytes, body: bytes, spill_id: str, tenant: str) -> bytes:
    who = tenant.encode("utf-8", "surrogatepass")
    message = b"%b%b%b%b" % (body, spill_id.encode(), len(who).to_bytes(4), who)
    return hmac.digest(key, message, "sha256")[:MAC_BYTES]
