"""Spill large tool results to Redis once; let any replica page through them, byte for byte.

```python
from spillcache import Keyring, SpillCache

async with SpillCache.from_url("redis://localhost", keyring=Keyring.from_file("keyring.json")) as cache:
    envelope = await cache.put(payload, tool="prometheus_batch")
    async for page in cache.walk(envelope.spill_id):
        ...
```

`spillcache.sync` has the same names for programs without asyncio, and `spillcache.errors` has the errors below
`SpillError`. Everything else in the package is internal.
"""

from __future__ import annotations

from spillcache._async.cache import SpillCache
from spillcache._async.reader import Stat
from spillcache._async.writer import SpillWriter
from spillcache.decorator import spills
from spillcache.envelope import Envelope
from spillcache.errors import SpillError
from spillcache.evidence import Claims, claims
from spillcache.keyring import Keyring, PublicKeys
from spillcache.listing import Listing
from spillcache.page import Page
from spillcache.receipt import Receipt, verify_receipt
from spillcache.wire import MCP, PLAIN, Wire

__all__ = [
    "MCP",
    "PLAIN",
    "Claims",
    "Envelope",
    "Keyring",
    "Listing",
    "Page",
    "PublicKeys",
    "Receipt",
    "SpillCache",
    "SpillError",
    "SpillWriter",
    "Stat",
    "Wire",
    "claims",
    "spills",
    "verify_receipt",
]
