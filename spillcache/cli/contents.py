"""What is known of the results in a payload, in words for people: an unknown number is never shown as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_NAMES_SHOWN = 4

#: What `partial` of an inventory means; see `scan.Inventory`.
_REASONS = {
    "window": "only the beginning of the payload was looked through",
    "truncated": "the document is truncated",
    "malformed": "the document is malformed",
    "concatenated": "more follows after the first document",
    "too_deep": "it is nested deeper than is looked at",
    "too_many": "there are more than are listed",
    "unrecognised": "some of what looks like time series was not understood",
}


def why_partial(partial: Iterable[str]) -> str:
    """Why an inventory may not show everything; empty when it shows all."""
    return ", ".join(_REASONS.get(reason, reason) for reason in partial)


def how_many(results: int | None, named: int, partial: Iterable[str]) -> str:
    """The number of results as far as it is known, and why no further: `at least 4 named (the document is truncated)`.

    `named` is how many names are at hand.
    """
    why = why_partial(partial)
    known = f"{results:,}" if results is not None else f"at least {named:,} named" if named else "unknown"
    return f"{known} ({why})" if why else known


def listed(names: Sequence[str], *, more: bool) -> str:
    """The first few names."""
    return ", ".join(names[:_NAMES_SHOWN]) + (", …" if len(names) > _NAMES_SHOWN or more else "")
