"""Containers of a document: their members, and what the keys of these mean."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from spillcache.scan.bitmaps import Ints
from spillcache.scan.index import Index
from spillcache.scan.keys import LONGEST_KEY, key_ends, value_after_key
from spillcache.scan.model import MAX_RESULTS
from spillcache.scan.tokens import COMMA, is_close

#: Keys that wrap results, as the APIs of metrics, logs, traces, search engines and clusters have them.
WRAPPERS = frozenset(
    b"data result results items response responses body payload output outputs structuredContent content frames series "
    b"streams rows records hits entries objects documents queries tables list".split()
)
#: Keys that hold labels: whoever has one is a result, not a wrapper.
LABEL_KEYS = (b"metric", b"stream", b"labels")
NAME_KEYS = (b"name", b"refId", b"query", b"expr", b"title", b"id")

_OBJECT, _ARRAY = 0x7B, 0x5B
_CLOSING = {_OBJECT: 0x7D, _ARRAY: 0x5D}

_KEY = re.compile(rb'("[^"\\]*(?:\\.[^"\\]*)*")[ \t\r\n]*:[ \t\r\n]*', re.DOTALL)


@dataclass(frozen=True, slots=True, eq=False)
class Container:
    """An array or object and the first of its members.

    `starts` and `ends` are the members' byte ranges without blanks, for at most MAX_RESULTS of them, complete ones
    only. `close` is None when the container does not close in what is seen, and `total` then is not known.
    """

    open: int
    close: int | None
    level: int
    is_object: bool
    starts: Ints
    ends: Ints
    total: int | None
    well_closed: bool


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object: its key as written, without quotes, and where key and value begin and the value ends."""

    key: bytes
    start: int
    value: int
    end: int


def read_container(index: Index, start: int, level: int) -> Container:
    """The array or object that opens at `start`; its members lie at `level`."""
    commas: list[Ints] = []
    kept = count = 0
    close: int | None = None
    for part in index.level(start, index.end, level, soon=True):
        closing = np.flatnonzero(is_close(part.byte))
        at, byte = part.at, part.byte
        if len(closing):
            close = int(at[closing[0]])
            at, byte = at[: closing[0]], byte[: closing[0]]
        at = at[byte == COMMA]
        count += len(at)
        if kept <= MAX_RESULTS:
            commas.append(at[: MAX_RESULTS + 1 - kept])
            kept += len(commas[-1])
        if close is not None:
            break
    return _container(index, start, level, np.concatenate(commas or [np.empty(0, np.int64)]), count, close)


def _container(index: Index, start: int, level: int, commas: Ints, count: int, close: int | None) -> Container:
    begins = np.append(start, commas) + 1
    end = _end_of_tail(index, int(begins[-1]), level) if close is None else close
    ends = commas if end is None or len(commas) != count else np.append(commas, end)
    starts = index.skip_blanks(begins[: len(ends)])
    if close is not None and count == 0 and len(starts) and starts[0] >= close:
        starts, ends, count = starts[:0], ends[:0], -1
    total = None if close is None else count + 1
    starts, ends = starts[:MAX_RESULTS], ends[:MAX_RESULTS]
    first = int(index.text[start])
    well_closed = close is None or int(index.text[close]) == _CLOSING.get(first)
    # a member may be empty in malformed text: its range then is empty, never reversed
    ends = np.maximum(index.trim_blanks(ends), starts)
    return Container(start, close, level, first == _OBJECT, starts, ends, total, well_closed)


def _end_of_tail(index: Index, start: int, level: int) -> int | None:
    """Where the last member seen of an unfinished container ends, if that shows: it is closed itself."""
    value = int(index.skip_blanks(np.array([start]))[0])
    match = _KEY.match(index.raw(value, min(value + LONGEST_KEY, index.end)))
    value += match.end() if match is not None else 0
    if value >= index.end or int(index.text[value]) not in _CLOSING:
        return None
    for part in index.level(value, index.end, level + 1, soon=True):
        closing = np.flatnonzero(is_close(part.byte))
        if len(closing):
            return int(part.at[closing[0]]) + 1
    return None


def members(index: Index, container: Container, most: int) -> list[Member]:
    """The first members of an object that have a key."""
    found: list[Member] = []
    text = index.text.data
    for start, end in zip(container.starts[:most].tolist(), container.ends[:most].tolist(), strict=True):
        match = _KEY.match(text, start, min(end, start + LONGEST_KEY))
        if match is not None:
            found.append(Member(bytes(match[1][1:-1]), start, match.end(), end))
    return found


class Members(NamedTuple):
    """Members of an object, those that have a key: columns of what `Member` says of one."""

    start: Ints
    key_end: Ints  # after the closing quote
    value: Ints
    end: Ints


def all_members(index: Index, container: Container) -> Members:
    """All members of an object that have a key."""
    start, end = container.starts, container.ends
    key_end = key_ends(index, start)
    value = value_after_key(index, np.maximum(key_end, 0))
    keyed = np.flatnonzero((key_end > 0) & (value > 0) & (key_end < end))
    end = end[keyed]
    return Members(start[keyed], key_end[keyed], np.minimum(value[keyed], end), end)


def unfinished_member(index: Index, node: Container) -> Member | None:
    """The member of an object that what is seen of the document ends in, if it is a container; its end is -1."""
    if node.close is not None or len(node.starts) >= MAX_RESULTS:
        return None
    start = node.open + 1
    if len(node.ends):  # the comma may stand after blanks
        start = int(index.skip_blanks(node.ends[-1:])[0]) + 1
    start = int(index.skip_blanks(np.array([start]))[0])
    match = _KEY.match(index.raw(start, min(start + LONGEST_KEY, index.end)))
    if match is None or start + match.end() >= index.end:
        return None
    value = start + match.end()
    return Member(match[1][1:-1], start, value, -1) if int(index.text[value]) in _CLOSING else None
