"""Keys of many members at once: where they end, which are a given key, and which repeat."""

from __future__ import annotations

from functools import cache

import numpy as np

from spillcache.scan.bitmaps import Ints
from spillcache.scan.index import Index
from spillcache.scan.tokens import Flags
from spillcache.scan.words import MASKS, WORD, Texts, bytes_are, first_of, first_words, words_at

#: A key that is longer, in bytes and with its quotes, is not read.
LONGEST_KEY = 4096

_COLON, _QUOTE, _BACKSLASH = 0x3A, 0x22, 0x5C
_BYTE, _FIVE_BYTES = np.uint64(8), np.uint64(40)
#: An odd number to mix bits with.
_MIX = np.uint64(0x9E37_79B9_7F4A_7C15)


class Keys:
    """Members that may have one of some keys, none of them empty, to be held against one key after the other."""

    def __init__(self, index: Index, start: Ints, wanted: tuple[bytes, ...]) -> None:
        words = words_at(index.text, start)
        self._which = np.flatnonzero(_heads(wanted).take((words >> _BYTE).astype(np.uint16)))
        self._words = words[self._which]
        self._start = start[self._which]
        self._text = index.text

    def which_are(self, key: bytes) -> Ints:
        """The numbers of the members that have this key, ascending."""
        quoted = b'"%b"' % key
        head = quoted[:WORD]
        found = np.flatnonzero((self._words & MASKS[len(head)]) == np.uint64(int.from_bytes(head, "little")))
        if len(quoted) > WORD and len(found):
            found = found[bytes_are(self._text, self._start[found], quoted)]
        return self._which[found]


class KeysBefore:
    """The last eight bytes of the keys whose values begin at some places, to be held against keys."""

    def __init__(self, index: Index, at: Ints) -> None:
        colon = np.maximum(index.trim_blanks(at) - 1, 0)
        self._keyed = np.flatnonzero(index.text.take(colon) == _COLON)
        self._ends = index.trim_blanks(colon[self._keyed])
        self._words = words_at(index.text, np.maximum(self._ends - WORD, 0))
        if len(self._ends) and int(self._ends[0]) < WORD:  # right at the start of the text
            self._words <<= (np.maximum(WORD - self._ends, 0) << 3).astype(np.uint64)
        self._text = index.text
        self._count = len(at)

    def are(self, *wanted: bytes) -> Flags:
        """Which places are those of values with one of these keys, none of them empty."""
        likely = np.flatnonzero(_tails(wanted).take((self._words >> _FIVE_BYTES).astype(np.uint16)))
        answer = np.zeros(self._count, np.bool_)
        if not len(likely):
            return answer
        words, ends = self._words[likely], self._ends[likely]
        found = np.zeros(len(likely), np.bool_)
        for key in wanted:
            quoted = b'"%b"' % key
            word = int.from_bytes(quoted[-WORD:].rjust(WORD, b"\x00"), "little")
            these = np.flatnonzero((words & ~MASKS[WORD - min(len(quoted), WORD)]) == np.uint64(word))
            if len(quoted) > WORD and len(these):
                these = these[bytes_are(self._text, ends[these] - len(quoted), quoted)]
            # A quote behind a backslash stands inside a longer key and does not open this one.
            before = self._text.take(np.maximum(ends[these] - len(quoted) - 1, 0))
            found[these[before != _BACKSLASH]] = True
        answer[self._keyed[likely[found]]] = True
        return answer


@cache
def _heads(keys: tuple[bytes, ...]) -> Flags:
    """By the two bytes after an opening quote, whether a key may be one of these."""
    return _by_two_bytes([(b'"%b"' % key)[1:3] for key in keys])


@cache
def _tails(keys: tuple[bytes, ...]) -> Flags:
    """By the two bytes before a closing quote, whether a key may be one of these."""
    return _by_two_bytes([(b'"%b"' % key)[-3:-1] for key in keys])


def _by_two_bytes(pairs: list[bytes]) -> Flags:
    flags = np.zeros(1 << 16, np.bool_)
    flags[[int.from_bytes(pair, "little") for pair in pairs]] = True
    return flags


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


def repeats(keys: Texts, container: Ints) -> int:
    """How many of these keys stand in their container a second time, or more often."""
    words = keys.words.copy()
    first, count = first_words(keys.length)
    # keys are told apart by a sum over their words, each mixed with its place; equal sums are looked at closely
    place = np.arange(len(words)) - np.repeat(first, count)
    words ^= words >> np.uint64(29)
    words *= _MIX
    words ^= words >> np.uint64(32)
    words *= (place.astype(np.uint64) << np.uint64(1)) + _MIX
    sums = np.add.reduceat(words, first) + container.astype(np.uint64) * _MIX if len(first) else words
    ordered = np.sort(sums)  # a fifth of the time that `argsort` takes
    if not (ordered[1:] == ordered[:-1]).any():
        return 0
    order = np.argsort(sums)
    same = np.flatnonzero(np.diff(sums[order]) == 0)
    alike = [(int(container[one]), keys.piece(one)) for one in order[np.union1d(same, same + 1)].tolist()]
    return len(alike) - len(set(alike))
