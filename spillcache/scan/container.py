"""Containers of a document, and the one whose members are its results.

A tool wraps its results: `{"status": …, "data": {"result": […]}}`. The search follows wrapper keys, and lists of one,
down to the first list of two or more objects, or to an object that is a map of results. It looks at few containers and
never recurses, whatever the document does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import orjson

from spillcache.scan.bitmaps import Ints
from spillcache.scan.index import Index
from spillcache.scan.model import MAX_RESULTS
from spillcache.scan.tokens import COMMA, is_close

#: Keys that wrap results, as the APIs of metrics, logs, traces, search engines and clusters have them.
WRAPPERS = frozenset(
    b"data result results items response responses body payload output outputs structuredContent content frames series "
    b"streams rows records hits entries objects documents queries tables list".split()
)
#: Where a text rendering stands beside the data, the data is listed.
_LAST_RESORT = frozenset((b"content",))
#: Keys that hold labels: whoever has one is a result, not a wrapper.
LABEL_KEYS = frozenset((b"metric", b"stream", b"labels"))
NAME_KEYS = (b"name", b"refId", b"query", b"expr", b"title", b"id")

_OBJECT, _ARRAY, _NULL = 0x7B, 0x5B, 0x6E
_CLOSING = {_OBJECT: 0x7D, _ARRAY: 0x5D}
#: Containers and levels the search looks at. Real results lie within six.
_MOST_CONTAINERS, _MOST_LEVELS = 64, 16
#: Members of an object whose keys are read during the search, and elements of an array whose first byte is.
_MOST_KEYS, _MOST_ELEMENTS = 256, 64
_LONGEST_KEY = 4096

_KEY = re.compile(rb'("[^"\\]*(?:\\.[^"\\]*)*")[ \t\r\n]*:[ \t\r\n]*', re.DOTALL)
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


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
    """A member of an object: its key as written, between quotes, and where key and value begin and the value ends."""

    key: bytes
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """What an inventory lists: members of the container at `path`, or one value as a whole.

    `values` are the starts of the values, which for members of an object come after `starts`, those of the keys.
    `level` is that of the commas around the results. `numbers` are the elements' places where these have gaps.
    """

    path: str
    level: int
    starts: Ints
    ends: Ints
    values: Ints
    keys: list[bytes] | None
    whole: str | None
    total: int | None
    partial: tuple[str, ...]
    numbers: list[int] | None = None


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
        starts, ends, total = starts[:0], ends[:0], 0
    else:
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
    match = _KEY.match(index.raw(value, min(value + _LONGEST_KEY, index.end)))
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
    for start, end in zip(container.starts[:most].tolist(), container.ends[:most].tolist(), strict=True):
        match = _KEY.match(index.raw(start, min(end, start + _LONGEST_KEY)))
        if match is not None:
            found.append(Member(match[1][1:-1], start, start + match.end(), end))
    return found


def decoded(quoted: bytes) -> str:
    """The text of a JSON string, as far as it is one."""
    try:
        text = orjson.loads(quoted)
    except orjson.JSONDecodeError:
        text = None
    return text if isinstance(text, str) else quoted[1:-1].decode("utf-8", "replace")


def member_path(path: str, key: bytes) -> str:
    """The JSON path of an object's member."""
    text = decoded(b'"%b"' % key)
    return f"{path}.{text}" if _PLAIN_KEY.fullmatch(text) else f"{path}[{orjson.dumps(text).decode()}]"


@dataclass(frozen=True, slots=True)
class _Step:
    """A value on the way down: where it begins and ends (None: not seen), under which path and, in objects, key."""

    start: int
    end: int | None
    level: int  # of the commas around it
    path: str
    key: str
    in_list: bool = False
    last_resort: bool = False


# How well a listing shows the results. Among equals the deeper one counts.
_MEMBERS, _WHOLE, _SINGLE, _EMPTY, _RESULTS = range(1, 6)


class _Search:
    """The way from the document's first value down to its results."""

    def __init__(self, index: Index, root: Container | None) -> None:
        self._index = index
        self._root = root
        self._ahead: list[_Step] = []
        self._best: tuple[tuple[int, int], Listing] | None = None
        self._partial: tuple[str, ...] = ()

    def run(self, root: _Step) -> Listing | None:
        self._ahead = [root]
        for _ in range(_MOST_CONTAINERS):
            if not self._ahead:
                break
            step = self._ahead.pop()
            if step.level > _MOST_LEVELS:
                self._partial = ("too_deep",)
                continue
            self._look_at(step)
            if self._best is not None and self._best[0][0] == _RESULTS:
                break
        if self._best is None:
            return Listing("$", 0, _NONE, _NONE, _NONE, None, None, None, self._partial) if self._partial else None
        return self._best[1]

    def _look_at(self, step: _Step) -> None:
        first = int(self._index.text[step.start]) if step.start < self._index.end else 0
        if first not in _CLOSING:
            if step.end is not None:
                self._offer(_WHOLE, step, self._whole(step, step.end))
            return
        if self._root is not None and step.level == 0:
            container = self._root
        else:
            container = read_container(self._index, step.start, step.level + 1)
        if container.is_object:
            self._look_at_object(step, container)
        else:
            self._look_at_array(step, container)

    def _look_at_array(self, step: _Step, array: Container) -> None:
        text = self._index.text
        if array.total == 0:
            self._offer(_EMPTY, step, self._elements(step, array))
            return
        firsts = text[array.starts[:_MOST_ELEMENTS]]
        if not self._holds_results(array, firsts):
            if array.close is not None:
                self._offer(_WHOLE, step, self._whole(step, array.close + 1))
            return
        if array.total != 1:
            self._offer(_RESULTS, step, self._elements(step, array))
            return
        self._offer(_WHOLE if step.last_resort else _SINGLE, step, self._elements(step, array))
        self._ahead.append(
            _Step(
                int(array.starts[0]),
                int(array.ends[0]),
                array.level,
                f"{step.path}[0]",
                step.key,
                True,
                step.last_resort,
            )
        )

    def _holds_results(self, array: Container, firsts: np.typing.NDArray[np.uint8]) -> bool:
        """Objects, or arrays that hold more than scalars: those would be samples of one result."""
        if (firsts == _OBJECT).any():
            return True
        arrays = np.flatnonzero(firsts == _ARRAY)
        if not len(arrays):
            return False
        start, end = int(array.starts[arrays[0]]), int(array.ends[arrays[0]])
        return any(len(part.at) for part in self._index.level(start, end, array.level + 2, soon=True))

    def _look_at_object(self, step: _Step, node: Container) -> None:
        found = members(self._index, node, _MOST_KEYS)
        text = self._index.text
        holds = [member for member in found if member.value < member.end and int(text[member.value]) in _CLOSING]
        open_member = self._unfinished(node)
        if open_member is not None:
            holds.append(open_member)
        keys = {member.key for member in found}
        is_result = bool(keys & LABEL_KEYS) or (step.in_list and any(key in keys for key in NAME_KEYS))
        wrappers = [
            member for member in [*found, *holds[len(holds) - (open_member is not None) :]] if member.key in WRAPPERS
        ]
        wrappers = [one for one in wrappers if one in holds or int(text[one.value]) == _NULL]
        if wrappers:
            wrappers.sort(key=lambda member: member.key in _LAST_RESORT)
            self._follow(step, node, wrappers)
        elif is_result:
            return
        elif len(holds) == 1:
            self._follow(step, node, holds)
        elif len(holds) > 1 and len(holds) == len(found) + (open_member is not None):
            self._offer(_RESULTS, step, self._members(step, node))
            return
        if holds and len(found) > 1:
            self._offer(_MEMBERS, step, self._members(step, node))

    def _unfinished(self, node: Container) -> Member | None:
        """The member that what is seen of the document ends in."""
        if node.close is not None or len(node.starts) >= MAX_RESULTS:
            return None
        after = int(node.ends[-1]) if len(node.ends) else node.open
        start = int(self._index.skip_blanks(np.array([after + 1]))[0])
        if len(node.ends):  # the comma may stand after blanks
            start = int(self._index.skip_blanks(np.array([int(self._index.skip_blanks(np.array([after]))[0]) + 1]))[0])
        match = _KEY.match(self._index.raw(start, min(start + _LONGEST_KEY, self._index.end)))
        if match is None or start + match.end() >= self._index.end:
            return None
        value = start + match.end()
        return Member(match[1][1:-1], start, value, -1) if int(self._index.text[value]) in _CLOSING else None

    def _follow(self, step: _Step, node: Container, ways: list[Member]) -> None:
        """Go on with these members, the first first."""
        self._ahead.extend(
            _Step(
                way.value,
                way.end if way.end >= 0 else None,
                node.level,
                member_path(step.path, way.key),
                decoded(b'"%b"' % way.key),
                last_resort=step.last_resort or way.key in _LAST_RESORT,
            )
            for way in reversed(ways)
        )

    def _offer(self, worth: int, step: _Step, listing: Listing) -> None:
        rank = (worth, step.level)
        if self._best is None or rank > self._best[0]:
            self._best = (rank, listing)

    def _whole(self, step: _Step, end: int) -> Listing:
        start = np.array([step.start])
        return Listing(step.path, step.level, start, np.array([end]), start, None, step.key, 1, ())

    def _elements(self, step: _Step, array: Container) -> Listing:
        return Listing(
            step.path, array.level, array.starts, array.ends, array.starts, None, None, array.total, _faults(array)
        )

    def _members(self, step: _Step, node: Container) -> Listing:
        found = members(self._index, node, MAX_RESULTS)
        starts, values, ends = (
            np.array([getattr(member, name) for member in found], np.int64) for name in ("start", "value", "end")
        )
        keys = [member.key for member in found]
        return Listing(step.path, node.level, starts, ends, values, keys, None, node.total, _faults(node))


_NONE: Ints = np.empty(0, np.int64)


def _faults(container: Container) -> tuple[str, ...]:
    shown = len(container.starts)
    too_many = shown == MAX_RESULTS and container.total != MAX_RESULTS
    return (("malformed",) if not container.well_closed else ()) + (("too_many",) if too_many else ())


def find_results(index: Index, start: int, *, whole: bool) -> tuple[Listing | None, int | None]:
    """The results of the document whose first value begins at `start`, and where that document ends.

    There is no listing when the document holds no list of any kind, and no end when it does not show. `whole` says that
    nothing follows the index: only then is a document that is one scalar known to be complete.
    """
    root: Container | None = None
    end: int | None = None
    if int(index.text[start]) in _CLOSING:
        root = read_container(index, start, 1)
        end = None if root.close is None else root.close + 1
    elif whole:
        end = int(index.trim_blanks(np.array([index.end]))[0])
    return _Search(index, root).run(_Step(start, end, 0, "$", "$")), end
