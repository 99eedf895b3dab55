"""Pages: where one ends, what it says of itself, and how it shrinks to what was really delivered."""

from __future__ import annotations

import base64
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from spillcache.cursor import MAX_CHARACTERS, MAX_POSITION, Cursor, WalkKind
from spillcache.cut import MIN_ROOM, cut
from spillcache.edges import floor_edge
from spillcache.errors import ArgumentsInvalid, BudgetTooSmall
from spillcache.frame import Chunk, results_at
from spillcache.manifest import Manifest
from spillcache.receipt import CHARACTERS as RECEIPT_CHARACTERS
from spillcache.scan import Kind
from spillcache.wire import Wire

Status = Literal["COMPLETE", "PARTIAL", "FAILED"]
ChunkKind = Literal["json", "json_part", "ndjson", "csv", "text", "base64", "compact"]
View = Literal["raw", "compact"]

_NO_BYTES = "a page of the compact view does not hold the payload's bytes, so no part of it has a place among them"
_ASK_FOR_LESS = "Ask for the page again with a lower budget: the same cursor begins at the same place."


@dataclass(frozen=True, slots=True)
class Page:
    """One answer of a walk.

    `start` and `end` are byte offsets in the payload, `size` is the payload's. `chunk` is text, or base64 for binary
    data. `results` are the first and last result (numbered from 1) that the page shows, and `results_total` all there
    are. `unread` lists byte ranges that this walk did not serve. `receipt` proves that one chain served every byte,
    `range_receipt` that one served the range of any other walk; either is on a walk's last page only.

    In the compact view `chunk` is not the payload's text but says the same in less; see `compact`. `legend` is how to
    read it, on page 1, and `inside` the series in whose samples a later page begins.
    """

    spill_id: str
    start: int
    end: int
    size: int
    chunk_kind: ChunkKind
    chunk: str
    status: Status
    next_cursor: str | None = None
    receipt: str | None = None
    result_status: Status | None = None
    unread: tuple[tuple[int, int], ...] = ()
    range_receipt: str | None = None
    results: tuple[int, int] | None = None
    results_total: int | None = None
    inventory: Mapping[str, Any] | None = None
    view: View = "raw"
    legend: str | None = None
    inside: Mapping[str, Any] | None = None
    _sign: Callable[[int], str] | None = field(default=None, repr=False, compare=False)

    @property
    def position(self) -> str:
        """`start-end/size`, and which results that is: `14980-22400/343790 result 2/12`."""
        where = f"{self.start}-{self.end}/{self.size}"
        if self.results is None or not self.results_total or not self.results[1]:
            return where
        first, last = max(1, self.results[0]), self.results[1]
        numbers = f"result {first}" if first == last else f"results {first}-{last}"
        return f"{where} {numbers}/{self.results_total}"

    @property
    def data(self) -> bytes:
        """The payload's bytes that this page holds. Raises `ArgumentsInvalid` in the compact view, which holds none."""
        if self.view == "compact":
            raise ArgumentsInvalid(_NO_BYTES)
        return base64.b64decode(self.chunk) if self.chunk_kind == "base64" else self.chunk.encode()

    def as_dict(self) -> dict[str, Any]:
        """The answer as it is sent: what explains first, then the chunk, then what a cut tail would take away."""
        answer: dict[str, Any] = {"position": self.position}
        if self.inventory is not None:
            answer["inventory"] = dict(self.inventory)
        if self.view == "compact":
            answer |= {"view": self.view} | ({"legend": self.legend} if self.legend else {})
            answer |= {"inside": dict(self.inside)} if self.inside else {}
        answer |= {"chunk_kind": self.chunk_kind, "chunk": self.chunk, "status": self.status}
        if self.result_status is not None:
            answer["result_status"] = self.result_status
        if self.unread:
            answer["unread"] = [list(span) for span in self.unread]
        if self.next_cursor is not None:
            answer["next_cursor"] = self.next_cursor
        if self.receipt is not None:
            answer["receipt"] = self.receipt
        if self.range_receipt is not None:
            answer["range_receipt"] = self.range_receipt
        return answer

    def shrink(self, delivered: str) -> Page:
        """The page that was really delivered, when a host cut its chunk to `delivered`.

        `delivered` must be a prefix of `chunk`. It is rounded down to a safe edge and the cursor is signed anew for
        the byte after it, so that nothing undelivered is skipped. Raises `ArgumentsInvalid`.
        """
        if self.view == "compact":
            raise ArgumentsInvalid(_NO_BYTES, next_step=_ASK_FOR_LESS)
        # A host that counts UTF-16 units may have left half of a pair.
        delivered = delivered.rstrip("".join(map(chr, range(0xD800, 0xDC00)))) if delivered else delivered
        if delivered == self.chunk:
            return self
        if not self.chunk.startswith(delivered) or self._sign is None:
            raise ArgumentsInvalid("what was delivered is not the beginning of this page's chunk")
        kept = self._kept(delivered)
        return replace(
            self,
            end=self.start + kept,
            chunk=_text(self.data[:kept], self.chunk_kind),
            chunk_kind="json_part" if self.chunk_kind == "json" else self.chunk_kind,
            status="PARTIAL",
            next_cursor=self._sign(self.start + kept),
            receipt=None,
            result_status=None,
            unread=(),
            range_receipt=None,
            results=None,
        )

    def _kept(self, delivered: str) -> int:
        if self.chunk_kind == "base64":
            return len(delivered) // 4 * 3
        return floor_edge(self.data, len(delivered.encode()))


@functools.lru_cache(maxsize=256)
def reserve(wire: Wire) -> int:
    """Bytes of a page beside its chunk, at the most: a constant, so that cuts do not depend on digits."""
    widest = Page(
        spill_id="",
        start=MAX_POSITION,
        end=MAX_POSITION,
        size=MAX_POSITION,
        chunk_kind="json_part",
        chunk="",
        status="COMPLETE",
        results=(10**10, 10**10 + 1),
        results_total=10**10,
    )
    endings: tuple[Page, ...] = (
        replace(widest, next_cursor="x" * MAX_CHARACTERS),
        replace(widest, receipt="x" * RECEIPT_CHARACTERS),
        replace(widest, result_status="COMPLETE", range_receipt="x" * MAX_CHARACTERS),
        replace(widest, unread=((MAX_POSITION, MAX_POSITION),) * 2, range_receipt="x" * MAX_CHARACTERS),
    )
    return max(wire.size(page.as_dict()) for page in endings)


def room_for_chunk(budget: int, wire: Wire, beside: int = 0) -> int:
    """Bytes that a chunk may take on the wire, all copies together, when `beside` more are spoken for.

    Raises `BudgetTooSmall`, which carries the smallest budget that works.
    """
    room = budget - reserve(wire) - beside
    least = MIN_ROOM * len(wire.copies)
    if room < least:
        raise BudgetTooSmall(f"a page cannot be made within {budget} bytes", minimum=reserve(wire) + beside + least)
    return room


def refuse_ended(state: Cursor) -> None:
    """Tell a walk's `range_receipt` from the cursors of its pages: nothing follows it. Raises `ArgumentsInvalid`."""
    if state.end and state.position >= state.end:
        raise ArgumentsInvalid(
            "this is the range_receipt of a walk that has ended, not a cursor: nothing follows it",
            next_step="Keep it as evidence. To read what that walk left unread, call with only spill_id.",
        )


def make_page(
    window: Chunk,
    window_start: int,
    manifest: Manifest,
    state: Cursor,
    room: int,
    wire: Wire,
    *,
    spill_id: str,
    inventory: Mapping[str, Any] | None,
    sign: Callable[[int], str],
    certify: Callable[[], str],
) -> Page:
    """Cut the page that begins at the cursor's position out of a window of the payload, and say what it is.

    COMPLETE is said only at the end of a walk of the whole payload: its cursor proves that all before was served. A
    part that was begun at the first byte and has no end but the payload's is such a walk too. A walk of one result is
    not, even where that result is all there is: it was asked for by name, and says `result_status`.
    """
    bounded = state.kind in (WalkKind.RESULT, WalkKind.PART)
    scope_end = state.end if bounded else manifest.size
    begin = state.position - window_start
    limit = min(scope_end - window_start, len(window.text))
    end = cut(window, begin, limit, room, wire, manifest.kind)
    position, stop = state.position, window_start + end
    kind = chunk_kind_of(manifest.kind, whole=position == 0 and stop == manifest.size)
    last = stop == scope_end
    unread = _unread(state, manifest.size) if state.kind is WalkKind.PART else ()
    complete = last and not unread and state.kind is not WalkKind.RESULT
    return Page(
        spill_id=spill_id,
        start=position,
        end=stop,
        size=manifest.size,
        chunk_kind=kind,
        chunk=_text(window.text[begin:end], kind),
        status="COMPLETE" if complete else "PARTIAL",
        next_cursor=None if last else sign(stop),
        receipt=certify() if complete else None,
        result_status="COMPLETE" if last and state.kind is WalkKind.RESULT else None,
        unread=unread if last else (),
        range_receipt=sign(stop) if last and not complete else None,
        results=results_at(window, begin, max(begin, end - 1)),
        results_total=manifest.results,
        inventory=inventory,
        _sign=sign,
    )


def _unread(state: Cursor, size: int) -> tuple[tuple[int, int], ...]:
    outside = ((0, state.start), (state.end, size))
    return tuple(span for span in outside if span[0] < span[1])


def chunk_kind_of(kind: Kind, *, whole: bool) -> ChunkKind:
    """The `chunk_kind` of a page; `whole` when the page holds all of the payload."""
    if kind == "json":
        return "json" if whole else "json_part"
    return "base64" if kind == "bytes" else kind


def _text(raw: bytes, kind: ChunkKind) -> str:
    return base64.b64encode(raw).decode() if kind == "base64" else raw.decode()
