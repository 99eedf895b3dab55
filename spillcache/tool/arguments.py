"""What the tool was called with. Models fill in what they leave out, so empty optionals count as absent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from spillcache.cursor import WalkKind, claimed_kind, refuse_raw
from spillcache.errors import ArgumentsInvalid, CursorMalformed, PatternInvalid, SpillIdMalformed
from spillcache.page import View
from spillcache.tool.values import count, flag, positive, view_of, whole_number

NAMES: Final = (
    "spill_id",
    "cursor",
    "result",
    "inventory",
    "series",
    "view",
    "pattern",
    "literal",
    "ignore_case",
    "max_matches",
    "context",
    "return_full",
    "max_bytes",
)

_START: Final = "Call with only spill_id, copied from the truncated result."
_BY_THEMSELVES: Final = ("inventory", "series", "pattern", "return_full")
_ONLY_WITH_PATTERN: Final = ("literal", "ignore_case")


@dataclass(frozen=True, slots=True)
class Search:
    """A pattern, and how to look for it; `options` are those that were given, as `SpillCache.grep` takes them."""

    pattern: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call, understood. `result` is a name or a number counted from 1; `max_bytes` lowers this answer's budget.

    It asks for a page, unless one of `inventory`, `series` (lists), `search` and `full` (a large window) is set. A
    cursor that continues a list, or the compact view, sets these by itself.
    """

    spill_id: str
    cursor: str | None = None
    result: str | int | None = None
    inventory: bool = False
    series: bool = False
    view: View = "raw"
    search: Search | None = None
    full: bool = False
    max_bytes: int | None = None


def parse_arguments(raw: Mapping[str, Any] | None) -> ToolCall:
    """Read the arguments of a call.

    Numbers may come as text, and as floats without a fraction. Raises `ArgumentsInvalid`, `SpillIdMalformed` or
    `CursorMalformed`; no message repeats a value, which may be a cursor in the wrong place.
    """
    given = {name: value for name, value in (raw or {}).items() if not _is_empty(name, value)}
    _refuse_unknown(given)
    cursor = _cursor(given.get("cursor"))
    kind = None if cursor is None else claimed_kind(cursor)
    call = ToolCall(
        spill_id=_spill_id(given.get("spill_id")),
        cursor=cursor,
        result=_result(given.get("result")),
        inventory=flag(given, "inventory") or kind is WalkKind.INVENTORY,
        series=flag(given, "series") or kind is WalkKind.SERIES,
        view=_view(given, cursor if kind is WalkKind.COMPACT else None),
        search=_search(given, blank=(raw or {}).get("pattern") == ""),
        full=flag(given, "return_full"),
        max_bytes=positive(given, "max_bytes"),
    )
    _refuse_contradictions(call)
    return call


def _refuse_contradictions(call: ToolCall) -> None:
    """Two wishes that no one answer fulfils. None is dropped in silence: the answer would look like both."""
    asked = dict(zip(_BY_THEMSELVES, (call.inventory, call.series, call.search, call.full), strict=True))
    wishes = [name for name, wish in asked.items() if wish]
    if len(wishes) > 1:
        raise ArgumentsInvalid(
            f"{' and '.join(wishes)} ask for different answers",
            next_step=f"Call with one of them: {', or '.join(wishes)}. A cursor goes on with what it came from.",
        )
    if call.view == "compact" and wishes:
        raise ArgumentsInvalid(
            f"the compact view is a way to read pages, and {wishes[0]} is not one",
            next_step=f"Leave out {wishes[0]} to read compact pages; leave out view (and its cursor) for {wishes[0]}.",
        )
    if call.inventory and call.result is not None:
        raise ArgumentsInvalid(
            "inventory lists all results, result reads one: they cannot be asked for together",
            next_step="Call with inventory: true for the list, or with result to read that one.",
        )
    if call.search is not None and call.cursor is not None:
        raise ArgumentsInvalid(
            "a search has no cursor: it always looks through everything",
            next_step="To read on, call with spill_id and that cursor only; to search, leave out cursor.",
        )
    if call.full and call.result is not None:
        raise ArgumentsInvalid(
            "return_full reads on from the start or from a cursor, result reads one result",
            next_step="Call with result and follow its next_cursor; or with return_full: true without result.",
        )


def _is_empty(name: str, value: object) -> bool:
    blank = isinstance(value, str) and not (value if name == "pattern" else value.strip())  # a blank can be looked for
    return value is None or value is False or blank


def _refuse_unknown(given: Mapping[str, Any]) -> None:
    if "next_cursor" in given:
        raise ArgumentsInvalid(
            "there is no argument next_cursor", next_step="Call again and pass the value of next_cursor as cursor."
        )
    if not given.keys() <= set(NAMES):
        raise ArgumentsInvalid(
            f"an argument is not one of this tool's: {', '.join(NAMES)}",
            next_step="Leave out the other arguments and call again.",
        )


def _spill_id(value: object) -> str:
    if value is None:
        raise ArgumentsInvalid("spill_id is missing", next_step=_START)
    if not isinstance(value, str):
        raise SpillIdMalformed("spill_id must be a string")
    return value


def _cursor(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise CursorMalformed("cursor must be the string next_cursor of the previous page, copied exactly")
    return value


def _result(value: object) -> str | int | None:
    if value is None or isinstance(value, str):
        return value
    number = whole_number(value)
    if number is None:
        raise ArgumentsInvalid("result must be a result's name, or its number counted from 1")
    return number


def _view(given: Mapping[str, Any], compact: str | None) -> View:
    """The view that is asked for, if only by a cursor of the compact one."""
    if compact is None:
        return view_of(given.get("view"))
    if "view" in given and view_of(given["view"]) == "raw":
        refuse_raw(compact)
    return "compact"


def _search(given: Mapping[str, Any], *, blank: bool) -> Search | None:
    """The search that is asked for. What it may show at most is harmless without a pattern, and models fill it in.

    `blank`: there is a pattern, of no characters; by itself that is what a model fills in for none.
    """
    options: dict[str, Any] = {name: True for name in _ONLY_WITH_PATTERN if flag(given, name)}
    pattern = given.get("pattern")
    if pattern is None:
        if options and blank:
            raise PatternInvalid("the pattern is empty; say what to search for")
        if options:
            raise ArgumentsInvalid(
                f"{' and '.join(options)} say how to search, and there is no pattern",
                next_step=f"Add pattern, or leave out {' and '.join(options)}.",
            )
        return None
    if not isinstance(pattern, str):
        raise ArgumentsInvalid("pattern must be text: a regular expression (RE2), or literal text with literal: true")
    for name in ("max_matches", "context"):
        number = count(given, name)
        if number is not None:
            options[name] = number
    return Search(pattern, options)
