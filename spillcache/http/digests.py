"""Digest fields of HTTP: what a client says its payload's SHA-256 is, and what we say of ours (RFC 9530). Pure."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable

from spillcache.errors import ArgumentsInvalid

#: A member of the dictionary: the algorithm, its digest between colons, and parameters, which mean nothing here.
_MEMBER = re.compile(r"[ \t]*([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/=]*):[ \t]*(?:;[^,]*)?", re.ASCII)
_SHA256_BYTES = 32


def digest_field(sha256: bytes) -> str:
    """A `Content-Digest` or `Repr-Digest` with the one algorithm that is kept."""
    return f"sha-256=:{base64.b64encode(sha256).decode()}:"


def announced_sha256(fields: Iterable[str]) -> bytes | None:
    """The SHA-256 that `Content-Digest` and `Repr-Digest` fields announce; None when there are no such fields.

    A body here has no content coding, so both speak of the same bytes. A client that asks for a check gets it or an
    error: raises `ArgumentsInvalid` for what is not a digest, for fields without a SHA-256, and for two that differ.
    """
    found = {digest for field in fields for name, digest in _members(field) if name == "sha-256"}
    if not found and any(field.strip() for field in fields):
        raise ArgumentsInvalid("the digest cannot be checked: only sha-256 is; send Content-Digest: sha-256=:…:")
    if len(found) > 1:
        raise ArgumentsInvalid("the request announces two different SHA-256 digests for one body")
    return found.pop() if found else None


def _members(field: str) -> Iterable[tuple[str, bytes]]:
    for member in field.split(","):  # no comma can stand inside a digest
        if not member.strip():
            continue
        found = _MEMBER.fullmatch(member)
        if found is None:
            raise _malformed()
        name, digest = found.group(1), _decoded(found.group(2))
        if name == "sha-256" and len(digest) != _SHA256_BYTES:
            raise _malformed()
        yield name, digest


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise _malformed() from None


def _malformed() -> ArgumentsInvalid:
    return ArgumentsInvalid("a digest field is malformed; it must read sha-256=:…: with 32 bytes as base64")
