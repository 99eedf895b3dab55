"""Words of eight bytes at any place of a text, so that short pieces are read and compared at once, not byte by byte."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spillcache.scan.bitmaps import Bytes, Ints, Words
from spillcache.scan.tokens import Flags

#: Bytes in a word.
WORD = 8
#: The first so many bytes of a word.
MASKS = np.array([(1 << 8 * count) - 1 for count in range(WORD + 1)], np.uint64)

_LOW, _HIGH = np.uint64(0x0101_0101_0101_0101), np.uint64(0x8080_8080_8080_8080)
_SEVEN_BITS, _ABOVE_SPACE = np.uint64(0x7F7F_7F7F_7F7F_7F7F), np.uint64(0x5F5F_5F5F_5F5F_5F5F)


def words_at(text: Bytes, start: Ints) -> Words:
    """Eight bytes from each place, the first one lowest, as if zeros followed the text."""
    if len(text) < WORD:
        text = np.append(text, np.zeros(WORD, np.uint8))
    # one overlapping word per byte, without a copy
    view: Words = np.ndarray((len(text) - WORD + 1,), np.dtype("<u8"), text.data, strides=(1,))
    if not len(start) or int(start.max()) < len(view):
        return view[start]  # not `take`: it copies the view
    place = np.minimum(start, len(view) - 1)
    words = view[place]
    late = np.flatnonzero(place != start)
    late_by = (start[late] - place[late]).astype(np.uint64)
    words[late] = np.where(late_by < WORD, words[late] >> (late_by << np.uint64(3)), np.uint64(0))
    return words


def bytes_are(text: Bytes, start: Ints, wanted: bytes) -> Flags:
    """Where `wanted`, longer than a word, stands in the text."""
    found = (start >= 0) & (start <= len(text) - len(wanted))
    for offset in (*range(0, len(wanted) - WORD, WORD), len(wanted) - WORD):
        word = int.from_bytes(wanted[offset : offset + WORD], "little")
        found &= words_at(text, np.maximum(start, 0) + offset) == np.uint64(word)
    return found


def first_of(words: Words, either: int, other: int) -> Ints:
    """Which byte (0 to 7) of each word is the first that is one of two; 8 where none is."""
    return _bytes_before(_is_zero(words ^ (_LOW * np.uint64(either))) | _is_zero(words ^ (_LOW * np.uint64(other))))


def _is_zero(words: Words) -> Words:
    """The highest bit of bytes that are 0. Bytes above the first such may be marked wrongly."""
    return (words - _LOW) & ~words & _HIGH


def blanks_first(words: Words, *, any_control: bool) -> Ints:
    """With how many blanks each word begins. `any_control` takes every control for one, at a third of the time."""
    if any_control:
        shown = ((words & _SEVEN_BITS) + _ABOVE_SPACE | words) & _HIGH
    else:
        shown = _HIGH & ~(_is(words, 0x20) | _is(words, 0x09) | _is(words, 0x0A) | _is(words, 0x0D))
    return _bytes_before(shown)


def _bytes_before(marks: Words) -> Ints:
    """How many bytes come before the first whose highest bit is set; 8 where none is."""
    # below the lowest bit that is set lie 8 × the byte's number and 7 more; below none, all 64
    below = np.bitwise_count((marks & (~marks + np.uint64(1))) - np.uint64(1))
    return (below >> np.uint8(3)).astype(np.int64)


def _is(words: Words, byte: int) -> Words:
    """The highest bit of exactly those bytes that are `byte`."""
    other = words ^ (_LOW * np.uint64(byte))
    return ~((other & _SEVEN_BITS) + _SEVEN_BITS | other) & _HIGH


class Texts(NamedTuple):
    """Pieces of a text, copied. Each begins at a word of its own and is filled up with zeros."""

    words: Words
    first: Ints
    length: Ints

    def piece(self, number: int) -> bytes:
        """The bytes of one piece."""
        first, length = int(self.first[number]), int(self.length[number])
        return self.words[first : first - (-length // WORD)].tobytes()[:length]

    def packed(self) -> bytes:
        """All pieces, one after the other, each filled up with zeros."""
        first, count = first_words(self.length)
        if int(count.sum()) != len(self.words):  # some of them only
            at = np.repeat(self.first - first, count) + np.arange(int(count.sum()))
            return self.words.take(at).tobytes()
        return self.words.tobytes()

    def only(self, which: slice) -> Texts:
        """Some of the pieces, on the same words."""
        return Texts(self.words, self.first[which], self.length[which])

    @staticmethod
    def of(piece: bytes) -> Texts:
        """One piece."""
        padded = piece.ljust(-(-len(piece) // WORD) * WORD, b"\x00")
        return Texts(np.frombuffer(padded, np.uint64), np.zeros(1, np.int64), np.array([len(piece)]))


def gather(text: Bytes, start: Ints, end: Ints) -> Texts:
    """Copy pieces of a text; those that end before they start are empty."""
    length = np.maximum(end - start, 0)
    first, count = first_words(length)
    at = np.repeat(start - (first << 3), count)
    at += np.arange(len(at)) << 3
    words = words_at(text, at)
    full = np.flatnonzero(count)
    last = first[full] + count[full] - 1
    words[last] &= MASKS.take(length[full] - ((count[full] - 1) << 3))
    return Texts(words, first, length)


def first_words(length: Ints) -> tuple[Ints, Ints]:
    """Where pieces of these lengths begin when laid one after the other, and how many words each takes."""
    count = (length + (WORD - 1)) >> 3
    return np.cumsum(count) - count, count
