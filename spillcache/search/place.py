"""What a match matched: the JSON path of the innermost value it lies in, and whether that is a key, a label or a value.

The difference is the point of it. A label says that something was asked about, a value says what it was; who finds a
name and takes it for the measurement has read nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from spillcache.scan.container import LABEL_KEYS, NAME_KEYS
from spillcache.scan.spelling import decoded, member_path
from spillcache.search.structure import Open, State
from spillcache.shown import shown_text

Role = Literal["key", "label", "value", "text"]

#: Bytes after a separator in which a member's key is looked for.
KEY_BYTES = 1024
#: Characters of a path that are shown; of a longer one its ends.
_PATH_HEAD, _PATH_TAIL = 60, 100

_OBJECT = 0x7B
_KEY = re.compile(rb'[ \t\r\n]*("(?:[^"\\]|\\.)*")[ \t\r\n]*:[ \t\r\n]*', re.DOTALL)
#: What may stand before the first byte of a match that says anything.
_BETWEEN = b" \t\r\n,:{}[]"
#: Members that hold what a series is called, and what a data frame is made of.
_SCHEMA = "schema"
_LABELS = frozenset({*(key.decode() for key in LABEL_KEYS), _SCHEMA})
_NAMES = frozenset(key.decode() for key in NAME_KEYS)


@dataclass(frozen=True, slots=True)
class Root:
    """Where following the structure began: byte `start`, at `path`. `named`: what begins there is a named result.

    `keyed`: it is a member of an object, so that it begins with its key.
    """

    start: int
    path: str
    named: bool = False
    keyed: bool = False

    def state(self) -> State:
        """Before its first byte."""
        return State(self.start, (Open(_OBJECT if self.keyed else 0, 0, self.start - 1),))


class Place(NamedTuple):
    """The path of the innermost value, and what was matched there.

    `holder` is, for a label, how many containers are open around the member that holds the labels.
    """

    path: str
    role: Role
    holder: int = 0

    def left(self, before: State, after: State) -> bool:
        """Whether a match that begins in a label goes on behind its labels, where values may be."""
        return before.stack[: self.holder] != after.stack[: self.holder]


def skipped(match: bytes, state: State) -> int:
    """How many bytes of a match only stand between values; nothing is skipped where that is all there is."""
    if state.in_string:
        return 0
    rest = len(match.lstrip(_BETWEEN))
    return len(match) - rest if rest else 0


def key_offsets(state: State) -> list[int]:
    """Where the keys that make up the path are to be found: `KEY_BYTES` from each of these offsets on."""
    return [one.separator + 1 for one in state.stack if one.bracket == _OBJECT]


def place_of(start: int, end: int, only_between: bool, root: Root, state: State, heads: Mapping[int, bytes]) -> Place:
    """The place of a match whose first telling byte is `start`; `state` is that before it, `heads` the keys' bytes.

    `only_between`: it lies between the elements of a container, and so in none of them.
    """
    path, keys = root.path, [""] * len(state.stack)
    inner = None
    for depth, one in enumerate(state.stack[:-1] if only_between else state.stack):
        if one.bracket != _OBJECT:
            path += f"[{one.number}]" if depth else ""
            inner = None
            continue
        inner = _KEY.match(heads[one.separator + 1])
        if inner is None:
            path += '["…"]' if depth else ""
            continue
        keys[depth] = decoded(inner[1])
        path = member_path(path, inner[1]) if depth else path
    role, holder = _role(start, end, root, state.stack[-1], keys, inner, heads)
    return Place(_shown_path(path), "text" if only_between else role, holder)


def _role(
    start: int,
    end: int,
    root: Root,
    innermost: Open,
    keys: list[str],
    inner: re.Match[bytes] | None,
    heads: Mapping[int, bytes],
) -> tuple[Role, int]:
    """What was matched, and the holder of its labels. What cannot be told is a value: nobody then says it is none."""
    within = keys[:-1] if innermost.bracket == _OBJECT else keys
    if _SCHEMA in within:
        holder = within.index(_SCHEMA) + 1
    else:  # labels are members of the labels' object itself: what is nested in one, or in a list, is data
        holder = len(within) if innermost.bracket == _OBJECT and within and within[-1] in _LABELS else 0
    if innermost.bracket != _OBJECT:
        return ("label" if holder else "value"), holder
    begin = innermost.separator + 1
    if inner is None:  # no colon follows: a key that is cut off, or too long to be looked at
        return ("key" if start < begin + KEY_BYTES else "value"), 0
    if start < begin + inner.end(1) and end <= begin + inner.end():
        return "key", 0
    opening = heads[begin][inner.end() : inner.end() + 1]
    opens_labels = keys[-1] in _LABELS and opening == b"{"
    names_result = root.named and len(keys) == 2 and keys[-1] in _NAMES
    if not holder and (opens_labels or names_result):
        holder = len(keys)
    nested = holder == len(keys) - 1 and opening in (b"{", b"[") and keys[holder - 1] != _SCHEMA
    return ("label" if holder and not nested else "value"), holder


def _shown_path(path: str) -> str:
    clean = " ".join(shown_text(path).split())
    if len(clean) <= _PATH_HEAD + _PATH_TAIL:
        return clean
    return f"{clean[:_PATH_HEAD]}…{clean[-_PATH_TAIL:]}"
