"""The seal around every stored field: format version, digest, body.

```
byte 0      format version
bytes 1-8   XXH3-64 over the body, seeded with spill id, segment, field name and version
rest        body
```

The seed binds a field to its place: a field that was swapped with another, of this spill or of any, fails like one
whose bits flipped. XXH3 finds accidents, not forgery: whoever can write to the Redis is trusted.
"""

from __future__ import annotations

import xxhash

from spillcache.errors import ManifestVersionUnsupported, SpillCorrupt

FORMAT = 1
OVERHEAD = 9


def seal(spill_id: str, segment: int, field: str, body: bytes) -> bytes:
    """The bytes to store for a field."""
    digest = xxhash.xxh3_64_digest(body, _seed(spill_id, segment, field))
    return b"%c%b%b" % (FORMAT, digest, body)


def unseal(spill_id: str, segment: int, field: str, stored: bytes) -> memoryview:
    """The body of a stored field. Raises `ManifestVersionUnsupported` or `SpillCorrupt`."""
    if len(stored) < OVERHEAD:
        raise SpillCorrupt(f"stored field {field!r} is cut short")
    if stored[0] != FORMAT:
        raise ManifestVersionUnsupported(f"the spill has format {stored[0]}; this process reads format {FORMAT}")
    body = memoryview(stored)[OVERHEAD:]
    if xxhash.xxh3_64_digest(body, _seed(spill_id, segment, field)) != stored[1:OVERHEAD]:
        raise SpillCorrupt(f"stored field {field!r} fails its digest")
    return body


def _seed(spill_id: str, segment: int, field: str) -> int:
    return xxhash.xxh3_64_intdigest(f"{FORMAT}:{spill_id}:{segment}:{field}".encode())
