"""Cutting a stream of bytes into lines, of any length up to a cap. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

HEAD_BYTES: Final = 4_096
_TAIL_BYTES: Final = 256


@dataclass(frozen=True, slots=True)
class Overlong:
    """A line over the cap: its ends, and its size in bytes. The rest was let go as it came."""

    head: bytes
    tail: bytes
    size: int


class LineBuffer:
    """Cuts a stream into lines. Holds one unfinished line, of at most `cap` bytes."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._parts: list[bytes] = []
        self._size = 0
        self._head: bytes | None = None
        self._tail = b""

    def feed(self, data: bytes) -> Iterator[bytes | Overlong]:
        """Take bytes as they come; the lines that they end."""
        *ended, rest = data.split(b"\n")
        for piece in ended:
            self._take(piece)
            yield self._finish()
        self._take(rest)

    def _take(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._head is None:
            self._parts.append(piece)
            if self._size <= self._cap:
                return
            whole = b"".join(self._parts)
            self._head, piece = whole[:HEAD_BYTES], whole
            self._parts.clear()
        self._tail = (self._tail + piece)[-_TAIL_BYTES:]

    def _finish(self) -> bytes | Overlong:
        line: bytes | Overlong
        line = b"".join(self._parts) if self._head is None else Overlong(self._head, self._tail, self._size)
        self._parts, self._size, self._head, self._tail = [], 0, None, b""
        return line
