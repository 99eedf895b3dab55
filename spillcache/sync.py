"""The same names as `spillcache`, for programs without asyncio."""

from __future__ import annotations

from spillcache._sync.cache import SpillCache
from spillcache._sync.reader import Stat
from spillcache._sync.writer import SpillWriter
from spillcache.decorator import spills
from spillcache.envelope import Envelope
from spillcache.errors import SpillError
from spillcache.keyring import Keyring
from spillcache.listing import Listing
from spillcache.page import Page
from spillcache.receipt import Receipt, verify_receipt
from spillcache.wire import MCP, PLAIN, Wire

__all__ = [
    "MCP",
    "PLAIN",
    "Envelope",
    "Keyring",
    "Listing",
    "Page",
    "Receipt",
    "SpillCache",
    "SpillError",
    "SpillWriter",
    "Stat",
    "Wire",
    "spills",
    "verify_receipt",
]
