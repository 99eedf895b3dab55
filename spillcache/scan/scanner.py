"""The scan of a payload, whole or as it comes in."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spillcache.scan.bitmaps import Bytes
from spillcache.scan.block import BLOCK, BlockPass
from spillcache.scan.edges import LOOKAHEAD
from spillcache.scan.index import Index
from spillcache.scan.inventory import Ending, take_inventory
from spillcache.scan.kinds import kind_of_head
from spillcache.scan.model import STRETCH, Inventory, Kind, Scan, SlabTable
from spillcache.scan.slabs import SlabBuilder
from spillcache.scan.structure import Rows
from spillcache.scan.table import NO_RESULTS
from spillcache.scan.utf8 import Utf8Check

_BLANK = 0x20
_NOTHING = Inventory(NO_RESULTS, None, "$", (), True, 0)


def scan(payload: bytes | memoryview, *, window: int = 128 << 20) -> Scan:
    """Scan a payload that is in memory.

    Slabs cover all of it; the inventory is taken from the first `window` bytes, rounded down to whole stretches of 512,
    and lists only results whose end lies there. Beside the payload this needs about 0.2 × the window and a few MB.

    Of kind "bytes" the slab table is empty: pages of binary data are cut by arithmetic. An empty payload is text.
    """
    text = np.frombuffer(payload, np.uint8)
    scanning = _Scanning(window)
    slabs: list[SlabTable] = []
    for offset in range(0, len(text), BLOCK):
        whole = offset + BLOCK >= len(text)
        scanning.read(text[offset : offset + BLOCK + LOOKAHEAD], offset, whole=whole)
        slabs.append(scanning.settle(text, whole=whole))
    kind, inventory = scanning.finish()
    return Scan(len(text), kind, SlabTable.empty() if kind == "bytes" else SlabTable.concatenate(slabs), inventory)


class _Scanning:
    """The state of a scan: blocks go in, in order; slabs come out once they are settled."""

    def __init__(self, window: int) -> None:
        self._window = max(window // STRETCH, 1) * STRETCH
        self._kind: Kind | None = None
        self._pass: BlockPass | None = None
        self._utf8 = Utf8Check()
        self._slabs = SlabBuilder()
        self._rows: list[Rows] = []
        self._inventory: Inventory | None = None
        self._size = 0

    @property
    def inventory(self) -> Inventory | None:
        """What the window showed, once it was read."""
        return self._inventory

    @property
    def structured(self) -> bool:
        """Whether what was read is JSON, or lines of it."""
        return self._pass is not None and self._pass.structure is not None

    @property
    def settled(self) -> bool:
        """Whether the window was read, so that its bytes are no longer needed."""
        return self._inventory is not None

    def read(self, text: Bytes, offset: int, *, whole: bool) -> None:
        """Read the next block: BLOCK bytes and LOOKAHEAD more, or what there is; `whole` says that it is the last."""
        size = min(BLOCK, len(text))
        self._size = offset + size
        if not self._utf8.feed(text[:size], last=whole):
            return
        if self._pass is None:
            self._kind = kind_of_head(text.tobytes(), whole=whole)
            self._pass = BlockPass(self._kind, -(-size // STRETCH) * STRETCH if whole else BLOCK)
        cuts, rows = self._pass.run(_padded(text, size), offset, size, last=whole)
        self._slabs.add(cuts)
        if rows is not None and not self.settled:
            self._rows.append(rows)

    def settle(self, text: Bytes, *, whole: bool) -> SlabTable:
        """The slabs that will not change any more; `text` begins with the window as long as that is not settled."""
        if not self._utf8.valid:
            self._inventory = _NOTHING
            return SlabTable.empty()
        if not self.settled and (whole or not self.structured or self._size >= self._window):
            self._settle_window(text, whole=whole)
        return self._slabs.take() if self.settled else SlabTable.empty()

    def _settle_window(self, text: Bytes, *, whole: bool) -> None:
        end = min(self._window, self._size)
        structure = self._pass.structure if self._pass is not None else None
        if structure is None or self._kind is None or self._pass is None:
            self._inventory = _NOTHING
            return
        ending = Ending(
            whole=whole and self._size <= self._window,
            closed=not structure.depth and not structure.in_string,
            broken=structure.broken_at is not None and structure.broken_at < end,
            deepest=structure.deepest,
            strict=structure.strict,
        )
        index = Index(text[:end], self._rows, end, broken=ending.broken, plain=self._pass.plain)
        self._inventory, starts, level = take_inventory(index, self._kind, ending)
        self._slabs.prefer(starts, level, text, complete=whole)
        self._rows = []

    def finish(self) -> tuple[Kind, Inventory]:
        """Kind and inventory, once everything was read and settled."""
        if not self._utf8.valid:
            return "bytes", _NOTHING
        return self._kind or "text", self._inventory or _NOTHING


def _padded(text: Bytes, size: int) -> Bytes:
    """A block in whole stretches with LOOKAHEAD bytes more; blanks stand for what does not exist."""
    wanted = -(-size // STRETCH) * STRETCH + LOOKAHEAD
    if len(text) == wanted:
        return text
    padded = np.full(wanted, _BLANK, np.uint8)
    padded[: len(text)] = text
    return padded


class Scanner:
    """A scan of a payload that comes in blocks of any size, in bounded memory.

    Gives the slabs and the inventory that `scan` gives with the same `window`. Slabs of JSON's window come out when it
    is full, since cuts prefer the beginnings of named results; others as their stretches are read. Up to `window` bytes
    of the payload are held; `on_window` is given them once, if they are JSON, and whether they are all of it. A payload
    that turns out late not to be UTF-8 is of kind "bytes" all the same: slabs that were handed out before mean nothing
    then.
    """

    def __init__(self, *, window: int = 8 << 20, on_window: Callable[[bytes, bool], None] | None = None) -> None:
        self._scanning = _Scanning(window)
        self._window, self._on_window = window, on_window
        self._held = bytearray()  # the window; once that is settled, what was not read yet
        self._base = 0
        self._read_to = 0

    @property
    def inventory(self) -> Inventory | None:
        """What the window showed; None until the first slabs are out."""
        return self._scanning.inventory

    @property
    def settled(self) -> int:
        """Up to which byte the slabs are out."""
        return self._read_to if self._scanning.settled else 0

    def feed(self, block: bytes | memoryview) -> SlabTable:
        """Take the next bytes; return the slabs that are now settled, with absolute offsets."""
        self._held += block
        slabs: list[SlabTable] = []
        while self._unread >= BLOCK + LOOKAHEAD:
            slabs.append(self._read(whole=False))
        return SlabTable.concatenate(slabs)

    def finish(self) -> tuple[SlabTable, Kind, Inventory]:
        """Read what is left; return the last slabs (the last of which ends with the payload), kind and inventory."""
        slabs: list[SlabTable] = []
        while self._unread:
            slabs.append(self._read(whole=self._unread <= BLOCK))
        return SlabTable.concatenate(slabs), *self._scanning.finish()

    @property
    def _unread(self) -> int:
        return self._base + len(self._held) - self._read_to

    def _read(self, *, whole: bool) -> SlabTable:
        start = self._read_to - self._base
        text = np.frombuffer(bytes(self._held[start : start + BLOCK + LOOKAHEAD]), np.uint8)
        self._scanning.read(text, self._read_to, whole=whole)
        self._read_to += min(BLOCK, len(text))
        was_settled = self._scanning.settled
        slabs = self._scanning.settle(np.frombuffer(self._held, np.uint8), whole=whole)
        if self._scanning.settled:
            if self._on_window is not None and self._scanning.structured and not was_settled:
                self._on_window(bytes(self._held[: self._window]), whole and len(self._held) <= self._window)
            del self._held[: self._read_to - self._base]
            self._base = self._read_to
        return slabs
