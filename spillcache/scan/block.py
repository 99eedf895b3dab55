"""One pass over a payload, block by block: where each stretch is cut, and what escaping costs up to there.

A block depends on what came before only through the few numbers that `BlockPass` carries.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spillcache.scan import bitmaps
from spillcache.scan.bitmaps import Bytes, Ints, Words
from spillcache.scan.edges import LOOKAHEAD, safe_places
from spillcache.scan.model import LINE_EDGE, NO_EDGE, STRETCH, Kind
from spillcache.scan.structure import Edges, Rows, StructurePass
from spillcache.scan.tokens import LINE_END

#: Smaller blocks pay for calls, larger ones fall out of the cache: between 256 and 512 KiB it is the same within 10 %,
#: and this one takes the common result of a few hundred KB whole. A multiple of the stretch.
BLOCK = 384 << 10

_QUOTE, _BACKSLASH, _CONTROLS, _TAB, _RETURN = 0x22, 0x5C, 0x20, 0x09, 0x0D


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """The cuts of a block: one element per stretch."""

    ends: Ints  # absolute
    depth: NDArray[np.uint8]
    once: Ints  # bytes that escaping adds to everything before the cut, from the start of the payload
    twice: Ints


@dataclass(frozen=True, slots=True, eq=False)
class _Costs:
    """Bitmaps of the bytes that grow when escaped; None: there are none."""

    loud: Words  # quotes and backslashes
    short: Words | None  # controls with an escape of their own: \b \t \n \f \r
    other: Words | None  # controls that become \u00XX


@dataclass(frozen=True, slots=True, eq=False)
class _Escapes:
    begins: Words | None
    after: int


class BlockPass:
    """What one block hands to the next, and the pass over a block."""

    def __init__(self, kind: Kind, size: int) -> None:
        self.structure = StructurePass(lines=kind == "ndjson", block=size) if kind in ("json", "ndjson") else None
        self._flags = np.empty(size, np.bool_)
        self._escaped = 0
        self._once = 0
        self._twice = 0
        #: whether there were no controls but blanks
        self.plain = True

    def run(self, local: Bytes, offset: int, size: int, *, last: bool) -> tuple[Cuts, Rows | None]:
        """Read the block of `size` bytes at `offset`.

        `local` is the block, padded with blanks to whole stretches when it is the last, and LOOKAHEAD bytes more.
        """
        text = local[: len(local) - LOOKAHEAD]
        flags = self._flags[: len(text)]
        backslash = bitmaps.pack(np.equal(text, _BACKSLASH, out=flags))
        quote = bitmaps.pack(np.equal(text, _QUOTE, out=flags))
        escapes, escaped = self._read_escapes(backslash)
        costs, line_end = self._read_costs(text, quote, backslash, escapes)
        if escaped is not None:
            quote &= ~escaped
        rows: Rows | None = None
        if self.structure is not None:
            rows, edges = self.structure.run(text, quote, line_end, offset)
        else:
            edges = Edges(bitmaps.last_bits(line_end), np.full(len(text) // STRETCH, LINE_EDGE, np.int64))
        cut, depth = self._choose(local, escapes, edges)
        if last:
            cut[-1], depth[-1] = size, 0
        once, twice = self._count(costs, cut)
        return Cuts(cut + offset, depth, once, twice), rows

    def _read_escapes(self, backslash: Words) -> tuple[_Escapes, Words | None]:
        if not backslash.any():
            escaped = None
            if self._escaped:
                escaped = np.zeros_like(backslash)
                escaped[0] = 1
            self._escaped = 0
            return _Escapes(None, 0), escaped
        begins, escaped, self._escaped = bitmaps.escapes(backslash, self._escaped)
        return _Escapes(begins, self._escaped), escaped

    def _read_costs(self, text: Bytes, quote: Words, backslash: Words, escapes: _Escapes) -> tuple[_Costs, Words]:
        loud = quote | backslash if escapes.begins is not None else quote.copy()
        line_end = np.zeros_like(loud)
        short: Words | None = None
        other: Words | None = None
        if int(text.min()) < _CONTROLS:
            controls = bitmaps.pack(text < _CONTROLS)
            line_end = short = bitmaps.pack(text == LINE_END)
            if (controls != line_end).any():
                blanks = line_end | bitmaps.pack(text == _TAB) | bitmaps.pack(text == _RETURN)
                self.plain = self.plain and bool((controls == blanks).all())
                short = bitmaps.pack(((text - np.uint8(8)) < 6) & (text != 0x0B))
                other = controls ^ short
        return _Costs(loud, short, other), line_end

    def _count(self, costs: _Costs, cut: Ints) -> tuple[Ints, Ints]:
        loud, loud_total = _count_before(costs.loud, cut)
        once, twice = loud + self._once, 3 * loud + self._twice
        self._once, self._twice = self._once + loud_total, self._twice + 3 * loud_total
        for words, adds_once, adds_twice in ((costs.short, 1, 2), (costs.other, 5, 6)):
            if words is not None:
                counts, total = _count_before(words, cut)
                once, twice = once + adds_once * counts, twice + adds_twice * counts
                self._once, self._twice = self._once + adds_once * total, self._twice + adds_twice * total
        return once, twice

    def _choose(self, local: Bytes, escapes: _Escapes, edges: Edges) -> tuple[Ints, NDArray[np.uint8]]:
        """Cuts right after the edges, or in stretches without one at the last safe place; and their depth."""
        rows = np.arange(len(edges.within), dtype=np.int64) * STRETCH
        cut = rows + edges.within + 1
        depth = np.minimum(edges.depth, LINE_EDGE).astype(np.uint8)
        bare = np.flatnonzero(edges.within < 0)
        if len(bare):
            depth[bare] = NO_EDGE
            cut[bare] = safe_places(local, escapes.begins, escapes.after, rows[bare] + STRETCH)
        return cut, depth


def _count_before(words: Words, cut: Ints) -> tuple[Ints, int]:
    """Set bits before each cut, counted from the start of the block, and in all."""
    sums = bitmaps.row_sums(words)
    total = np.cumsum(sums)
    within = cut - np.arange(len(cut), dtype=np.int64) * STRETCH
    return total - sums + bitmaps.row_sums_before(words, within), int(total[-1])
