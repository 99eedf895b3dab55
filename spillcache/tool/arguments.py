"""What the tool was called with. Models fill in what they leave out, so empty optionals count as absent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from spillcache.cursor import continues_inventory
from spillcache.errors import ArgumentsInvalid, CursorMalformed, SpillIdMalformed

NAMES: Final = ("spill_id", "cursor", "result", "inventory", "max_bytes")

_START: Final = "Call with only spill_id, copied from the truncated result."


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call, understood. `result` is a name or a number counted from 1; `max_bytes` lowers this page's budget.

    `inventory` asks for the list of results, by itself or by a cursor that continues it.
    """

    spill_id: str
    cursor: str | None = None
    result: str | int | None = None
    inventory: bool = False
    max_bytes: int | None = None


def parse_arguments(raw: Mapping[str, Any] | None) -> ToolCall:
    """Read the arguments of a call.

    Numbers may come as text, and as floats without a fraction. Raises `ArgumentsInvalid`, `SpillIdMalformed` or
    `CursorMalformed`; no message repeats a value, which may be a cursor in the wrong place.
    """
    given = {name: value for name, value in (raw or {}).items() if not _is_empty(value)}
    _refuse_unknown(given)
    cursor = _cursor(given.get("cursor"))
    call = ToolCall(
        spill_id=_spill_id(given.get("spill_id")),
        cursor=cursor,
        result=_result(given.get("result")),
        inventory=_flag(given.get("inventory", False)) or (cursor is not None and continues_inventory(cursor)),
        max_bytes=_max_bytes(given.get("max_bytes")),
    )
    if call.inventory and call.result is not None:
        raise ArgumentsInvalid(
            "inventory lists all results, result reads one: they cannot be asked for together",
            next_step="Call with inventory: true for the list, or with result to read that one.",
        )
    return call


def _is_empty(value: object) -> bool:
    return value is None or value is False or (isinstance(value, str) and not value.strip())


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
    number = _whole_number(value)
    if number is None:
        raise ArgumentsInvalid("result must be a result's name, or its number counted from 1")
    return number


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in {"true", "false"}:
        return value.strip().lower() == "true"
    raise ArgumentsInvalid("inventory must be true, or absent")


def _max_bytes(value: object) -> int | None:
    if value is None or value == 0:  # what a model fills in for "no limit"
        return None
    text = value.strip() if isinstance(value, str) else ""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else _whole_number(value)
    if number is None or number < 0:
        raise ArgumentsInvalid("max_bytes must be a positive whole number of bytes")
    return number or None


def _whole_number(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        return None
    return int(value)
