"""The structure of a payload's first part, kept so that it can be asked: which tokens of this level lie in this range?

Kept are one bit per byte and two numbers per stretch, 0.14 × the text; tokens are read again from these. The lowest
level in each stretch is exact, so a question about shallow levels passes over the depths below without looking.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from spillcache.scan import bitmaps
from spillcache.scan.bitmaps import ROW_WORDS, Bytes, Ints, Words
from spillcache.scan.block import Rows
from spillcache.scan.model import STRETCH
from spillcache.scan.tokens import LINE_END, Tokens, depths, depths_of_parts, is_close, steps

#: Stretches read at once, first and at most: questions about small containers stay small, memory stays bounded.
_FIRST_ROWS, _MOST_ROWS = 32, 2048

_BLANK = np.zeros(256, np.bool_)
_BLANK[[0x20, 0x09, 0x0A, 0x0D]] = True
#: Blanks passed over by all places at once, before those that are left are done one by one.
_BLANKS_TOGETHER = 48


class Index:
    """Text and tokens of a payload up to `end`, in bytes.

    `broken` says that the depth was mended somewhere (too many closing brackets, or NDJSON lines that do not close).
    """

    def __init__(self, text: Bytes, rows: list[Rows], end: int, *, broken: bool) -> None:
        self.text = text
        self.end = end
        self._broken = broken
        count = -(-end // STRETCH)
        self._tokens: Words = _joined([row.tokens for row in rows], np.uint64)[: count * ROW_WORDS]
        self._start: NDArray[np.int32] = _joined([row.start for row in rows], np.int32)[:count]
        self._lowest: NDArray[np.int32] = _joined([row.lowest for row in rows], np.int32)[:count]

    def tokens(self, start: int, end: int, level: int) -> Iterator[Tokens]:
        """The tokens from `start` up to `end` at `level` and above it (smaller), in parts."""
        row, last = start // STRETCH, -(-min(end, self.end) // STRETCH)
        size = _FIRST_ROWS
        while row < last:
            stop = min(last, row + size)
            part = self._read(row, stop, level)
            if part is not None:
                yield _clipped(part, start, end)
            row, size = stop, min(size * 4, _MOST_ROWS)

    def level(self, start: int, end: int, level: int) -> Iterator[Tokens]:
        """The tokens from `start` up to `end` at exactly `level`, in parts."""
        for part in self.tokens(start, end, level):
            here = part.level == level
            yield Tokens(part.at[here], part.byte[here], part.level[here])

    def closings(self, start: int, end: int) -> Iterator[Ints]:
        """Where outermost containers close from `start` up to `end`, in parts."""
        for part in self.level(start, end, 1):
            yield part.at[is_close(part.byte)]

    def _read(self, row: int, stop: int, level: int) -> Tokens | None:
        wanted = np.flatnonzero(self._lowest[row:stop] <= level) + row
        if not len(wanted):
            return None
        words = self._tokens[row * ROW_WORDS : stop * ROW_WORDS]
        if len(wanted) != stop - row:
            words = words.reshape(-1, ROW_WORDS)[wanted - row].ravel()
        at = bitmaps.positions(words)
        byte_row = at >> 9
        at = (wanted.take(byte_row) << 9) + (at & (STRETCH - 1)) if len(wanted) != stop - row else at + row * STRETCH
        byte = self.text.take(at, mode="clip")
        step = steps(byte)
        if self._broken or len(wanted) != stop - row:
            after = self._depths_of_rows(step, byte, byte_row, wanted)
        else:
            after = depths(step, int(self._start[row]))
        levels = after + step.close
        keep = levels <= level
        return Tokens(at[keep], byte[keep], levels[keep])

    def _depths_of_rows(self, step, byte: Bytes, byte_row: Ints, wanted: Ints) -> Ints:
        heads = np.flatnonzero(np.diff(byte_row, prepend=-1))
        bases = self._start[wanted[byte_row[heads]]].astype(np.int64)
        if self._broken:
            line_end = byte == LINE_END
            begins = line_end.copy()
            begins[heads] = True
            base = np.zeros(len(byte), np.int64)
            base[heads] = bases
            base[line_end] = 0
            heads = np.flatnonzero(begins)
            return depths_of_parts(step, heads, base[heads])
        total = np.cumsum(step.delta, dtype=np.int32)
        return total + (bases - (total[heads] - step.delta[heads]))[np.cumsum(np.diff(byte_row, prepend=-1) != 0) - 1]

    def skip_blanks(self, at: Ints) -> Ints:
        """The first byte at or after each place that is no blank; `end` when there is none."""
        at = np.minimum(at, self.end)
        rest = np.arange(len(at))
        for _ in range(_BLANKS_TOGETHER):
            rest = rest[at[rest] < self.end]
            rest = rest[_BLANK[self.text[at[rest]]]]
            if not len(rest):
                return at
            at[rest] += 1
        for one in rest.tolist():
            at[one] = self._skip_blanks_from(int(at[one]), 1)
        return at

    def trim_blanks(self, at: Ints) -> Ints:
        """Each end (exclusive) moved back over blanks."""
        at = at.copy()
        rest = np.arange(len(at))
        for _ in range(_BLANKS_TOGETHER):
            rest = rest[at[rest] > 0]
            rest = rest[_BLANK[self.text[at[rest] - 1]]]
            if not len(rest):
                return at
            at[rest] -= 1
        for one in rest.tolist():
            at[one] = self._skip_blanks_from(int(at[one]) - 1, -1) + 1
        return at

    def _skip_blanks_from(self, at: int, step: int) -> int:
        while 0 <= at < self.end:
            reach = self.text[at : min(self.end, at + 4096)] if step > 0 else self.text[max(0, at - 4095) : at + 1][::-1]
            shown = np.flatnonzero(~_BLANK[reach])
            if len(shown):
                return at + step * int(shown[0])
            at += step * len(reach)
        return at

    def raw(self, start: int, end: int) -> bytes:
        """The bytes of a range."""
        return self.text[start:end].tobytes()


def _joined(parts, dtype):
    return np.concatenate(parts) if parts else np.empty(0, dtype)


def _clipped(part: Tokens, start: int, end: int) -> Tokens:
    if len(part.at) and (part.at[0] < start or part.at[-1] >= end):
        lo, hi = np.searchsorted(part.at, (start, end))
        return Tokens(part.at[lo:hi], part.byte[lo:hi], part.level[lo:hi])
    return part
