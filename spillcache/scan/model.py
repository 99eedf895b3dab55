"""What a scan says about a payload: its kind, where it may be cut and what that costs, and what it contains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from spillcache.scan.table import TYPES, ResultTable

Kind = Literal["json", "ndjson", "csv", "text", "bytes"]

#: Bytes between two recorded cuts, on average. A page of 7,500 bytes then has some fifteen places to end at.
STRETCH = 512
#: Depth of a cut that is only a line break; deeper edges count as this deep.
LINE_EDGE = 126
#: Depth of a cut that is only a safe code point.
NO_EDGE = 127
#: Results that an inventory lists at most.
MAX_RESULTS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class SlabTable:
    """One recorded cut per stretch of 512 bytes. A page may end at a cut (exclusive) and the next begin there.

    Every cut but the last lies outside code points, escape sequences and escaped surrogate pairs; the last is the end
    of the payload. All four arrays have one element per stretch.
    """

    #: int64, absolute byte offsets, strictly ascending; element k lies in (512k, 512(k+1)], the last equals the size.
    ends: NDArray[np.int64]
    #: uint8, open brackets around the edge: 0 is outermost, 126 "or more" or a line break; NO_EDGE.
    depth: NDArray[np.uint8]
    #: uint16, bytes that escaping adds to the text between the previous cut and this one inside a JSON string.
    extra_once: NDArray[np.uint16]
    #: uint16, the same inside a JSON string that is itself inside a JSON string.
    extra_twice: NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.ends)

    @staticmethod
    def empty() -> SlabTable:
        """A table without cuts."""
        return SlabTable(np.empty(0, np.int64), np.empty(0, np.uint8), np.empty(0, np.uint16), np.empty(0, np.uint16))

    @staticmethod
    def concatenate(tables: list[SlabTable]) -> SlabTable:
        """Consecutive tables of one payload as one."""
        if not tables:
            return SlabTable.empty()
        return SlabTable(
            np.concatenate([table.ends for table in tables]),
            np.concatenate([table.depth for table in tables]),
            np.concatenate([table.extra_once for table in tables]),
            np.concatenate([table.extra_twice for table in tables]),
        )


@dataclass(frozen=True, slots=True)
class Inventory:
    """The named results of a payload.

    `path` is the container that was listed, "$" when none was. `results_total` is None when it is not known.
    `partial` says why the inventory may not show everything; empty means that all was seen:

    - "window": the payload is longer than the window the scan looked at;
    - "truncated": the document ends before it closes;
    - "malformed": a closing bracket too many, or a listed container that is closed by the wrong one;
    - "concatenated": something follows the first document;
    - "too_deep": nesting beyond what is looked at;
    - "too_many": more results, or members of results, than are looked at.

    `strict` is False when a letter H to O stood outside strings, where strict JSON has none: NaN, Infinity, None.
    `duplicate_keys` counts repeated member keys of the listed container, and of its results when those have at most a
    thousand members together. Both members are kept.
    """

    results: ResultTable
    results_total: int | None
    path: str
    partial: tuple[str, ...]
    strict: bool
    duplicate_keys: int

    @property
    def faults(self) -> tuple[str, ...]:
        """What keeps the payload from being JSON, as far as was seen: "truncated", "malformed"."""
        malformed = "malformed" in self.partial or bool((self.results.type == TYPES.index("invalid")).any())
        return ("truncated",) * ("truncated" in self.partial) + ("malformed",) * malformed


@dataclass(frozen=True, slots=True)
class Scan:
    """All that is known of a payload of `size` bytes."""

    size: int
    kind: Kind
    slabs: SlabTable
    inventory: Inventory
