"""Keys of many members at once: where they end, which are a given key, and which repeat."""

from __future__ import annotations

from functools import cache

import numpy as np

from spillcache.scan.bitmaps import Ints, Words
from spillcache.scan.index import Index
from spillcache.scan.tokens import Flags
from spillcache.scan.words import MASKS, WORD, bytes_are, first_of, first_words, gather, words_at

#: A key that is longer, in bytes and with its quotes, is not read.
LONGEST_KEY = 4096

_COLON, _QUOTE, _BACKSLASH = 0x3A, 0x22, 0x5C
#: Members held against all keys at once.
_TOGETHER = 512
#: An odd number to mix bits with.
_MIX = np.uint64(0x9E37_79B9_7F4A_7C15)


class Keys:
    """The first eight bytes of members, to be held against one key after the other."""

    def __init__(self, index: Index, start: Ints) -> None:
        self._text = index.text
        self._start = start
        self._words = words_at(index.text, start)

    def are(self, key: bytes) -> Flags:
        """Which members have this key."""
        quoted = b'"%b"' % key
        head = quoted[:WORD]
        words = self._words if len(head) == WORD else self._words & MASKS[len(head)]
        found: Flags = words == np.uint64(int.from_bytes(head, "little"))
        if len(quoted) > WORD and found.any():
            rest = np.flatnonzero(found)
            found[rest] = bytes_are(self._text, self._start[rest], quoted)
        return found


def key_before_is(index: Index, at: Ints, *keys: bytes) -> Flags:
    """Which values that begin at `at` are members with one of these keys."""
    colon = np.maximum(index.trim_blanks(at) - 1, 0)
    keyed = np.flatnonzero(index.text.take(colon) == _COLON)
    ends = index.trim_blanks(colon[keyed])
    words = words_at(index.text, np.maximum(ends - WORD, 0))
    if len(ends) and int(ends[0]) < WORD:  # right at the start of the text
        words <<= (np.maximum(WORD - ends, 0) << 3).astype(np.uint64)
    masks, wanted = _tails(keys)
    answer = np.zeros(len(at), np.bool_)
    for begin in range(0, len(ends), _TOGETHER):
        part = slice(begin, begin + _TOGETHER)
        are = (words[part, np.newaxis] & masks) == wanted
        for one in np.flatnonzero(are.any(axis=0)).tolist():
            if len(keys[one]) > WORD - 2:
                rest = np.flatnonzero(are[:, one])
                are[rest, one] = bytes_are(index.text, ends[part][rest] - len(keys[one]) - 2, b'"%b"' % keys[one])
        answer[keyed[part]] = are.any(axis=1)
    return answer


@cache
def _tails(keys: tuple[bytes, ...]) -> tuple[Words, Words]:
    """The last eight bytes of quoted keys: which of them count, and what they are."""
    quoted = [b'"%b"' % key for key in keys]
    masks = [~MASKS[WORD - min(len(key), WORD)] for key in quoted]
    words = [int.from_bytes(key[-WORD:].rjust(WORD, b"\x00"), "little") for key in quoted]
    return np.array(masks, np.uint64), np.array(words, np.uint64)


def value_after_key(index: Index, key_end: Ints) -> Ints:
    """Where the values of members begin whose keys end here; -1 where no colon follows."""
    colon = index.skip_blanks(key_end)
    is_colon = index.text.take(np.minimum(colon, index.end - 1)) == _COLON
    return np.where(is_colon & (colon < index.end), index.skip_blanks(colon + 1), -1)


def key_ends(index: Index, start: Ints) -> Ints:
    """Where the keys of members end, after their closing quote; -1 for members without one, or with one too long."""
    text = index.text
    ends = np.full(len(start), -1, np.int64)
    rest = np.flatnonzero(text.take(start, mode="clip") == _QUOTE)
    at, last = start[rest] + 1, start[rest] + LONGEST_KEY
    while len(rest):
        byte = first_of(words_at(text, at), _QUOTE, _BACKSLASH)
        at += byte
        found = byte < WORD
        quote = found & (text.take(at, mode="clip") == _QUOTE)
        ends[rest[quote]] = at[quote] + 1
        at += (found & ~quote) << 1  # past a backslash and what it escapes
        going_on = np.flatnonzero(~quote & (at < last))
        rest, at, last = rest[going_on], at[going_on], last[going_on]
    ends[ends > np.minimum(start + LONGEST_KEY, index.end)] = -1
    return ends


def repeats(index: Index, container: Ints, start: Ints, end: Ints) -> int:
    """How many of these keys stand in their container a second time, or more often."""
    keys = gather(index.text, start, end)
    words = keys.words.copy()
    first, count = first_words(keys.length)
    # keys are told apart by a sum over their words, each mixed with its place; equal sums are looked at closely
    place = np.arange(len(words)) - np.repeat(first, count)
    words ^= words >> np.uint64(29)
    words *= _MIX
    words ^= words >> np.uint64(32)
    words *= (place.astype(np.uint64) << np.uint64(1)) + _MIX
    sums = np.add.reduceat(words, first) + container.astype(np.uint64) * _MIX if len(first) else words
    order = np.argsort(sums)
    ordered = sums[order]
    same = np.flatnonzero(ordered[1:] == ordered[:-1])
    if not len(same):
        return 0
    alike = [(int(container[one]), keys.piece(one)) for one in order[np.union1d(same, same + 1)].tolist()]
    return len(alike) - len(set(alike))
