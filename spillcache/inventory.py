"""The inventory as it is stored, summed up and searched. What finds the results in a payload is `scan`.

A name is found by what was shown of it (see `shown`), so a reader can pass it back as it saw it.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

import orjson
import zstandard

from spillcache.digest import seal, unseal
from spillcache.errors import ArgumentsInvalid, ResultAmbiguous, ResultNotFound, SpillCorrupt
from spillcache.scan import Inventory, ResultTable, pack_results, unpack_results
from spillcache.shown import shown_name

FIELD = "inv"
SUMMARY_FIELD = "meta"
MAX_SUMMARY_NAMES = 64


@dataclass(frozen=True, slots=True)
class Summary:
    """What page 1 and the envelope tell of the results. `results` is their number, None where it is not known."""

    results: int | None
    names: tuple[str, ...]
    partial: tuple[str, ...]
    strict: bool
    duplicate_keys: int

    def as_dict(self, names: int | None = None) -> dict[str, Any]:
        """The contract's `inventory` with at most `names` names; what does not apply is absent."""
        shown = self.names if names is None else self.names[:names]
        answer: dict[str, Any] = {}
        if self.results is not None:
            answer["results"] = self.results
        if shown:
            answer["result_names"] = list(shown)
        if self.results is not None and self.results > len(shown):
            answer["names_omitted"] = self.results - len(shown)
        return answer | caveats(self.partial, strict=self.strict, duplicate_keys=self.duplicate_keys)


def caveats(partial: tuple[str, ...], *, strict: bool, duplicate_keys: int) -> dict[str, Any]:
    """What every answer about an inventory says of its limits; what does not apply is absent."""
    answer: dict[str, Any] = {}
    if partial:
        answer["partial"] = list(partial)
    if not strict:
        answer["strict_json"] = False
    if duplicate_keys:
        answer["duplicate_keys"] = duplicate_keys
    return answer


@dataclass(frozen=True, slots=True)
class Contents:
    """The inventory as stored, with what escaping adds to the whole payload once and twice, for page estimates."""

    inventory: Inventory
    extra_once: int
    extra_twice: int


def summarise(inventory: Inventory) -> Summary:
    """The short form of an inventory."""
    names = tuple(map(shown_name, inventory.results[:MAX_SUMMARY_NAMES].names()))
    return Summary(inventory.results_total, names, inventory.partial, inventory.strict, inventory.duplicate_keys)


def find_result(inventory: Inventory, wanted: str | int) -> int:
    """The place (from 0) of the result that a reader named, or numbered from 1.

    Raises `ResultNotFound` with the nearest names, `ResultAmbiguous` with the numbers to choose from, or
    `ArgumentsInvalid` for what is neither name nor number: True is not the first result.
    """
    if isinstance(wanted, bool) or not isinstance(wanted, str | int):
        raise ArgumentsInvalid("result must be a name or a number")
    if isinstance(wanted, str):
        matches = _by_name(inventory.results, wanted)
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise _ambiguous(matches)
        if not wanted.strip().isdecimal() or not wanted.strip().isascii():
            raise _unknown_name(inventory, wanted)
        wanted = int(wanted.strip().lstrip("0")[:12] or 0)  # what is cut off is too large in any case
    if 1 <= wanted <= len(inventory.results):
        return wanted - 1
    raise ResultNotFound(
        f"there is no result of that number: they are numbered 1 to {len(inventory.results)}{_how_far(inventory)}"
    )


def _by_name(results: ResultTable, wanted: str) -> list[int]:
    shown, names = shown_name(wanted), list(results.names())
    alike = [place for place, name in enumerate(names) if shown_name(name) == shown]
    if shown == wanted:  # whoever copied it from a list saw all of these under one name
        return alike
    return [place for place in alike if names[place] == wanted] or alike


def _how_far(inventory: Inventory) -> str:
    return f" (the inventory does not name everything: {', '.join(inventory.partial)})" if inventory.partial else ""


def _ambiguous(matches: list[int]) -> ResultAmbiguous:
    numbers = [place + 1 for place in matches]
    listed = ", ".join(map(str, numbers[:20])) + (" and more" if len(numbers) > 20 else "")
    return ResultAmbiguous(
        f"{len(numbers)} results bear that name: numbers {listed}",
        indices=numbers,
        next_step=f"Call again with result set to one of these numbers: {listed}.",
    )


def _unknown_name(inventory: Inventory, wanted: str) -> ResultNotFound:
    results = inventory.results
    # Comparing takes 0.1 ms a name; beyond the first ones the inventory is the better help.
    names = map(shown_name, results[:500].names())
    nearest = difflib.get_close_matches(shown_name(wanted), list(names), n=5, cutoff=0.3)
    return ResultNotFound(f"no result of that name among {len(results)}{_how_far(inventory)}", nearest=nearest)


def encode_contents(contents: Contents, spill_id: str) -> bytes:
    """The bytes of field `inv` of segment 0: a head in JSON, a line end, and the table of results as columns."""
    inventory = contents.inventory
    head = [
        inventory.results_total,
        inventory.path,
        inventory.partial,
        inventory.strict,
        inventory.duplicate_keys,
        contents.extra_once,
        contents.extra_twice,
    ]
    body = b"%b\n%b" % (orjson.dumps(head), pack_results(inventory.results))
    return seal(spill_id, 0, FIELD, zstandard.compress(body, 1))


def decode_contents(stored: bytes, spill_id: str) -> Contents:
    """Read field `inv`. Raises `SpillCorrupt` or `ManifestVersionUnsupported`."""
    try:
        head, _, packed = zstandard.decompress(unseal(spill_id, 0, FIELD, stored)).partition(b"\n")
        total, path, partial, strict, duplicates, once, twice = orjson.loads(head)
        results = unpack_results(packed)
        return Contents(Inventory(results, total, path, tuple(partial), strict, duplicates), once, twice)
    except (zstandard.ZstdError, ValueError, TypeError):
        raise SpillCorrupt("the inventory does not have its form") from None


def encode_summary(summary: Summary, spill_id: str) -> bytes:
    """The bytes of field `meta` of segment 0."""
    body = [summary.results, summary.names, summary.partial, summary.strict, summary.duplicate_keys]
    return seal(spill_id, 0, SUMMARY_FIELD, orjson.dumps(body))


def decode_summary(stored: bytes, spill_id: str) -> Summary:
    """Read field `meta`. Raises `SpillCorrupt` or `ManifestVersionUnsupported`."""
    try:
        results, names, partial, strict, duplicates = orjson.loads(unseal(spill_id, 0, SUMMARY_FIELD, stored))
        return Summary(results, tuple(names), tuple(partial), strict, duplicates)
    except (ValueError, TypeError):
        raise SpillCorrupt("the summary does not have its form") from None
