"""Where in a JSON document a byte lies: the open containers around it, followed through the document block by block.

Of each block only what outlives it is looked at one by one: brackets that open and close within it leave no trace. How
many elements came before, and where the separator is after which the current one begins, is told from bitmaps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from spillcache.scan.bitmaps import Ints, Words, escapes, inside, pack, positions
from spillcache.scan.tokens import COMMA, is_close, is_open

#: Bytes that are followed at once. A multiple of 64, as bitmaps are made of words.
BLOCK = 16 << 10
#: Containers that are remembered. What lies deeper is said to lie in the deepest of these.
DEEPEST = 64

_QUOTE, _BACKSLASH = 0x22, 0x5C
_WORD = 64


class Open(NamedTuple):
    """A container that is open: its bracket, its current element's number, and the separator before that element.

    `separator` is the offset of a comma or of the opening bracket itself.
    """

    bracket: int
    number: int
    separator: int


@dataclass(frozen=True, slots=True)
class State:
    """What is open at byte `at`, outermost first. The first entry is what the text began in."""

    at: int
    stack: tuple[Open, ...]
    in_string: bool = False
    escaped: int = 0
    depth: int = 0

    def after(self, text: bytes) -> State:
        """The state after these bytes, which follow. Only the last of a series may not be a multiple of 64 long."""
        state = self
        for start in range(0, len(text), BLOCK):
            state = state._after_block(text[start : start + BLOCK])
        return state

    def _after_block(self, block: bytes) -> State:
        length = len(block)
        text = np.frombuffer(block.ljust(-(-length // _WORD) * _WORD, b"\0"), np.uint8)
        backslash = pack(text == _BACKSLASH)
        quote, escaped = pack(text == _QUOTE), 0
        if self.escaped or backslash.any():
            _, hidden, escaped = escapes(backslash, self.escaped)
            quote &= ~hidden
        strings = inside(quote, int(self.in_string))
        at = positions(_tokens(text, strings))
        stack, depth = self._followed(at, text.take(at).astype(np.int64))
        return State(self.at + length, stack, bool(strings[-1] >> np.uint64(63)), escaped, depth)

    def _followed(self, at: Ints, byte: Ints) -> tuple[tuple[Open, ...], int]:
        if not len(at):
            return self.stack, self.depth
        opens, commas = is_open(byte.astype(np.uint8)), byte == COMMA
        depth = np.cumsum(opens.astype(np.int64) - is_close(byte.astype(np.uint8))) + self.depth
        # A closing bracket too many closes nothing.
        depth -= np.minimum(np.minimum.accumulate(depth), 0)
        lowest, final = min(self.depth, int(depth.min())), int(depth[-1])
        stack = list(self.stack[: lowest + 1])
        if len(stack) == lowest + 1:
            passed = np.flatnonzero(commas & (depth == lowest))
            if len(passed):
                stack[-1] = Open(stack[-1].bracket, stack[-1].number + len(passed), self.at + int(at[passed[-1]]))
        for level in range(lowest + 1, min(final, DEEPEST) + 1):
            here = depth == level
            begin = int(np.flatnonzero(opens & here)[-1])
            passed = np.flatnonzero(commas[begin:] & here[begin:]) + begin
            separator = int(at[passed[-1]]) if len(passed) else int(at[begin])
            stack.append(Open(int(byte[begin]), len(passed), self.at + separator))
        return tuple(stack), final


def _tokens(text: np.ndarray[tuple[int], np.dtype[np.uint8]], strings: Words) -> Words:
    """Brackets and commas outside strings."""
    lower = text | 0x20  # '[' and '{', ']' and '}' differ in this bit only
    return pack((lower == 0x7B) | (lower == 0x7D) | (text == COMMA)) & ~strings
