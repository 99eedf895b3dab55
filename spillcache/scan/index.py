"""The structure of a payload's first part, kept to be asked which tokens of a level lie in a range.

Kept are one bit per byte and two numbers per stretch, 0.14 × the text; tokens are read again from these. The lowest
level in each stretch is exact, so a question about shallow levels passes over the depths below without looking.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from spillcache.scan import bitmaps
from spillcache.scan.bitmaps import ROW_WORDS, Bytes, Ints, Words
from spillcache.scan.model import STRETCH
from spillcache.scan.structure import Rows
from spillcache.scan.tokens import LINE_END, Ints32, Steps, Tokens, depths, depths_of_parts, steps
from spillcache.scan.words import WORD, blanks_first, words_at

#: Stretches read at once, first (when the answer may be near) and at most: memory stays bounded.
_FIRST_ROWS, _MOST_ROWS = 32, 2048

_BLANK = np.zeros(256, np.bool_)
_BLANK[[0x20, 0x09, 0x0A, 0x0D]] = True
_SPACE = 0x20
#: Words of blanks passed over by all places at once, before those that are left are done one by one.
_WORDS_TOGETHER = 64


class Found(NamedTuple):
    """Tokens of one level in the order of the text, one element each."""

    at: Ints
    byte: Bytes


class Index:
    """Text and tokens of a payload up to `end`, in bytes.

    `broken` says that the depth was mended somewhere (too many closing brackets, or NDJSON lines that do not close),
    `plain` that the text holds no controls but blanks.
    """

    def __init__(self, text: Bytes, rows: list[Rows], end: int, *, broken: bool, plain: bool) -> None:
        self.text = text
        self.end = end
        self._broken = broken
        self._plain = plain
        self._kept = _joined_tokens([row.kept for row in rows])
        count = -(-end // STRETCH)
        self._tokens = np.concatenate([row.tokens for row in rows])[: count * ROW_WORDS]
        self._start = np.concatenate([row.start for row in rows])[:count]
        self._lowest = np.concatenate([row.lowest for row in rows])[:count]

    def level(self, start: int, end: int, level: int, *, soon: bool = False) -> Iterator[Found]:
        """The tokens from `start` up to `end` at exactly `level`, in parts.

        `soon` says that the caller will stop early, as when it looks for a bracket's partner.
        """
        if self._kept is not None:
            yield _at_level(self._kept, start, end, level)
            return
        row = start // STRETCH
        rows = np.flatnonzero(self._lowest[row : -(-min(end, self.end) // STRETCH)] <= level) + row
        size, at = (_FIRST_ROWS if soon else _MOST_ROWS), 0
        while at < len(rows):
            yield _at_level(self._read(rows[at : at + size]), start, end, level)
            at, size = at + size, min(size * 4, _MOST_ROWS)

    def _read(self, rows: Ints) -> Tokens:
        """All tokens of these stretches."""
        first, count = int(rows[0]), len(rows)
        whole = int(rows[-1]) - first == count - 1
        if whole:
            words = self._tokens[first * ROW_WORDS : (first + count) * ROW_WORDS]
            at = bitmaps.positions(words)
            at += first * STRETCH
        else:
            words = self._tokens.reshape(-1, ROW_WORDS)[rows].ravel()
            at = bitmaps.positions(words)
            at += ((rows - np.arange(count)) * STRETCH).take(at >> 9)
        byte = self.text.take(at, mode="clip")
        step = steps(byte)
        if self._broken:
            after = self._mended(step, byte, rows, words)
        else:
            after = depths(step, int(self._start[first]))
            if not whole:
                after += self._corrections(after, rows, words)
        return Tokens(at, byte, after + step.close)

    def _corrections(self, after: Ints32, rows: Ints, words: Words) -> Ints32:
        """What a running depth lacks in each stretch, for the stretches left out before it."""
        counts = bitmaps.row_sums(words)
        ends = np.cumsum(counts)
        lacks = self._start[rows]
        lacks[1:] -= after.take(ends[:-1] - 1)
        lacks[0] = 0
        return np.repeat(lacks, counts)

    def _mended(self, step: Steps, byte: Bytes, rows: Ints, words: Words) -> Ints32:
        counts = bitmaps.row_sums(words)
        heads = np.cumsum(counts) - counts
        base = np.zeros(len(byte), np.int64)
        base[heads] = self._start[rows]
        begins = line_end = byte == LINE_END
        base[line_end] = 0
        begins[heads] = True
        heads = np.flatnonzero(begins)
        return depths_of_parts(step, heads, base[heads])

    def skip_blanks(self, at: Ints) -> Ints:
        """The first byte at or after each place that is no blank; `end` when there is none."""
        at = np.minimum(at, self.end)
        rest = np.flatnonzero(self.text.take(at, mode="clip") <= _SPACE)
        for _ in range(_WORDS_TOGETHER):
            if not len(rest):
                return at
            step = blanks_first(words_at(self.text, at[rest]), any_control=self._plain)
            at[rest] += step
            rest = rest[step == WORD]
        for one in rest.tolist():
            at[one] = self._skip_blanks_from(int(at[one]), 1)
        return np.minimum(at, self.end, out=at)

    def trim_blanks(self, at: Ints) -> Ints:
        """Each end (exclusive) moved back over blanks."""
        rest = np.flatnonzero(self.text.take(at - 1, mode="clip") <= _SPACE)
        if not len(rest):
            return at
        at = at.copy()
        for _ in range(_WORDS_TOGETHER):
            near = at[rest] < WORD  # right at the start of the text
            for one in rest[near].tolist():
                at[one] = self._skip_blanks_from(int(at[one]) - 1, -1) + 1
            rest = rest[~near]
            if not len(rest):
                return at
            step = blanks_first(words_at(self.text, at[rest] - WORD).byteswap(), any_control=self._plain)
            at[rest] -= step
            rest = rest[step == WORD]
        for one in rest.tolist():
            at[one] = self._skip_blanks_from(int(at[one]) - 1, -1) + 1
        return at

    def _skip_blanks_from(self, at: int, step: int) -> int:
        while 0 <= at < self.end:
            ahead = slice(at, min(self.end, at + 4096)) if step > 0 else slice(max(0, at - 4095), at + 1)
            reach = self.text[ahead][::step]
            shown = np.flatnonzero(~_BLANK[reach])
            if len(shown):
                return at + step * int(shown[0])
            at += step * len(reach)
        return at

    def raw(self, start: int, end: int) -> bytes:
        """The bytes of a range."""
        return self.text[start:end].tobytes()


def _joined_tokens(parts: list[Tokens | None]) -> Tokens | None:
    """All tokens, when all were kept."""
    kept = [part for part in parts if part is not None]
    if len(kept) < len(parts):
        return None
    return Tokens(*(np.concatenate(column) for column in zip(*kept, strict=True)))


def _at_level(tokens: Tokens, start: int, end: int, level: int) -> Found:
    low, high = np.searchsorted(tokens.at, (start, end)).tolist()
    here = np.flatnonzero(tokens.level[low:high] == level)
    here += low
    return Found(tokens.at.take(here), tokens.byte.take(here))
