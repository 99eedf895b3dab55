"""Damage to stored spills, and what a reader may answer to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

import redis

from spillcache.errors import ManifestVersionUnsupported, SpillCorrupt, SpillError, SpillGone
from tests.servers.caches import key_of

#: What may be said of a damaged spill. Anything else, above all data, is a failure.
TYPED: tuple[type[SpillError], ...] = (SpillGone, ManifestVersionUnsupported)

DIGEST = range(1, 9)
BODY = 9

Damage = Callable[[bytes], bytes]


def flip(place: int, bit: int = 0) -> Damage:
    """Turn one bit of the byte at `place` (from the end where negative)."""

    def damage(stored: bytes) -> bytes:
        at = place % len(stored)
        return stored[:at] + bytes((stored[at] ^ 1 << bit,)) + stored[at + 1 :]

    return damage


DAMAGES: Mapping[str, tuple[Damage, type[SpillError]]] = {
    "version byte of a newer release": (lambda stored: b"\x02" + stored[1:], ManifestVersionUnsupported),
    "version byte zero": (lambda stored: b"\x00" + stored[1:], ManifestVersionUnsupported),
    **{f"digest byte {place}": (flip(place), SpillCorrupt) for place in DIGEST},
    **{f"header byte {place}": (flip(BODY + place, place % 8), SpillCorrupt) for place in range(14)},
    "body": (lambda stored: flip(len(stored) // 2, 5)(stored), SpillCorrupt),
    "last bit": (flip(-1), SpillCorrupt),
    "emptied": (lambda stored: b"", SpillCorrupt),
    "cut to the version byte": (lambda stored: stored[:1], SpillCorrupt),
    "cut to its seal": (lambda stored: stored[:BODY], SpillCorrupt),
    "cut in half": (lambda stored: stored[: len(stored) // 2], SpillCorrupt),
    "cut by a byte": (lambda stored: stored[:-1], SpillCorrupt),
    "longer by a byte": (lambda stored: stored + b"\0", SpillCorrupt),
    "twice": (lambda stored: stored * 2, SpillCorrupt),
    "zeroes": (lambda stored: stored[:1] + bytes(len(stored) - 1), SpillCorrupt),
}
"""Name → what happens to a stored field, and what a reader of it must say."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A spill as the server holds it."""

    admin: redis.Redis
    spill_id: str

    def fields(self, segment: int = 0) -> dict[str, bytes]:
        """The fields of a segment."""
        held = cast("dict[bytes, bytes]", self.admin.hgetall(key_of(self.spill_id, segment)))
        return {name.decode(): value for name, value in held.items()}

    def set(self, field: str, value: bytes, segment: int = 0) -> None:
        """Overwrite a field; the key keeps its TTL."""
        self.admin.hset(key_of(self.spill_id, segment), field, value)

    def damage(self, field: str, how: Damage, segment: int = 0) -> None:
        """Apply damage to a field."""
        self.set(field, how(self.fields(segment)[field]), segment)

    def lose(self, field: str, segment: int = 0) -> None:
        """Remove a field."""
        assert self.admin.hdel(key_of(self.spill_id, segment), field) == 1

    def drop(self, segment: int = 0) -> None:
        """Remove a segment."""
        assert self.admin.delete(key_of(self.spill_id, segment)) == 1
