"""Searching a text that comes in blocks: every match once, as if the text were one piece.

What is searched is what has not been decided yet: blocks end where the text goes on, so whatever might still become a
match (or a longer one) is kept until the next. Usually that is a few bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from spillcache.search.pattern import Pattern

#: How much is kept for one undecided match, of a heavy pattern less. A longer one is told as far as it was seen.
#: Keeping only half a chunk would lose matches that people look for: one series of a batch of queries is longer.
MOST_HELD, MOST_HELD_OF_HEAVY = 1 << 20, 64 << 10


class Found(NamedTuple):
    """A match: bytes `start` to `end` of the text. `open_ended`: it may go on, further than was looked at at once.

    `line` is the number, from 1, of the line it starts in; 0 where lines are not counted.
    """

    start: int
    end: int
    open_ended: bool
    line: int

    def shifted(self, by: int) -> Found:
        """The same match in a text that this one is a part of, `by` bytes further on."""
        return self._replace(start=self.start + by, end=self.end + by)


class Sweep:
    """One search. `feed` it the text's blocks in order.

    `overran` says that a possible match was given up, because more than `MOST_HELD` bytes would have to be kept for it;
    `empty` that the pattern matched between characters, which counts for nothing.
    """

    def __init__(self, pattern: Pattern, *, lines: bool = False) -> None:
        self._pattern = pattern
        self._most_held = MOST_HELD_OF_HEAVY if pattern.heavy else MOST_HELD
        self._held: list[bytes | memoryview] = []
        self._length = 0  # of what is held
        self._base = 0  # where that begins in the whole
        self._at = 0  # how much of it is decided, and there as context only
        self._due = 0  # how long it must be before it is worth looking again
        self._lines = 1 if lines else 0
        self._lines_to = 0
        self.overran = False
        self.empty = False

    def feed(self, block: bytes | memoryview, *, last: bool) -> Iterator[Found]:
        """Take the next block, and yield the matches that are now decided."""
        self._held.append(block)
        self._length += len(block)
        if last or self._length >= self._due:
            text = b"".join(self._held)
            self._held.clear()
            yield from self._decided(text, last=last)

    def stop_counting_lines(self) -> None:
        """Lines of later matches are of no interest."""
        self._lines = 0

    def _decided(self, held: bytes, *, last: bool) -> Iterator[Found]:
        # Half a code point at the end matches nothing, and would be taken for what comes after a match.
        text = held if last or self._pattern.binary else held[: _whole_code_points(held)]
        undecided = len(text) if last else self._pattern.undecided(text, self._at)
        given_up = undecided
        if len(text) - undecided > self._most_held:
            given_up, self.overran = len(text) - self._most_held // 2, True
        at = self._at
        for start, end in self._pattern.matches(text, at):
            if start >= given_up and not last:
                break
            if start == end:
                self.empty = True
                continue
            at = end
            yield Found(self._base + start, self._base + end, start >= undecided, self._line(text, start))
        self._keep(held, max(at, given_up))

    def _keep(self, held: bytes, at: int) -> None:
        self._line(held, at)
        context = max(0, at - 1)  # one byte tells the start of a line and the edge of a word
        self._held.append(held[context:])
        self._length = len(held) - context
        self._base += context
        self._at = at - context
        self._due = 2 * self._length  # of what is kept for long, not every block is worth a look

    def _line(self, text: bytes, start: int) -> int:
        if self._lines:
            self._lines += text.count(b"\n", max(0, self._lines_to - self._base), start)
            self._lines_to = self._base + start
        return self._lines


def _whole_code_points(text: bytes) -> int:
    for back in range(1, min(4, len(text)) + 1):
        byte = text[-back]
        if byte & 0xC0 != 0x80:
            needed = 1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(text) if back >= needed else len(text) - back
    return len(text)
