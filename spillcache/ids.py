"""Spill ids: opaque, unguessable, and able to tell a typo from a lost spill.

An id is 120 random bits and a CRC-10 over them, 130 bits, as 26 characters of lower-case RFC 4648 base32.
The checksum is there because models shorten and mistype ids: a mistyped one is *malformed*, which is not *not found*.
CRC-10/ATM (x¹⁰+x⁹+x⁵+x⁴+x+1) finds every error burst of up to 10 bits, so every single wrong character (5 bits).
"""

from __future__ import annotations

import functools
import re

from spillcache.errors import SpillIdMalformed

RANDOM_BYTES = 15
LENGTH = 26

_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_TO_INT_BASE_32 = str.maketrans(_ALPHABET, "0123456789abcdefghijklmnopqrstuv")
_SHAPE = re.compile(f"[{_ALPHABET}]{{{LENGTH}}}", re.ASCII)
_CRC_POLYNOMIAL = 0x633


def new_id(random: bytes) -> str:
    """Make an id from 15 bytes of a cryptographic random source."""
    if len(random) != RANDOM_BYTES:
        raise ValueError(f"an id needs {RANDOM_BYTES} random bytes, not {len(random)}")
    return _letters(int.from_bytes(random) << 10 | _crc10(random))


def parse_id(text: object) -> str:
    """Return the canonical (lower-case) id, or raise `SpillIdMalformed`. What `trim` trims may surround it."""
    if not isinstance(text, str):
        raise SpillIdMalformed("spill_id must be a string")
    return _parse(text)


@functools.lru_cache(maxsize=1024)  # the pages of a walk all bear the same one
def _parse(text: str) -> str:
    canonical = trim(text)
    if canonical.isascii():  # some letters beyond ASCII become ASCII ones when lowered
        canonical = canonical.lower()
    if not _SHAPE.fullmatch(canonical):
        raise SpillIdMalformed(f"spill_id must have {LENGTH} characters a-z, 2-7; this has {len(canonical)}")
    value = _number(canonical)
    if _crc10((value >> 10).to_bytes(RANDOM_BYTES)) != value & 0x3FF:
        raise SpillIdMalformed("spill_id fails its checksum: at least one character is wrong")
    return canonical


def id_bytes(spill_id: str) -> bytes:
    """The 17 bytes of a canonical id, for signed claims."""
    return _number(spill_id).to_bytes(17)


def id_from_bytes(raw: bytes) -> str:
    """The inverse of `id_bytes`."""
    return _letters(int.from_bytes(raw))


def trim(text: str) -> str:
    """Remove what models put around a copied token: white space, quotes, backticks. Nothing inside is forgiven."""
    return text.strip(" \t\r\n\f\v'\"`")


def _number(canonical: str) -> int:
    return int(canonical.translate(_TO_INT_BASE_32), 32)


def _letters(value: int) -> str:
    return "".join(_ALPHABET[value >> shift & 31] for shift in range(5 * (LENGTH - 1), -1, -5))


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        crc = byte << 2
        for _ in range(8):
            crc = (crc << 1 ^ _CRC_POLYNOMIAL) if crc & 0x200 else crc << 1
        table.append(crc & 0x3FF)
    return tuple(table)


_CRC_TABLE = _crc_table()


def _crc10(data: bytes) -> int:
    crc = 0
    for byte in data:
        crc = _CRC_TABLE[crc >> 2 & 0xFF ^ byte] ^ crc << 8 & 0x3FF
    return crc
