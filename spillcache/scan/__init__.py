"""What a payload is, where it may be cut, and what it contains: one pass over its bytes, without I/O.

`scan` takes a payload in memory, `Scanner` one that comes in blocks. `block` makes bitmaps of each block and settles
where its stretches are cut; `index` keeps enough of them to answer questions about structure; `search`, `names` and
`counts` ask these for the `inventory`. Nothing here raises on any payload, and nothing recurses.
"""

from __future__ import annotations

from spillcache.scan.model import (
    LINE_EDGE,
    MAX_RESULTS,
    NO_EDGE,
    STRETCH,
    Inventory,
    Kind,
    Scan,
    SlabTable,
)
from spillcache.scan.packed import pack_results, unpack_results
from spillcache.scan.scanner import Scanner, scan
from spillcache.scan.table import Result, ResultTable, ResultType

__all__ = [
    "LINE_EDGE",
    "MAX_RESULTS",
    "NO_EDGE",
    "STRETCH",
    "Inventory",
    "Kind",
    "Result",
    "ResultTable",
    "ResultType",
    "Scan",
    "Scanner",
    "SlabTable",
    "pack_results",
    "scan",
    "unpack_results",
]
