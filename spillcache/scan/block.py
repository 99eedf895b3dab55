"""One pass over a payload, block by block: where each stretch is cut, what escaping costs up to there, what a reader
of the structure needs to find its way.

A block depends on what came before only through the few numbers that `BlockPass` carries.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spillcache.scan import bitmaps
from spillcache.scan.bitmaps import ROW_WORDS, Bytes, Ints, Words
from spillcache.scan.edges import LOOKAHEAD, safe_places
from spillcache.scan.model import LINE_EDGE, NO_EDGE, STRETCH, Kind
from spillcache.scan.tokens import LINE_END, depths, depths_of_parts, is_close, steps

#: Smaller blocks pay for calls, larger ones fall out of the cache. A multiple of the stretch.
BLOCK = 256 << 10
#: A level that no token has: the row has none.
NO_TOKEN = 1 << 30

_COMMA, _QUOTE, _BACKSLASH, _CONTROLS = 0x2C, 0x22, 0x5C, 0x20
_ANY_OPEN, _ANY_CLOSE, _TO_LOWER = 0x7B, 0x7D, 0x20
_ROW_MASK, _ROW_SHIFT = STRETCH - 1, 9
#: Depths enter sort keys capped, so that they fit; no cut tells depths above 126 apart, and no block climbs so far.
_KEY_DEPTH = 1 << 20
_NOT_AN_EDGE = 1 << 30


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """The cuts of a block: one element per stretch."""

    ends: Ints  # absolute
    depth: NDArray[np.uint8]
    once: Ints  # bytes that escaping adds to everything before the cut, from the start of the payload
    twice: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The structure of a block: its tokens as a bitmap, and per stretch the depth at its start and its lowest level."""

    tokens: Words
    start: NDArray[np.int32]
    lowest: NDArray[np.int32]


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

    def __init__(self, kind: Kind) -> None:
        self._lines = kind == "ndjson"
        self._structure = kind in ("json", "ndjson")
        self._escaped = 0
        self._in_string = 0
        self._depth = 0
        self._once = 0
        self._twice = 0
        #: the deepest level at the start of a stretch so far
        self.deepest = 0
        #: offset of the first closing bracket too many, or of an NDJSON line end that closes something
        self.broken_at: int | None = None
        self.strict = True

    @property
    def depth(self) -> int:
        """Open brackets after what was read."""
        return self._depth

    @property
    def in_string(self) -> bool:
        """Whether a string is open after what was read."""
        return bool(self._in_string)

    def run(self, local: Bytes, offset: int, size: int, *, last: bool) -> tuple[Cuts, Rows | None]:
        """Read the block of `size` bytes at `offset`.

        `local` is the block, padded with blanks to whole stretches when it is the last, and LOOKAHEAD bytes more.
        """
        text = local[: len(local) - LOOKAHEAD]
        backslash = bitmaps.pack(text == _BACKSLASH)
        quote = bitmaps.pack(text == _QUOTE)
        escapes, escaped = self._read_escapes(backslash)
        costs, line_end = self._read_costs(text, quote, backslash, escapes)
        if escaped is not None:
            quote &= ~escaped
        if self._structure:
            rows, within, depth = self._read_structure(text, quote, line_end, offset)
        else:
            rows = None
            within, depth = bitmaps.last_bits(line_end), np.full(len(text) >> _ROW_SHIFT, LINE_EDGE, np.int64)
        cut = self._choose(local, escapes, within, depth)
        if last:
            cut[-1], depth[-1] = size, 0
        once, twice = self._count(costs, cut)
        return Cuts(
            cut + offset,
            np.where(depth == NO_EDGE, NO_EDGE, np.minimum(depth, LINE_EDGE)).astype(np.uint8),
            once,
            twice,
        ), rows

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
        controls = bitmaps.pack(text < _CONTROLS)
        line_end = np.zeros_like(loud)
        short: Words | None = None
        other: Words | None = None
        if controls.any():
            line_end = short = bitmaps.pack(text == LINE_END)
            if (controls != line_end).any():
                short = bitmaps.pack(((text - np.uint8(8)) < 6) & (text != 0x0B))  # noqa: PLR2004  \b \t \n \f \r
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

    def _choose(self, local: Bytes, escapes: _Escapes, within: Ints, depth: Ints) -> Ints:
        """Cuts right after the edges, or in stretches without one at the last safe place. Marks those in `depth`."""
        rows = np.arange(len(within), dtype=np.int64) << _ROW_SHIFT
        cut = rows + within + 1
        bare = np.flatnonzero(within < 0)
        if len(bare):
            depth[bare] = NO_EDGE
            cut[bare] = safe_places(local, escapes.begins, escapes.after, rows[bare] + STRETCH)
        return cut

    def _read_structure(self, text: Bytes, quote: Words, line_end: Words, offset: int) -> tuple[Rows, Ints, Ints]:
        hidden = bitmaps.inside(quote, self._in_string)
        if self._lines and (line_end & hidden).any():
            hidden = _close_at_line_ends(hidden, line_end)
        self._in_string = int(hidden[-1] >> np.uint64(63))
        shown = ~hidden
        lower = text | _TO_LOWER
        bracket = bitmaps.pack(lower == _ANY_OPEN)
        close = bitmaps.pack(lower == _ANY_CLOSE)
        edge = bitmaps.pack(text == _COMMA)
        bracket &= shown
        close &= shown
        edge &= shown
        if self.strict and (bitmaps.pack((text & 0xF8) == 0x48) & shown).any():  # noqa: PLR2004  H to O
            self.strict = False
        opened, closed = bitmaps.row_sums(bracket), bitmaps.row_sums(close)
        bracket |= close
        if self._lines:
            edge |= line_end
            flagged = np.flatnonzero((opened + closed + bitmaps.row_sums(line_end)) != 0)
        else:
            flagged = np.flatnonzero((opened + closed) != 0)
        depth_after = np.cumsum(opened - closed) + self._depth
        start = np.empty(len(depth_after), np.int32)
        start[0] = self._depth
        start[1:] = depth_after[:-1]
        within = bitmaps.last_bits(edge)
        edge |= bracket
        lowest = np.where(within >= 0, start, NO_TOKEN)
        depth = start.astype(np.int64)
        self._depth = int(depth_after[-1])
        if len(flagged):
            self._read_brackets(text, edge, flagged, start, lowest, within, depth, offset)
        self.deepest = max(self.deepest, int(start.max()))
        return Rows(edge, start, lowest.astype(np.int32)), within, depth

    def _read_brackets(
        self,
        text: Bytes,
        tokens: Words,
        flagged: Ints,
        start: NDArray[np.int32],
        lowest: Ints,
        within: Ints,
        depth: Ints,
        offset: int,
    ) -> None:
        """Settle the stretches in which the depth changes. Corrects all arrays in place."""
        counts = bitmaps.row_sums(tokens)
        if len(flagged) == len(counts):
            at = bitmaps.positions(tokens)
        else:
            at = bitmaps.positions(tokens.reshape(-1, ROW_WORDS)[flagged].ravel())
            at = (flagged.take(at >> _ROW_SHIFT) << _ROW_SHIFT) + (at & _ROW_MASK)
            counts = counts[flagged]
        first = np.cumsum(counts) - counts
        byte = text.take(at, mode="clip")
        step = steps(byte)
        after = depths(step, int(start[0]))
        line_end = np.flatnonzero(byte == LINE_END) if self._lines else np.empty(0, np.int64)
        if int(after.min()) < 0 or after.take(line_end).any():
            after = self._mend(step, at, after, line_end, int(start[0]), offset)
            self._depth = int(after[-1])
            known = np.concatenate((start[:1], after))
            start[:] = known[np.searchsorted(at, np.arange(len(start)) << _ROW_SHIFT)]
            bare = within >= 0
            lowest[bare] = start[bare]
            depth[:] = start
        level = after + step.close
        lowest[flagged] = np.minimum.reduceat(level, first)
        key = np.minimum(level, _KEY_DEPTH) if int(start[0]) >= _KEY_DEPTH >> 1 else level
        key = (key << _ROW_SHIFT) + (~at.astype(np.int32) & _ROW_MASK)
        key[(byte & 0x40) != 0] = _NOT_AN_EDGE
        best = np.minimum.reduceat(key, first)
        found = best != _NOT_AN_EDGE
        within[flagged] = np.where(found, ~best & _ROW_MASK, -1)
        depth[flagged] = best >> _ROW_SHIFT

    def _mend(self, step, at, after, line_end, start: int, offset: int) -> Ints:
        heads, bases = line_end, np.zeros(len(line_end), np.int64)
        if not len(heads) or heads[0]:
            heads, bases = np.append(0, heads), np.append(start, bases)
        mended = depths_of_parts(step, heads, bases)
        if self.broken_at is None:
            self.broken_at = offset + int(at[np.flatnonzero(after != mended)[0]])
        return mended


def _count_before(words: Words, cut: Ints) -> tuple[Ints, int]:
    """Set bits before each cut, counted from the start of the block, and in all."""
    sums = bitmaps.row_sums(words)
    total = np.cumsum(sums)
    within = cut - (np.arange(len(cut), dtype=np.int64) << _ROW_SHIFT)
    return total - sums + bitmaps.row_sums_before(words, within), int(total[-1])


def _close_at_line_ends(hidden: Words, line_end: Words) -> Words:
    """The string mask when a line end closes every string: one broken line must not hide all that follows."""
    at = bitmaps.positions(line_end)
    odd = (hidden.take(at >> 6) >> (at & 63).astype(np.uint64) & np.uint64(1)).view(np.int64)
    unclosed = odd.copy()
    unclosed[1:] ^= odd[:-1]
    closing = bitmaps.from_positions(at[unclosed == 1], len(hidden))
    return hidden ^ bitmaps.inside(closing, 0)
