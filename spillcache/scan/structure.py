"""The structure of JSON and NDJSON, block by block: what lies outside strings, how deep, and the best edges to cut at.

Where no bracket stands in a stretch, its depth is that of its start and its best edge the last comma: bitmaps tell. The
other stretches are settled token by token.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spillcache.scan import bitmaps
from spillcache.scan.bitmaps import ROW_WORDS, Bytes, Ints, Words
from spillcache.scan.model import STRETCH
from spillcache.scan.tokens import LINE_END, Ints32, Steps, Tokens, depths, depths_of_parts, steps

#: The lowest level of a stretch that has no token.
NO_TOKEN = 1 << 30
#: Tokens of a payload that are kept as they are, 13 bytes each: reading them again is half the work of an inventory.
KEPT_TOKENS = 1 << 18
#: Tokens per stretch that are read even where few of them change the depth: it takes no longer than to pass them over.
FEW_TOKENS = 4

_COMMA = 0x2C
_ANY_OPEN, _ANY_CLOSE, _TO_LOWER = 0x7B, 0x7D, 0x20
_H_TO_O, _H_TO_O_MASK = 0x48, 0xF8
_ROW_MASK, _ROW_SHIFT = STRETCH - 1, 9
#: Depths enter sort keys capped, so that they fit; no cut tells depths above 126 apart, and no block climbs so far.
_KEY_DEPTH = 1 << 20
_BRACKET_BIT, _NO_EDGE_SHIFT, _NOT_AN_EDGE = 0x40, 24, 1 << 30

# The allocator hands memory back to the system after each block, and takes it anew for the next, until it has once seen
# a larger piece come and go: page faults were a third of a scan.
np.empty(4 << 20, np.uint8)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The structure of a block: tokens as a bitmap, and per stretch the depth at its start and its lowest level.

    `kept` are the tokens themselves, as long as there are few.
    """

    tokens: Words
    start: NDArray[np.int32]
    lowest: NDArray[np.int32]
    kept: Tokens | None


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Per stretch the place (0 to 511) of the best edge, -1 for none, and its depth."""

    within: Ints
    depth: Ints


class StructurePass:
    """What one block hands to the next, and the reading of a block."""

    def __init__(self, *, lines: bool, block: int) -> None:
        self._lines = lines
        self._bytes = np.empty(block, np.uint8)
        self._flags = np.empty(block, np.bool_)
        self._in_string = 0
        self._to_keep = KEPT_TOKENS
        #: open brackets after what was read
        self.depth = 0
        #: the deepest level at the start of a stretch so far
        self.deepest = 0
        #: offset of the first closing bracket too many, or of an NDJSON line end that closes something
        self.broken_at: int | None = None
        #: whether no letter H to O stood outside strings
        self.strict = True

    @property
    def in_string(self) -> bool:
        """Whether a string is open after what was read."""
        return bool(self._in_string)

    def run(self, text: Bytes, quote: Words, line_end: Words, offset: int) -> tuple[Rows, Edges]:
        """Read the block at `offset`. `quote` marks quotes that are not escaped, `line_end` the line ends."""
        shown = self._read_strings(quote, line_end)
        opens, closes, edge = self._read_marks(text, shown)
        if self._lines:
            edge |= line_end
        brackets = opens | closes
        tokens = brackets | edge
        up, down = bitmaps.row_sums(opens), bitmaps.row_sums(closes)
        depth_after = np.cumsum(up - down) + self.depth
        block = _Block(text, tokens, edge, _row_starts(depth_after, self.depth))
        self.depth = int(depth_after[-1])
        changes = up + down
        if self._lines:
            changes += bitmaps.row_sums(line_end)
        kept = self._settle(block, up + down + bitmaps.row_sums(edge), changes, offset)
        self.deepest = max(self.deepest, int(block.start.max()))
        return Rows(tokens, block.start, block.lowest, kept), Edges(block.within, block.depth)

    def _read_strings(self, quote: Words, line_end: Words) -> Words:
        """What lies outside strings."""
        hidden = bitmaps.inside(quote, self._in_string)
        if self._lines and (line_end & hidden).any():
            hidden = _close_at_line_ends(hidden, line_end)
        self._in_string = int(hidden[-1] >> np.uint64(63))
        return np.invert(hidden, out=hidden)

    def _read_marks(self, text: Bytes, shown: Words) -> tuple[Words, Words, Words]:
        """Opening brackets, closing brackets and commas outside strings."""
        lines = np.flatnonzero(shown != 0)
        if 4 * len(lines) > 3 * len(shown):
            return self._marks_in(text, shown)
        # most of the block is string: only pieces of 64 bytes that are not are looked at
        found = self._marks_in(text.reshape(-1, 64).take(lines, axis=0).ravel(), shown[lines])
        marks = np.zeros((3, len(shown)), np.uint64)
        marks[:, lines] = found
        return marks[0], marks[1], marks[2]

    def _marks_in(self, text: Bytes, shown: Words) -> tuple[Words, Words, Words]:
        # '[' and '{', ']' and '}' differ in one bit only
        lower = np.bitwise_or(text, _TO_LOWER, out=self._bytes[: len(text)])
        flags = self._flags[: len(text)]
        opens = bitmaps.pack(np.equal(lower, _ANY_OPEN, out=flags)) & shown
        closes = bitmaps.pack(np.equal(lower, _ANY_CLOSE, out=flags)) & shown
        edge = bitmaps.pack(np.equal(text, _COMMA, out=flags)) & shown
        if self.strict:
            np.equal(np.bitwise_and(text, _H_TO_O_MASK, out=lower), _H_TO_O, out=flags)
            self.strict = not (flags.any() and (bitmaps.pack(flags) & shown).any())
        return opens, closes, edge

    def _settle(self, block: _Block, counts: Ints, changes: Ints, offset: int) -> Tokens | None:
        """Find the best edges and lowest levels; return the tokens when they are few.

        `counts` says how many tokens each stretch has, `changes` how many of them change the depth.
        """
        rows = np.flatnonzero(changes)
        total = int(counts.sum())
        keep = (2 * len(rows) >= len(counts) or total <= FEW_TOKENS * len(counts)) and total <= self._to_keep
        if keep:
            rows = np.flatnonzero(counts)
        if not keep and len(rows) < len(counts):
            block.settle_level_rows()
        if not len(rows):
            return Tokens(_NONE, _NO_BYTES, _NONE.astype(np.int32)) if keep else None
        at = block.positions(rows)
        byte = block.text.take(at, mode="clip")
        step = steps(byte)
        after = depths(step, int(block.start[0]))
        line_end = np.flatnonzero(byte == LINE_END) if self._lines else _NONE
        if int(after.min()) < 0 or after.take(line_end).any():
            after = self._mend(step, at, after, line_end, offset, int(block.start[0]))
            self.depth = int(after[-1])
            block.restart(at, after)
        level = after + step.close
        block.settle_rows(rows, counts[rows], at, byte, level)
        if not keep:
            return None
        self._to_keep -= len(at)
        return Tokens(at + offset, byte, level)

    def _mend(self, step: Steps, at: Ints, after: Ints32, line_end: Ints, offset: int, start: int) -> Ints32:
        """Depths that never fall below 0 and, at line ends, are 0."""
        heads, bases = line_end, np.zeros(len(line_end), np.int64)
        if not len(heads) or heads[0]:
            heads, bases = np.append(0, heads), np.append(start, bases)
        mended = depths_of_parts(step, heads, bases)
        if self.broken_at is None:
            self.broken_at = offset + int(at[np.flatnonzero(after != mended)[0]])
        return mended


class _Block:
    """The stretches of a block while they are settled."""

    def __init__(self, text: Bytes, tokens: Words, edge: Words, start: NDArray[np.int32]) -> None:
        self.text, self.tokens, self._edge, self.start = text, tokens, edge, start
        self.lowest = np.full(len(start), NO_TOKEN, np.int32)
        self.within = np.full(len(start), -1, np.int64)
        self.depth = start.astype(np.int64)

    def settle_level_rows(self) -> None:
        """Settle all stretches as if their depth did not change."""
        self.within = bitmaps.last_bits(self._edge)
        np.copyto(self.lowest, self.start, where=self.within >= 0)

    def positions(self, rows: Ints) -> Ints:
        """Where the tokens of these stretches are."""
        if len(rows) == len(self.start):
            return bitmaps.positions(self.tokens)
        at = bitmaps.positions(self.tokens.reshape(-1, ROW_WORDS)[rows].ravel())
        at += ((rows - np.arange(len(rows))) << _ROW_SHIFT).take(at >> _ROW_SHIFT)
        return at

    def restart(self, at: Ints, after: Ints32) -> None:
        """Correct the depth at the start of stretches, given that after all tokens that change it."""
        known = np.concatenate((self.start[:1], after))
        self.start[:] = known[np.searchsorted(at, np.arange(len(self.start)) << _ROW_SHIFT)]
        np.copyto(self.lowest, self.start, where=self.within >= 0)
        self.depth[:] = self.start

    def settle_rows(self, rows: Ints, counts: Ints, at: Ints, byte: Bytes, level: Ints32) -> None:
        """Settle these stretches by their tokens: the lowest edge, of several the last."""
        first = np.cumsum(counts) - counts
        self.lowest[rows] = np.minimum.reduceat(level, first)
        capped = np.minimum(level, _KEY_DEPTH) if int(self.start[0]) >= _KEY_DEPTH >> 1 else level
        key = capped << _ROW_SHIFT
        key |= ~at.astype(np.int32) & _ROW_MASK
        key |= (byte & _BRACKET_BIT).astype(np.int32) << _NO_EDGE_SHIFT
        best = np.minimum.reduceat(key, first)
        self.within[rows] = np.where(best >= _NOT_AN_EDGE, -1, ~best & _ROW_MASK)
        self.depth[rows] = best >> _ROW_SHIFT


def _row_starts(depth_after: Ints, before: int) -> NDArray[np.int32]:
    start = np.empty(len(depth_after), np.int32)
    start[0] = before
    start[1:] = depth_after[:-1]
    return start


def _close_at_line_ends(hidden: Words, line_end: Words) -> Words:
    """The string mask when a line end closes every string: one broken line must not hide all that follows."""
    at = bitmaps.positions(line_end)
    odd = (hidden.take(at >> 6) >> (at & 63).astype(np.uint64) & np.uint64(1)).view(np.int64)
    unclosed = odd.copy()
    unclosed[1:] ^= odd[:-1]
    closing = bitmaps.from_positions(at[unclosed == 1], len(hidden))
    return hidden ^ bitmaps.inside(closing, 0)


_NONE: Ints = np.empty(0, np.int64)
_NO_BYTES: Bytes = np.empty(0, np.uint8)
