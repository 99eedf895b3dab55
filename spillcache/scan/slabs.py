"""From the cuts of blocks to slabs: cuts move to where named results begin, running costs become costs per slab."""

from __future__ import annotations

import numpy as np

from spillcache.scan.bitmaps import Bytes, Ints
from spillcache.scan.block import Cuts
from spillcache.scan.model import LINE_EDGE, STRETCH, SlabTable

#: Moves whose bytes are looked at together: half a megabyte at most.
_MOVES_TOGETHER = 1024


def _cost_of_bytes(loud: int, short: int, other: int) -> Ints:
    cost = np.zeros(256, np.int64)
    cost[:0x20] = other
    cost[list(b"\b\t\n\f\r")] = short
    cost[list(b'"\\')] = loud
    return cost


#: What escaping adds to each byte: `"` becomes `\"` and then `\\\"`; \n `\n`, `\\n`; 0x01 `\u0001`, `\\u0001`.
COST_ONCE, COST_TWICE = _cost_of_bytes(1, 1, 5), _cost_of_bytes(3, 2, 6)


class SlabBuilder:
    """Collects the cuts of consecutive blocks and hands them out as slabs."""

    def __init__(self) -> None:
        self._waiting: list[Cuts] = []
        self._once = 0
        self._twice = 0

    def add(self, cuts: Cuts) -> None:
        """Add the next block's cuts."""
        self._waiting.append(cuts)

    def prefer(self, starts: Ints, level: int, text: Bytes, *, complete: bool) -> None:
        """Move cuts to the starts of results (ascending, lying at `level`) in their stretches.

        Nothing may have been taken yet. `complete` says that the last cut is the end of the payload, which stays.
        """
        if not self._waiting or not len(starts):
            return
        cuts = self._joined()
        row = (starts - 1) // STRETCH
        last_in_row = np.append(row[1:] != row[:-1], True)
        wanted = last_in_row & (starts > 0) & (row < len(cuts.ends) - complete)
        row, starts = row[wanted], starts[wanted]
        moved = cuts.ends[row] != starts
        row, starts = row[moved], starts[moved]
        for at in range(0, len(row), _MOVES_TOGETHER):
            _move(cuts, row[at : at + _MOVES_TOGETHER], starts[at : at + _MOVES_TOGETHER], text)
        cuts.depth[row] = min(level, LINE_EDGE)
        self._waiting = [cuts]

    def take(self) -> SlabTable:
        """The slabs of all cuts added since the last call."""
        if not self._waiting:
            return SlabTable.empty()
        cuts, self._waiting = self._joined(), []
        once = np.diff(cuts.once, prepend=self._once).astype(np.uint16)
        twice = np.diff(cuts.twice, prepend=self._twice).astype(np.uint16)
        self._once, self._twice = int(cuts.once[-1]), int(cuts.twice[-1])
        return SlabTable(cuts.ends, cuts.depth, once, twice)

    def _joined(self) -> Cuts:
        if len(self._waiting) == 1:
            return self._waiting[0]
        return Cuts(
            np.concatenate([cuts.ends for cuts in self._waiting]),
            np.concatenate([cuts.depth for cuts in self._waiting]),
            np.concatenate([cuts.once for cuts in self._waiting]),
            np.concatenate([cuts.twice for cuts in self._waiting]),
        )


def _move(cuts: Cuts, row: Ints, starts: Ints, text: Bytes) -> None:
    """Move the cuts of these rows, and the running cost by that of the bytes between."""
    old = cuts.ends[row]
    low, length = np.minimum(old, starts), np.abs(starts - old)
    first = np.cumsum(length) - length
    between = text[np.repeat(low - first, length) + np.arange(int(length.sum()))]
    sign = np.where(starts > old, 1, -1)
    cuts.once[row] += sign * np.add.reduceat(COST_ONCE.take(between), first)
    cuts.twice[row] += sign * np.add.reduceat(COST_TWICE.take(between), first)
    cuts.ends[row] = starts
