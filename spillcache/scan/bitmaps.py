"""Bitmaps of a text: one bit per byte, 64 to a word, eight words to a stretch.

NumPy packs comparisons at more than 10 GB/s, and everything that depends on what stands before (is this quote escaped,
is this comma inside a string) then costs a few operations on words instead of one step per byte. Bit 0 of a word is
the first byte. Texts are padded to whole stretches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

#: Words in a stretch of 512 bytes.
ROW_WORDS = 8

_EVEN = np.uint64(0x5555_5555_5555_5555)
_ODD = np.uint64(0xAAAA_AAAA_AAAA_AAAA)
_ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
_ONE, _TOP = np.uint64(1), np.uint64(63)
_EVEN_LANES = np.uint64(0x00FF_00FF_00FF_00FF)
_LANE = np.uint64(8)
_SUM_LANES, _SUM_SHIFT = np.uint64(0x0001_0001_0001_0001), np.uint64(48)
_FIRST_LANES = np.array([(1 << 8 * lanes) - 1 for lanes in range(9)], np.uint64)
_DOUBLINGS = tuple(np.uint64(1 << step) for step in range(6))


def pack(flags: NDArray[np.bool_]) -> Words:
    """The bitmap of a flag per byte."""
    return np.packbits(flags, bitorder="little").view(np.uint64)


def positions(words: Words) -> NDArray[np.intp]:
    """Where bits are set, ascending."""
    some = np.flatnonzero(words != 0)
    if 2 * len(some) >= len(words):
        return _set_flags(words)
    at = _set_flags(words[some])
    at += ((some - np.arange(len(some))) << 6).take(at >> 6)
    return at


def _set_flags(words: Words) -> NDArray[np.intp]:
    # flatnonzero is 13 times slower on uint8 than on bool
    return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little").view(np.bool_))


def from_positions(where: NDArray[np.intp], words: int) -> Words:
    """The bitmap of `words` words in which exactly these bits are set."""
    flags = np.zeros(words * 64, np.bool_)
    flags[where] = True
    return pack(flags)


def escapes(backslash: Words, carry: int) -> tuple[Words, Words, int]:
    """Backslashes that begin an escape, the bytes they escape, and whether the byte after the last is escaped.

    In a run of backslashes every second one begins an escape, counted from the start of the run; `carry` is 1 when the
    first byte is escaped already. A word made of backslashes only hands its carry on unchanged (64 is even); what any
    other word hands on does not depend on what it got. So one pass finds all carries, not word after word.
    """
    begins = _begins_escape(backslash, np.uint64(0))
    out = begins >> _TOP
    full = backslash == _ALL
    if full.any():
        known = np.maximum.accumulate(np.where(full, -1, np.arange(len(out))))
        out = np.where(known >= 0, out[known], np.uint64(carry))
    carried = np.empty_like(out)
    carried[0] = carry
    carried[1:] = out[:-1]
    given = np.flatnonzero(carried != 0)
    if len(given):
        begins[given] = _begins_escape(backslash[given], carried[given])
    return begins, (begins << _ONE) | carried, int(begins[-1] >> _TOP)


def _begins_escape(backslash: Words, carry: Words | np.uint64) -> Words:
    free = backslash & ~carry
    starts = free & ~(free << _ONE)
    # adding its first bit to a run clears the run: what remains began at an odd place
    from_odd = free & (free + (starts & _EVEN))
    return ((free ^ from_odd) & _EVEN) | (from_odd & _ODD)


def inside(quote: Words, carry: int) -> Words:
    """Bytes from an odd quote up to the next, exclusive; `carry` is 1 when a string is open at the start."""
    mask = quote.copy()
    shifted = np.empty_like(quote)
    for step in _DOUBLINGS:
        mask ^= np.left_shift(mask, step, out=shifted)
    odd = np.bitwise_count(quote) & np.uint8(1)
    open_before = np.bitwise_xor.accumulate(odd) ^ odd ^ np.uint8(carry)
    mask ^= -open_before.astype(np.int64).view(np.uint64)
    return mask


def row_sums(words: Words) -> Ints:
    """Set bits in each stretch."""
    return _sum_lanes(np.bitwise_count(words).view(np.uint64))


def row_sums_before(words: Words, within: Ints) -> Ints:
    """Set bits among the first `within` (0 to 512) bytes of each stretch."""
    whole = within >> 6
    rows = words.reshape(-1, ROW_WORDS)
    last = rows[np.arange(len(rows)), np.minimum(whole, ROW_WORDS - 1)]
    below = (_ONE << (within & 63).astype(np.uint64)) - _ONE  # nothing when all eight words are whole
    counts = np.bitwise_count(words).view(np.uint64) & _FIRST_LANES.take(whole)
    partial: Ints = _sum_lanes(counts) + np.bitwise_count(last & below)
    return partial


def _sum_lanes(counts: Words) -> Ints:
    """The sum of the eight bytes of each word."""
    pairs = (counts & _EVEN_LANES) + ((counts >> _LANE) & _EVEN_LANES)
    return ((pairs * _SUM_LANES) >> _SUM_SHIFT).view(np.int64)


def last_bits(words: Words) -> Ints:
    """The place (0 to 511) of the last set bit in each stretch, -1 where none is set."""
    set_words = (words != 0).view(np.uint64)
    word = _top_bit(set_words) >> 3
    rows = words.reshape(-1, ROW_WORDS)
    bit = _top_bit(rows[np.arange(len(rows)), np.maximum(word, 0)])
    return np.where(set_words != 0, (word << 6) + bit, -1)


def _top_bit(words: Words) -> Ints:
    """The index of the highest set bit; nonsense for 0. Without the bit below it, rounding to float cannot carry."""
    return np.frexp((words & ~(words >> _ONE)).astype(np.float64))[1].astype(np.int64) - 1
