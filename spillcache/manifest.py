"""The manifest: all that a reader must know of a spill, a copy of it in every segment.

It comes back with each page's chunks in the same HMGET, so it is small and packed: 99 bytes with its seal, and
the tool's name.
"""

from __future__ import annotations

import functools
import hashlib
import struct
from dataclasses import dataclass
from typing import get_args

from spillcache.digest import seal, unseal
from spillcache.errors import SpillCorrupt
from spillcache.scan import Kind

FIELD = "m"
MAX_TOOL_BYTES = 128

_FIXED = struct.Struct(">BQI32s16sQQQIB")
_KINDS: tuple[Kind, ...] = get_args(Kind)
_UNKNOWN = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is stored under `m`. Times are in milliseconds; `created_ms` is the Redis server's clock.

    `results` is how many named results the inventory knows, or None where that is not known.
    """

    kind: Kind
    size: int
    chunks: int
    sha256: bytes
    tenant: bytes
    ttl_ms: int
    max_age_ms: int
    created_ms: int
    results: int | None
    tool: str


def encode_manifest(manifest: Manifest, spill_id: str, segment: int) -> bytes:
    """The bytes of field `m` of one segment."""
    tool = manifest.tool.encode("utf-8", "replace")[:MAX_TOOL_BYTES]
    fixed = _FIXED.pack(
        _KINDS.index(manifest.kind),
        manifest.size,
        manifest.chunks,
        manifest.sha256,
        manifest.tenant,
        manifest.ttl_ms,
        manifest.max_age_ms,
        manifest.created_ms,
        _UNKNOWN if manifest.results is None else manifest.results,
        len(tool),
    )
    return seal(spill_id, segment, FIELD, fixed + tool)


@functools.lru_cache(maxsize=1024)  # by the very bytes that Redis sent: the pages of a walk all bring the same ones
def decode_manifest(stored: bytes, spill_id: str, segment: int) -> Manifest:
    """Read field `m`. Raises `SpillCorrupt` or `ManifestVersionUnsupported`."""
    body = unseal(spill_id, segment, FIELD, stored)
    try:
        kind, size, chunks, sha256, tenant, ttl, max_age, created, results, tool_length = _FIXED.unpack_from(body)
        tool = str(body[_FIXED.size :], "utf-8", "replace")
        known = None if results == _UNKNOWN else results
        manifest = Manifest(_KINDS[kind], size, chunks, sha256, tenant, ttl, max_age, created, known, tool)
    except (struct.error, IndexError):
        raise SpillCorrupt("the manifest does not have its form") from None
    if len(body) != _FIXED.size + tool_length:
        raise SpillCorrupt("the manifest does not have its length")
    return manifest


@functools.lru_cache(maxsize=1024)
def tenant_digest(tenant: str) -> bytes:
    """16 bytes that stand for a tenant in manifests and receipts, so that neither names one."""
    return hashlib.sha256(b"spillcache tenant\0" + tenant.encode("utf-8", "surrogatepass")).digest()[:16]
