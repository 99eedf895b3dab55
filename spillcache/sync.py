"""The same names as `spillcache`, for programs without asyncio."""

from __future__ import annotations

from spillcache._sync.cache import SpillCache
from spillcache._sync.reader import Stat
from spillcache._sync.writer import SpillWriter
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
