"""The envelope: what the origin tool returns instead of a payload that does not fit.

It has the budget of a page. What explains comes before the preview, because hosts cut tails; the preview and the names
give way, in that order, when room is short.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from spillcache.cut import MIN_ROOM, prefix_within
from spillcache.edges import LONGEST_UNIT
from spillcache.errors import BudgetTooSmall, SpillError
from spillcache.inventory import Summary
from spillcache.page import reserve
from spillcache.scan import Kind
from spillcache.shown import shown_text
from spillcache.wire import Wire, most_that_fits

Completeness = Literal["truncated", "failed"]

#: Bytes of payload per token, by kind, as gpt-tokenizer 3's o200k_base counts them: Prometheus matrices 2.2, log lines
#: 3.1-3.4, metrics text 3.7, numbers in CSV 1.8, random bytes as base64 1.1. An estimate for planning, not a promise.
_BYTES_PER_TOKEN: Mapping[Kind, float] = {"json": 2.2, "ndjson": 3.1, "csv": 1.8, "text": 3.2, "bytes": 1.1}


@dataclass(frozen=True, slots=True)
class Envelope:
    """What the agent gets in place of the payload.

    `completeness` is "truncated" when the payload is stored and can be walked, "failed" when nothing was stored: then
    there is a `code` and no `spill_id`. `pages` and `tokens_estimate` are estimates for the whole walk. `context` are
    fields of a face's own, which say what the payload was a part of. The previews are the payload's ends without what
    `shown_text` takes away; of binary data they are base64.
    """

    completeness: Completeness
    hint: str
    size_bytes: int
    kind: Kind
    tool_name: str
    preview: str = ""
    preview_tail: str = ""
    spill_id: str = ""
    pages: int = 0
    tokens_estimate: int = 0
    inventory: Mapping[str, Any] | None = None
    expires_in_s: int = 0
    code: str = ""
    context: Mapping[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """The answer as it is sent. Fields that do not apply are absent."""
        answer: dict[str, Any]
        if self.completeness == "failed":
            answer = {"completeness": "failed", "code": self.code, "hint": self.hint}
            answer |= {"size_bytes": self.size_bytes, "kind": self.kind}
        else:
            following = {"tool": self.tool_name, "arguments": {"spill_id": self.spill_id}}
            answer = {"completeness": "truncated", "spill_id": self.spill_id, "hint": self.hint, "next": following}
            answer |= {"size_bytes": self.size_bytes, "pages": self.pages, "tokens_estimate": self.tokens_estimate}
            answer |= {"kind": self.kind}
            if self.inventory:
                answer["inventory"] = dict(self.inventory)
            answer["expires_in_s"] = self.expires_in_s
        if self.context:
            answer |= self.context
        if self.preview:
            answer["preview"] = self.preview
        if self.preview_tail:
            answer["preview_tail"] = self.preview_tail
        return answer


@dataclass(frozen=True, slots=True)
class Ends:
    """The first and last bytes of a payload, for its preview. `head` goes on past `head_bytes` if the payload does."""

    head: bytes
    tail: bytes
    size: int
    kind: Kind
    head_bytes: int


def ends_of(
    head: bytes | memoryview, tail: bytes | memoryview, size: int, kind: Kind, head_bytes: int, tail_bytes: int
) -> Ends:
    """Take a payload's ends out of its first and its last bytes (all of it, or enough of it). They never overlap."""
    most = max(0, min(tail_bytes, size - head_bytes))
    return Ends(bytes(head[: head_bytes + LONGEST_UNIT]), bytes(tail[len(tail) - most :]), size, kind, head_bytes)


def truncated(
    ends: Ends,
    summary: Summary,
    *,
    spill_id: str,
    pages: int,
    expires_in_s: int,
    tool_name: str,
    budget: int,
    wire: Wire,
) -> Envelope:
    """The envelope of a stored payload, which takes about so many pages to read. Raises `BudgetTooSmall`."""
    envelope = Envelope(
        completeness="truncated",
        hint=(
            f"TRUNCATED: the preview is not the data. Call {tool_name} with only spill_id, then pass next_cursor back "
            f"unchanged as cursor until it is absent (about {pages} page{'s' * (pages != 1)}"
            f"{'; or one result by name' * bool(summary.names)}). "
            'If you stop early, report PARTIAL, never "no data".'
        ),
        size_bytes=ends.size,
        kind=ends.kind,
        tool_name=tool_name,
        spill_id=spill_id,
        pages=pages,
        tokens_estimate=round(ends.size / _BYTES_PER_TOKEN[ends.kind]),
        expires_in_s=expires_in_s,
    )
    room = budget - wire.size(envelope.as_dict())
    envelope = replace(envelope, inventory=fit_summary(summary, room // 3, wire))
    return with_preview(envelope, ends, budget, wire)


def failed(ends: Ends, error: SpillError, *, tool_name: str, budget: int, wire: Wire) -> Envelope:
    """The envelope of a payload that was not stored: no handle, and the largest preview that fits."""
    envelope = Envelope(
        completeness="failed",
        hint=(
            f"FAILED: the result ({ends.size} bytes) did not fit and could not be stored; what follows are only its "
            f"first and last bytes, not the data. {error.next_step} Narrow the query so that the result fits. "
            'Report FAILED retrieval, never "no data".'
        ),
        size_bytes=ends.size,
        kind=ends.kind,
        tool_name=tool_name,
        code=error.code,
    )
    return with_preview(envelope, ends, budget, wire)


def fit_summary(summary: Summary, room: int, wire: Wire) -> Mapping[str, Any]:
    """As many names of the summary as fit into `room` bytes on the wire; empty when not even the counts do."""
    names = most_that_fits(len(summary.names), lambda names: _summary_size(summary, names, wire) <= room)
    return summary.as_dict(names) if names or _summary_size(summary, 0, wire) <= room else {}


def inventory_cost(inventory: Mapping[str, Any], wire: Wire) -> int:
    """Bytes that a field `inventory` adds to an answer."""
    return wire.added({"inventory": inventory})


def estimate_pages(cost: int, budget: int, wire: Wire) -> int:
    """About how many pages a text takes whose cost on the wire is `cost` bytes."""
    room = max(budget - reserve(wire), MIN_ROOM * len(wire.copies))
    return max(1, -(-cost // round(room * _FILL)))


#: How full pages are on average: they end at an edge in the last eighth of their room.
_FILL = 0.93


def _summary_size(summary: Summary, names: int, wire: Wire) -> int:
    return inventory_cost(summary.as_dict(names), wire)


def with_preview(envelope: Envelope, ends: Ends, budget: int, wire: Wire) -> Envelope:
    """The envelope with as much of the payload's ends as fits; what it showed before gives way.

    Raises `BudgetTooSmall` when it does not fit without any.
    """
    envelope = replace(envelope, preview="", preview_tail="")
    fields = len('"preview":"","preview_tail":"",') + 8  # the quotes may be escaped once more
    least = wire.size(envelope.as_dict())
    room = budget - least - fields * len(wire.copies)
    if room < 0:
        if budget < least:
            raise BudgetTooSmall(f"an envelope cannot be made within {budget} bytes", minimum=least)
        return envelope
    tail = _tail(ends, room // 5, wire)
    head = _head(ends, room - wire.cost(tail), wire)
    return replace(envelope, preview=head, preview_tail=tail)


def _head(ends: Ends, room: int, wire: Wire) -> str:
    if ends.kind == "bytes":
        return base64.b64encode(ends.head[: min(ends.head_bytes, _base64_bytes(room, wire))]).decode()
    return shown_text(ends.head[: prefix_within(ends.head, room, wire, ends.head_bytes)].decode())


def _tail(ends: Ends, room: int, wire: Wire) -> str:
    if ends.kind == "bytes":
        most = _base64_bytes(room, wire)
        return base64.b64encode(ends.tail[max(0, len(ends.tail) - most) :]).decode()
    # The first bytes may belong to a code point that began before.
    text = shown_text(ends.tail.decode("utf-8", "ignore"))
    kept = most_that_fits(len(text), lambda length: wire.cost(text[len(text) - length :]) <= room)
    return text[len(text) - kept :]


def _base64_bytes(room: int, wire: Wire) -> int:
    return max(0, room) // len(wire.copies) // 4 * 3
