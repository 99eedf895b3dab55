"""The inventory as it is read: a table of contents, a page of entries at a time. It is never the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from spillcache.cursor import MAX_CHARACTERS
from spillcache.envelope import estimate_pages
from spillcache.errors import BudgetTooSmall
from spillcache.inventory import Contents, caveats
from spillcache.scan import Inventory, Kind, Result
from spillcache.shown import shown_name
from spillcache.wire import Wire

_NOTE = "A table of contents, not the data: read a result's values before judging it."
_NOTHING_NAMED = "No named results were found, which says nothing of the data: read it page by page."


@dataclass(frozen=True, slots=True)
class Entry:
    """One result: its number (from 1) and name to ask for, where it is, and how much there is of it.

    `series` and `points` are None where they do not apply; 0 is a real zero. `pages` is an estimate.
    """

    index: int
    name: str
    path: str
    start: int
    end: int
    pages: int
    type: str
    series: int | None
    points: int | None
    approximate: bool

    def as_dict(self) -> dict[str, Any]:
        """The entry as it is sent."""
        answer: dict[str, Any] = {"index": self.index, "name": self.name, "path": self.path}
        answer |= {"bytes": self.end - self.start, "pages": self.pages, "type": self.type}
        if self.series is not None:
            answer["series"] = self.series
        if self.points is not None:
            answer["points"] = self.points
        if self.approximate:
            answer["approximate"] = True
        return answer


@dataclass(frozen=True, slots=True)
class Listing:
    """Entries of an inventory, all of them or a page.

    `results` is how many there are, None where that is not known. `partial` says what the scan could not see.
    """

    spill_id: str
    kind: Kind
    size: int
    results: int | None
    path: str
    partial: tuple[str, ...]
    strict: bool
    duplicate_keys: int
    entries: tuple[Entry, ...]
    next_cursor: str | None = None

    @property
    def inventory_status(self) -> str:
        """COMPLETE when no entry follows and the scan saw everything; it speaks of the list, never of the data."""
        return "PARTIAL" if self.next_cursor is not None or self.partial else "COMPLETE"

    @property
    def note(self) -> str:
        """What the list is, and what it does not say."""
        return _NOTHING_NAMED if self.results is None and not self.entries else _NOTE

    def as_dict(self) -> dict[str, Any]:
        """The answer as it is sent. `status` speaks of the data, of which this shows nothing."""
        answer: dict[str, Any] = {"note": self.note}
        answer |= {"kind": self.kind, "size_bytes": self.size}
        if self.results is not None:
            answer["results"] = self.results
        answer["path"] = self.path
        answer |= caveats(self.partial, strict=self.strict, duplicate_keys=self.duplicate_keys)
        answer["entries"] = [entry.as_dict() for entry in self.entries]
        answer |= {"status": "PARTIAL", "inventory_status": self.inventory_status}
        if self.next_cursor is not None:
            answer["next_cursor"] = self.next_cursor
        return answer


class Listed(Protocol):
    """An entry of a list."""

    def as_dict(self) -> dict[str, Any]:
        """The entry as it is sent."""
        ...


_E = TypeVar("_E", bound=Listed)


def list_results(
    contents: Contents,
    *,
    spill_id: str,
    kind: Kind,
    size: int,
    position: int,
    budget: int | None,
    wire: Wire,
    page_budget: int,
    sign: Callable[[int], str],
) -> Listing:
    """The entries from `position` on: all of them, or as many as fit into `budget` bytes.

    `page_budget` is the budget that the `pages` of an entry are counted for. Raises `BudgetTooSmall`.
    """
    inventory = contents.inventory
    costs = _Costs(contents, size, kind, wire, page_budget)
    bare = _bare(inventory, spill_id, kind, size)
    if budget is None:
        return replace(bare, entries=tuple(_entries(inventory.results, position, costs)))
    spent = wire.size(replace(bare, next_cursor="x" * MAX_CHARACTERS).as_dict())
    entries = fill_list(_entries(inventory.results, position, costs), spent, budget, wire, "inventory")
    end = position + len(entries)
    more = end < len(inventory.results)
    return replace(bare, entries=tuple(entries), next_cursor=sign(end) if more else None)


def fill_list(entries: Iterable[_E], spent: int, budget: int, wire: Wire, what: str) -> list[_E]:
    """As many entries as fit into a list whose answer takes `spent` bytes without any. Raises `BudgetTooSmall`.

    At least one must fit, or a reader would go on for ever.
    """
    kept: list[_E] = []
    for entry in entries:
        spent += wire.element(entry.as_dict())  # the empty list already has the brackets
        if spent > budget:
            if kept:
                return kept
            break
        kept.append(entry)
    if spent > budget:
        raise BudgetTooSmall(f"a page of the {what} cannot be made within {budget} bytes", minimum=spent)
    return kept


def _bare(inventory: Inventory, spill_id: str, kind: Kind, size: int) -> Listing:
    return Listing(
        spill_id,
        kind,
        size,
        inventory.results_total,
        shown_name(inventory.path),
        inventory.partial,
        inventory.strict,
        inventory.duplicate_keys,
        (),
    )


@dataclass(frozen=True, slots=True)
class _Costs:
    contents: Contents
    size: int
    kind: Kind
    wire: Wire
    budget: int

    def pages(self, length: int) -> int:
        """Pages of a range, taking the payload's own average for what escaping adds."""
        share = length / max(1, self.size)
        once, twice = round(self.contents.extra_once * share), round(self.contents.extra_twice * share)
        cost = self.wire.payload_cost(length, once, twice, binary=self.kind == "bytes")
        return estimate_pages(cost, self.budget, self.wire)


def _entries(results: Sequence[Result], position: int, costs: _Costs) -> Iterator[Entry]:
    for number, result in enumerate(results[position:], position + 1):
        yield Entry(
            index=number,
            name=shown_name(result.name),
            path=shown_name(result.path),
            start=result.start,
            end=result.end,
            pages=costs.pages(result.end - result.start),
            type=result.type,
            series=result.series,
            points=result.points,
            approximate=result.approximate,
        )
