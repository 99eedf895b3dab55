"""Claims: what an agent can prove it was served, from the cursors and receipts that it holds.

A cursor is signed only by whoever served the bytes before it to the holder of the cursor before that, so each proves a
range: a walk's cursor at p proves [0, p), one of a result or of a part [start, p), a `range_receipt` all of its walk, a
receipt the whole payload. Cursors of lists (inventory, series) prove nothing of the data.

What is proven is that bytes were *served* to somebody of this tenant, not that anybody *read* them. Ranges of several
walks are merged; nothing says that one reader made them all.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from spillcache.cursor import MAX_CHARACTERS, Cursor, WalkKind, decode_cursor
from spillcache.errors import CursorError, CursorKeyUnknown, CursorMalformed, CursorRejected, ReceiptRejected
from spillcache.ids import parse_id, trim
from spillcache.keyring import Keyring, PublicKeys
from spillcache.receipt import verify_receipt
from spillcache.shown import shown_name

if TYPE_CHECKING:
    from spillcache.listing import Entry
    from spillcache.page import Status, View

Span = tuple[int, int]

_LISTS = (WalkKind.INVENTORY, WalkKind.SERIES)
_NOTE = "Proves what was served, not what was read."
_COMPACT = " Some of it was served in the compact view only: its values, not its bytes as they are stored."
_SIZE_GIVEN = " No receipt here confirms the size."
_SIZE_UNKNOWN = " The size is not known, so whatever lies beyond the last proven byte is unproven too."
_EITHER = "cursor or range_receipt"  # before the signature holds, nobody knows which
_UNPROVEN = "Treat the retrieval as unproven: run the original tool again, and keep each page's cursor or receipt."


@dataclass(frozen=True, slots=True)
class Proof:
    """A token that holds: bytes `start` to `end` were served in walk `walk`.

    `number` counts the tokens as they were given, from 1, cursors before receipts. `stamp` is when the walk had last
    renewed the spill's lease, in Unix seconds.
    """

    number: int
    token: Literal["cursor", "range_receipt", "receipt"]
    view: View
    start: int
    end: int
    walk: int
    stamp: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """A token that proves nothing, and why: `code` and `message` as an answer would have them."""

    number: int
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class ServedResult:
    """A named result at bytes `start` to `end`, and which of them are unproven: none when it was served whole."""

    index: int
    name: str
    start: int
    end: int
    unserved: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Claims:
    """What the tokens prove together. Ranges are merged and in order, ends exclusive.

    `served` is what was served in either view, `compact` the part of it that was served in the compact view only.
    `unserved` is the rest of the payload; of a payload whose `size` is None, what is missing before the last proven
    byte. `status` is COMPLETE when every byte was served, FAILED when nothing is proven or the tokens contradict the
    size: then `code` and `message` say which.
    """

    spill_id: str
    size: int | None
    size_proven: bool
    served: tuple[Span, ...]
    compact: tuple[Span, ...]
    unserved: tuple[Span, ...]
    results: tuple[ServedResult, ...]
    proofs: tuple[Proof, ...]
    rejected: tuple[Rejected, ...]
    status: Status
    code: Literal["nothing_proven", "size_contradicted"] | None = None
    message: str = ""

    @property
    def note(self) -> str:
        """How far to trust this, in words."""
        size = "" if self.size_proven else _SIZE_UNKNOWN if self.size is None else _SIZE_GIVEN
        return _NOTE + (_COMPACT if self.compact else "") + size

    def as_dict(self) -> dict[str, Any]:
        """The answer for programs; what does not apply is absent."""
        answer: dict[str, Any] = {"note": self.note, "spill_id": self.spill_id}
        if self.size is not None:
            answer |= {"size_bytes": self.size, "size_proven": self.size_proven}
        answer["served"] = list(map(list, self.served))
        if self.compact:
            answer["served_compact"] = list(map(list, self.compact))
        if self.unserved or self.size is not None:  # an empty list would say that nothing is missing
            answer["unserved"] = list(map(list, self.unserved))
        if self.results:
            whole, lacking = (_listed(self.results, whole=whole) for whole in (True, False))
            answer |= {"results_served": whole, "results_unserved": lacking}
        if self.rejected:
            rejected = [{"number": bad.number, "code": bad.code, "message": bad.message} for bad in self.rejected]
            answer["rejected"] = rejected
        answer["status"] = self.status
        if self.code is not None:
            answer |= {"code": self.code, "message": self.message, "next_step": _UNPROVEN}
        return answer


def claims(
    spill_id: str,
    size: int | None,
    *,
    cursors: Iterable[str] = (),
    receipts: Iterable[str] = (),
    keyring: Keyring | PublicKeys,
    tenant: str = "default",
    results: Sequence[Entry] = (),
) -> Claims:
    """What cursors and receipts prove of a spill, without asking Redis.

    `size` must come from `stat`, never from whoever is being checked; None takes it from a receipt, or leaves it open.
    `results` are entries of the inventory, to be told by name. A `range_receipt` counts in either list. Tokens that do
    not hold are in `rejected`; `PublicKeys` can check Ed25519 receipts only. Raises `SpillIdMalformed`.
    """
    spill_id = parse_id(spill_id)
    tokens: list[object] = [*cursors, *receipts]
    proofs, rejected, sizes = [], [], set()
    least = 0  # how large the payload is at least, by what the tokens say of it
    for number, token in enumerate(tokens, 1):
        try:
            if isinstance(token, str) and len(trim(token)) > MAX_CHARACTERS:
                receipt = verify_receipt(token, keyring, tenant=tenant)
                if receipt.spill_id != spill_id:
                    raise ReceiptRejected("the receipt was made for another spill")
                sizes.add(receipt.size)
                proofs.append(Proof(number, "receipt", "raw", 0, receipt.size, receipt.walk, receipt.time))
            else:
                cursor = _cursor(token, keyring, spill_id, tenant)
                least = max(least, _least_size(cursor))
                proofs += _proof(number, cursor)
        except (CursorError, ReceiptRejected) as error:
            rejected.append(Rejected(number, error.code, error.message))
    proven = next(iter(sizes)) if len(sizes) == 1 else None
    known = proven if size is None else size
    contradicted = len(sizes) > 1 or (known is not None and (least > known or sizes - {known}))
    return _settled(
        spill_id,
        known,
        proofs,
        rejected,
        results,
        size_proven=bool(sizes) and not contradicted,
        contradicted=bool(contradicted),
    )


def _settled(
    spill_id: str,
    size: int | None,
    proofs: list[Proof],
    rejected: list[Rejected],
    results: Sequence[Entry],
    *,
    size_proven: bool,
    contradicted: bool,
) -> Claims:
    counted = [] if contradicted else proofs
    served = merged((proof.start, proof.end) for proof in counted)
    raw = merged((proof.start, proof.end) for proof in counted if proof.view == "raw")
    compact = merged(span for begin, end in served for span in gaps(raw, begin, end))
    unserved = gaps(served, 0, size if size is not None else max((end for _, end in served), default=0))
    status: Status = "COMPLETE" if size is not None and not unserved else "PARTIAL"
    code: Literal["nothing_proven", "size_contradicted"] | None = None
    message = ""
    if contradicted:
        status, code = "FAILED", "size_contradicted"
        message = "the size contradicts what the signed tokens say of the payload; nothing is counted as served"
    elif not counted:
        status, code = "FAILED", "nothing_proven"
        message = "none of the tokens proves that any byte was served"
    named = tuple(
        ServedResult(entry.index, shown_name(entry.name), entry.start, entry.end, gaps(served, entry.start, entry.end))
        for entry in results
    )
    return Claims(
        spill_id=spill_id,
        size=size,
        size_proven=size_proven,
        served=served,
        compact=compact,
        unserved=unserved,
        results=named,
        proofs=tuple(proofs),
        rejected=tuple(rejected),
        status=status,
        code=code,
        message=message,
    )


def _cursor(token: object, keyring: Keyring | PublicKeys, spill_id: str, tenant: str) -> Cursor:
    if not isinstance(token, str):
        raise CursorMalformed("this is neither a cursor nor a receipt")
    try:
        return decode_cursor(token, keyring, spill_id, tenant)
    except CursorKeyUnknown:
        if isinstance(keyring, PublicKeys):
            raise CursorKeyUnknown(f"a public key cannot check this kind ({_EITHER}): a secret signs it") from None
        raise CursorKeyUnknown(f"this {_EITHER} was signed with a key that is not held here") from None
    except CursorRejected:
        raise CursorRejected(f"this {_EITHER} was altered, or was made for another spill or tenant") from None


def _proof(number: int, cursor: Cursor) -> Iterator[Proof]:
    """What a cursor proves; nothing when it continues a list, or stands where its walk begins."""
    if cursor.kind in _LISTS or cursor.position <= cursor.start:
        return
    token: Literal["cursor", "range_receipt"] = "range_receipt" if _has_ended(cursor) else "cursor"
    view: View = "compact" if cursor.kind is WalkKind.COMPACT else "raw"
    yield Proof(number, token, view, cursor.start, cursor.position, cursor.walk, cursor.stamp)


def _has_ended(cursor: Cursor) -> bool:
    return cursor.kind is not WalkKind.WALK and cursor.position == cursor.end


def _least_size(cursor: Cursor) -> int:
    """A walk of the whole ends with a receipt, so where one has a cursor, at least one byte follows."""
    if cursor.kind in _LISTS:
        return 0
    return cursor.position + 1 if cursor.kind is WalkKind.WALK and cursor.position else cursor.end


def merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The same bytes as few ranges in order, none of them empty."""
    kept: list[Span] = []
    for begin, end in sorted(span for span in spans if span[0] < span[1]):
        if kept and begin <= kept[-1][1]:
            kept[-1] = (kept[-1][0], max(end, kept[-1][1]))
        else:
            kept.append((begin, end))
    return tuple(kept)


def gaps(served: tuple[Span, ...], begin: int, end: int) -> tuple[Span, ...]:
    """What of `begin` to `end` is in none of the ranges, which are merged."""
    first = bisect_left(served, begin, key=lambda span: span[1])
    missing, at = [], begin
    for start, stop in served[first:]:
        if start >= end:
            break
        if at < start:
            missing.append((at, start))
        at = max(at, stop)
    return (*missing, (at, end)) if at < end else tuple(missing)


def _listed(results: tuple[ServedResult, ...], *, whole: bool) -> list[dict[str, Any]]:
    chosen = (result for result in results if (not result.unserved) == whole)
    return [
        {"index": result.index, "name": result.name} | ({} if whole else {"unserved": list(map(list, result.unserved))})
        for result in chosen
    ]
