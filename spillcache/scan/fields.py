"""Members of many objects at once: whose they are, where they lie, and whether their key is a given one."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from spillcache.scan.bitmaps import Bytes, Ints, Words
from spillcache.scan.index import Index
from spillcache.scan.tokens import COMMA, Flags, is_close, is_open

#: Tokens of one level that are held at once: 16 MB of positions.
_MOST_TOKENS = 1 << 20
_COLON = 0x3A
_WORD = 8


class Fields(NamedTuple):
    """Members (or elements) of all containers of one level in a range."""

    container: Ints  # where the container opens
    start: Ints
    end: Ints


class Groups(NamedTuple):
    """Containers of one level in a range, and how many elements each has."""

    open: Ints
    close: Ints
    byte: Bytes
    elements: Ints


def read_fields(index: Index, start: int, end: int, level: int) -> Fields | None:
    """The members at `level` from `start` up to `end`; None when they are too many. Their ends may follow blanks."""
    at_parts: list[Ints] = []
    byte_parts: list[Bytes] = []
    held = 0
    for part in index.level(start, end, level):
        at_parts.append(part.at)
        byte_parts.append(part.byte)
        held += len(part.at)
        if held > _MOST_TOKENS:
            return None
    if not held:
        return Fields(_NONE, _NONE, _NONE)
    at, byte = np.concatenate(at_parts), np.concatenate(byte_parts)
    opens = is_open(byte)
    container = at[np.maximum.accumulate(np.where(opens, np.arange(len(at)), 0))]
    begins = np.flatnonzero((opens | (byte == COMMA))[:-1])
    starts, ends = index.skip_blanks(at[begins] + 1), at[begins + 1]
    full = starts < ends
    return Fields(container[begins][full], starts[full], ends[full])


def read_groups(index: Index, start: int, end: int, level: int) -> Groups | None:
    """The containers whose elements lie at `level`; None when they are too many.

    Brackets of one level alternate. Where they do not, as in lines that are cut short, those without a partner count
    for nothing.
    """
    at_parts: list[Ints] = []
    byte_parts: list[Bytes] = []
    count_parts: list[Ints] = []
    held = commas = 0
    for part in index.level(start, end, level):
        comma = part.byte == COMMA
        before = np.cumsum(comma) + commas
        commas = int(before[-1]) if len(before) else commas
        at_parts.append(part.at[~comma])
        byte_parts.append(part.byte[~comma])
        count_parts.append(before[~comma])
        held += len(at_parts[-1])
        if held > _MOST_TOKENS:
            return None
    if not held:
        return Groups(_NONE, _NONE, np.empty(0, np.uint8), _NONE)
    at, byte, before = np.concatenate(at_parts), np.concatenate(byte_parts), np.concatenate(count_parts)
    first = np.flatnonzero(is_open(byte[:-1]) & is_close(byte[1:]))
    opens, closes, count = at[first], at[first + 1], before[first + 1] - before[first]
    bare = np.flatnonzero(count == 0)
    count += 1
    count[bare[index.skip_blanks(opens[bare] + 1) >= closes[bare]]] = 0
    return Groups(opens, closes, byte[first], count)


class Keys:
    """The first eight bytes of members, to be held against one key after the other."""

    def __init__(self, index: Index, start: Ints) -> None:
        self._text = index.text
        self._start = start
        self._words = _words_at(index.text, start)

    def are(self, key: bytes) -> Flags:
        """Which members have this key."""
        quoted = b'"%b"' % key
        head = quoted[:_WORD]
        found: Flags = self._words & _MASKS[len(head)] == np.uint64(int.from_bytes(head, "little"))
        if len(quoted) > _WORD and found.any():
            rest = np.flatnonzero(found)
            found[rest] = _bytes_are(self._text, self._start[rest], quoted)
        return found


def key_before_is(index: Index, at: Ints, *keys: bytes) -> Flags:
    """Which values that begin at `at` are members with one of these keys."""
    colon = np.maximum(index.trim_blanks(at) - 1, 0)
    keyed = np.flatnonzero(index.text[colon] == _COLON)
    ends = index.trim_blanks(colon[keyed])
    words = _words_at(index.text, np.maximum(ends - _WORD, 0))
    if len(ends) and int(ends[0]) < _WORD:  # right at the start of the text
        words <<= (np.maximum(_WORD - ends, 0) << 3).astype(np.uint64)
    found = np.zeros(len(ends), np.bool_)
    for key in keys:
        mask, word, quoted = _tail(key)
        these = (words & mask) == word
        if len(quoted) > _WORD and these.any():
            rest = np.flatnonzero(these)
            these[rest] = _bytes_are(index.text, ends[rest] - len(quoted), quoted)
        found |= these
    answer = np.zeros(len(at), np.bool_)
    answer[keyed] = found
    return answer


@cache
def _tail(key: bytes) -> tuple[np.uint64, np.uint64, bytes]:
    """The last eight bytes of a quoted key: which of them count, what they are; and all of it."""
    quoted = b'"%b"' % key
    unused = _WORD - min(len(quoted), _WORD)
    word = int.from_bytes(quoted[-_WORD:].rjust(_WORD, b"\x00"), "little")
    return ~_MASKS[unused], np.uint64(word), quoted


def value_after_key(index: Index, start: Ints, key: bytes) -> Ints:
    """Where the values of members begin whose key is `key`; -1 where no colon follows."""
    colon = index.skip_blanks(start + len(key) + 2)
    is_colon = index.text[np.minimum(colon, index.end - 1)] == _COLON
    return np.where(is_colon, index.skip_blanks(colon + 1), -1)


def owners(inside: Ints, starts: Ints, ends: Ints) -> Ints:
    """For each place the range it lies in, -1 for none. Ranges ascend and do not overlap."""
    owner = np.searchsorted(starts, inside, "right") - 1
    outside = owner < 0
    owner[outside] = 0
    if len(starts):
        outside |= inside >= ends[owner]
    owner[outside] = -1
    return owner


def _words_at(text: Bytes, start: Ints) -> Words:
    """Eight bytes from each place, the first one lowest, as if zeros followed the text."""
    if len(text) < _WORD:
        text = np.append(text, np.zeros(_WORD, np.uint8))
    # one overlapping word per byte, without a copy
    view: Words = np.ndarray((len(text) - _WORD + 1,), np.dtype("<u8"), text.data, strides=(1,))
    place = np.minimum(start, len(view) - 1)
    words = view[place]
    late = np.flatnonzero(place != start)
    if len(late):
        words[late] >>= (np.minimum(start[late] - place[late], _WORD - 1) << 3).astype(np.uint64)
    return words


def _bytes_are(text: Bytes, start: Ints, wanted: bytes) -> Flags:
    """Where `wanted`, longer than a word, stands in the text."""
    found = (start >= 0) & (start <= len(text) - len(wanted))
    for offset in (*range(0, len(wanted) - _WORD, _WORD), len(wanted) - _WORD):
        word = int.from_bytes(wanted[offset : offset + _WORD], "little")
        found &= _words_at(text, np.maximum(start, 0) + offset) == np.uint64(word)
    return found


_MASKS = [np.uint64((1 << 8 * count) - 1) for count in range(_WORD + 1)]
_NONE: Ints = np.empty(0, np.int64)
