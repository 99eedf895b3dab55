"""Single values of arguments, as models write them: numbers as text, flags as words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spillcache.errors import ArgumentsInvalid
from spillcache.page import View


def flag(given: Mapping[str, Any], name: str) -> bool:
    """A flag; absent is false. Raises `ArgumentsInvalid`."""
    value = given.get(name, False)
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in {"true", "false"}:
        return value.strip().lower() == "true"
    raise ArgumentsInvalid(f"{name} must be true, or absent")


def positive(given: Mapping[str, Any], name: str) -> int | None:
    """A whole number from 1 on; absent, or 0, which is what a model fills in for "no limit", is None.

    Raises `ArgumentsInvalid`.
    """
    return count(given, name) or None


def count(given: Mapping[str, Any], name: str) -> int | None:
    """A whole number from 0 on; absent is None. Raises `ArgumentsInvalid`."""
    value = given.get(name)
    if value is None:
        return None
    text = value.strip() if isinstance(value, str) else ""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else whole_number(value)
    if number is None or number < 0:
        raise ArgumentsInvalid(f"{name} must be a whole number that is not negative")
    return number


def whole_number(value: object) -> int | None:
    """The number, if it is a whole one, also where it was written as 2.0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        return None
    return int(value)


def view_of(value: object) -> View:
    """How pages are to be shown. Raises `ArgumentsInvalid`."""
    word = value.strip().lower() if isinstance(value, str) else value
    if word is None or word == "raw":
        return "raw"
    if word == "compact":
        return "compact"
    raise ArgumentsInvalid(
        "view must be compact, or absent", next_step='Call again with view: "compact", or without view.'
    )
