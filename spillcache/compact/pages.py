"""A page of the compact view and what it says of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from spillcache.compact.filling import has_series, series_around, write_compact
from spillcache.cursor import Cursor
from spillcache.errors import ArgumentsInvalid, BudgetTooSmall
from spillcache.frame import Chunk, results_at
from spillcache.manifest import Manifest
from spillcache.page import Page
from spillcache.series import SeriesTable
from spillcache.series.labels import shown_labels
from spillcache.wire import Wire

_READ_RAW = "Read it without view, page by page: that shows everything."

#: Room in which something always fits: the longest sample, as far as one is written in short at all.
_ENOUGH = 1024

#: How a page is read; all of its strings are ours.
LEGEND = (
    'The stored JSON, with samples written short and nothing left out: <t+s: a b*3; u: c> is [[t,"a"],[t+s,"b"],'
    '[t+2s,"b"],[t+3s,"b"],[u,"c"]]; <t v> is [t,"v"], = the time right before; <t+s*n> is n times from t; {k=v} is '
    '{"k":"v"}.'
)


def refuse_without_series(table: SeriesTable | None, start: int, end: int) -> None:
    """Raise `ArgumentsInvalid` where the compact view of a range would be nothing but the payload itself."""
    if table is None:
        raise ArgumentsInvalid("this spill was stored without a table of series", next_step=_READ_RAW)
    if not has_series(table, start, end):
        known = " in what was looked at" if table.partial else ""
        raise ArgumentsInvalid(f"no time series are recognised here{known}, so nothing is compact", next_step=_READ_RAW)
    if end > table.known_json:
        raise ArgumentsInvalid(
            "this is not known to be well-formed JSON to its end, so nothing of it is written in short",
            next_step=_READ_RAW,
        )


def least_budget(least: int, wire: Wire) -> int:
    """The budget that makes a page of this view possible, where one of `least` bytes makes a raw page possible."""
    return least + wire.added({"view": "compact", "legend": LEGEND}) + _ENOUGH * len(wire.copies)


def make_compact_page(
    text: bytes,
    chunk: Chunk,
    base: int,
    manifest: Manifest,
    table: SeriesTable,
    state: Cursor,
    room: int,
    wire: Wire,
    *,
    spill_id: str,
    inventory: Mapping[str, Any] | None,
    budget: int,
    sign: Callable[[int], str],
) -> Page:
    """The page that begins at the cursor's position, out of `text`, which holds the payload from `base` on.

    `chunk` is the same as far as one segment goes. COMPLETE is said at the end of a walk over the whole payload; there
    is no receipt, because one vouches for bytes; the `range_receipt` names the view. Raises `BudgetTooSmall` and
    `ArgumentsInvalid`.
    """
    scope = (state.start, state.end)
    legend = LEGEND if state.position == state.start else None
    inside = _inside(table, state.position, scope)
    left = room - wire.added({"view": "compact", "legend": legend} if legend else {"view": "compact"})
    left -= wire.added({"inside": inside}) if inside else 0
    written = write_compact(text, base, table, state.position, scope, left, wire)
    if written.end == state.position < state.end:
        least = budget - left + _ENOUGH * len(wire.copies)
        raise BudgetTooSmall(f"a page of the compact view cannot be made within {budget} bytes", minimum=least)
    last, whole = written.end == state.end, scope == (0, manifest.size)
    shown = min(max(state.position, written.end - 1) - base, len(chunk.text))
    return Page(
        spill_id=spill_id,
        start=state.position,
        end=written.end,
        size=manifest.size,
        chunk_kind="compact",
        chunk=written.text,
        status="COMPLETE" if last and whole else "PARTIAL",
        next_cursor=None if last else sign(written.end),
        result_status="COMPLETE" if last and not whole else None,
        range_receipt=sign(written.end) if last else None,
        results=results_at(chunk, state.position - base, shown),
        results_total=manifest.results,
        inventory=inventory,
        view="compact",
        legend=legend,
        inside=inside,
    )


def _inside(table: SeriesTable, position: int, scope: tuple[int, int]) -> Mapping[str, Any] | None:
    found = series_around(table, position, scope)
    if found is None:
        return None
    number, one = found
    return {"series": number, **shown_labels(one.labels)}
