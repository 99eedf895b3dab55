"""The container whose members are a document's results.

A tool wraps its results: `{"status": …, "data": {"result": […]}}`. The search follows wrapper keys, and lists of one,
down to the first list of two or more objects, or to an object that is a map of results. It looks at few containers and
never recurses, whatever the document does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from spillcache.scan.bitmaps import Bytes, Ints
from spillcache.scan.container import (
    LABEL_KEYS,
    NAME_KEYS,
    WRAPPERS,
    Container,
    Member,
    all_members,
    members,
    read_container,
    unfinished_member,
)
from spillcache.scan.index import Index
from spillcache.scan.model import MAX_RESULTS
from spillcache.scan.spelling import member_path

#: Where a text rendering stands beside the data, the data is listed.
_LAST_RESORT = frozenset((b"content",))
_OBJECT, _ARRAY, _NULL = 0x7B, 0x5B, 0x6E
_OPENING = (_OBJECT, _ARRAY)
#: Containers and levels the search looks at. Real results lie within six.
_MOST_CONTAINERS, _MOST_LEVELS = 64, 16
#: Members of an object whose keys are read, and elements of an array whose first byte is.
_MOST_KEYS, _MOST_ELEMENTS = 256, 64


@dataclass(frozen=True, slots=True, eq=False)
class FoundResults:
    """What an inventory lists: members of the container at `path`, or one value, whose key is then `whole`, in quotes.

    `values` are the starts of the values, which for members of an object come after `starts`, those of the keys;
    `key_ends` is None where there are no keys. `level` is that of the commas around the results. `place` numbers the
    elements of a list.
    """

    path: str
    level: int
    starts: Ints
    ends: Ints
    values: Ints
    place: Ints
    total: int | None
    partial: tuple[str, ...]
    key_ends: Ints | None = None
    whole: bytes | None = None


@dataclass(frozen=True, slots=True)
class _Step:
    """A value on the way down: where it begins and ends (None: not seen), under which path and, in objects, key."""

    start: int
    end: int | None
    level: int  # of the commas around it
    path: str
    key: bytes  # in quotes
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
        self._best: tuple[tuple[int, int], Callable[[], FoundResults]] | None = None
        self._partial: tuple[str, ...] = ()

    def run(self, root: _Step) -> FoundResults | None:
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
            return FoundResults("$", 0, *(_NONE,) * 4, None, self._partial) if self._partial else None
        return self._best[1]()

    def _look_at(self, step: _Step) -> None:
        first = int(self._index.text[step.start]) if step.start < self._index.end else 0
        if first not in _OPENING:
            if step.end is not None:
                self._offer(_WHOLE, step, partial(_whole, step, step.end))
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
            self._offer(_EMPTY, step, partial(_elements, step, array))
            return
        firsts = text[array.starts[:_MOST_ELEMENTS]]
        if not self._holds_results(array, firsts):
            if array.close is not None:
                self._offer(_WHOLE, step, partial(_whole, step, array.close + 1))
            return
        if array.total != 1:
            self._offer(_RESULTS, step, partial(_elements, step, array))
            return
        self._offer(_WHOLE if step.last_resort else _SINGLE, step, partial(_elements, step, array))
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

    def _holds_results(self, array: Container, firsts: Bytes) -> bool:
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
        first = [int(self._index.text[member.value]) if member.value < member.end else 0 for member in found]
        holds = [member for member, byte in zip(found, first, strict=True) if byte in _OPENING]
        nulls = [member for member, byte in zip(found, first, strict=True) if byte == _NULL]
        open_member = unfinished_member(self._index, node)
        if open_member is not None:
            found, holds = [*found, open_member], [*holds, open_member]
        keys = {member.key for member in found}
        is_result = any(key in keys for key in LABEL_KEYS) or (step.in_list and any(key in keys for key in NAME_KEYS))
        wrappers = [member for member in (*holds, *nulls) if member.key in WRAPPERS]
        if wrappers:
            wrappers.sort(key=lambda member: (member.key in _LAST_RESORT, member.start))
            self._follow(step, node, wrappers)
        elif is_result:
            return
        elif len(holds) == 1:
            self._follow(step, node, holds)
        elif len(holds) > 1 and len(holds) == len(found):
            self._offer(_RESULTS, step, partial(_members, self._index, step, node))
            return
        if holds and len(found) > 1:
            self._offer(_MEMBERS, step, partial(_members, self._index, step, node))

    def _follow(self, step: _Step, node: Container, ways: list[Member]) -> None:
        """Go on with these members, the first first."""
        self._ahead.extend(
            _Step(
                way.value,
                way.end if way.end >= 0 else None,
                node.level,
                member_path(step.path, b'"%b"' % way.key),
                b'"%b"' % way.key,
                last_resort=step.last_resort or way.key in _LAST_RESORT,
            )
            for way in reversed(ways)
        )

    def _offer(self, worth: int, step: _Step, listing: Callable[[], FoundResults]) -> None:
        """Take a listing, made only if it is the best in the end."""
        rank = (worth, step.level)
        if self._best is None or rank > self._best[0]:
            self._best = (rank, listing)


def _whole(step: _Step, end: int) -> FoundResults:
    start = np.array([step.start])
    place = np.zeros(1, np.int64)
    return FoundResults(step.path, step.level, start, np.array([end]), start, place, 1, (), whole=step.key)


def _elements(step: _Step, array: Container) -> FoundResults:
    place = np.arange(len(array.starts))
    starts, faults = array.starts, _faults(array)
    return FoundResults(step.path, array.level, starts, array.ends, starts, place, array.total, faults)


def _members(index: Index, step: _Step, node: Container) -> FoundResults:
    start, key_end, value, end = all_members(index, node)
    place = np.arange(len(start))
    return FoundResults(step.path, node.level, start, end, value, place, node.total, _faults(node), key_ends=key_end)


_NONE: Ints = np.empty(0, np.int64)


def _faults(container: Container) -> tuple[str, ...]:
    shown = len(container.starts)
    too_many = shown == MAX_RESULTS and container.total != MAX_RESULTS
    return (("malformed",) if not container.well_closed else ()) + (("too_many",) if too_many else ())


def find_results(index: Index, start: int, *, whole: bool) -> tuple[FoundResults | None, int | None]:
    """The results of the document whose first value begins at `start`, and where that document ends.

    There is no listing when the document holds no list of any kind, and no end when it does not show. `whole` says that
    nothing follows the index: only then is a document that is one scalar known to be complete.
    """
    root: Container | None = None
    end: int | None = None
    if int(index.text[start]) in _OPENING:
        root = read_container(index, start, 1)
        end = None if root.close is None else root.close + 1
    elif whole:
        end = int(index.trim_blanks(np.array([index.end]))[0])
    return _Search(index, root).run(_Step(start, end, 0, "$", b'"$"')), end
