"""What each way of looking delivers, and what an agent that takes it for all there is would conclude.

The rule is the same for every way, and is applied to the bytes that this way really delivered: of a series whose labels
did not come, there is "no data"; one whose labels came without values is "Unavailable"; of one whose values came, the
last that came is the current value, and as many as came is how many there are.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

NO_DATA, UNAVAILABLE = "no data", "Unavailable"

_METRIC = b'"metric":'
_LABELS = re.compile(rb'"metric":\{[^}]*\}')
_SAMPLE = re.compile(rb'\[\d+(?:\.\d+)?,"([^"]*)"\]')


@dataclass(frozen=True, slots=True)
class Fragment:
    """Bytes that were delivered, and where in the payload they begin."""

    start: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Series:
    """A series as the payload has it: `offset` is where its `"metric"` begins, `last` its last value."""

    query: str
    labels: Mapping[str, str]
    offset: int
    samples: int
    last: str


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What would be said of one series: how many samples, and the last value; or that there is none."""

    text: str
    samples: int
    last: str | None

    def is_right(self, series: Series) -> bool:
        """Whether it is what the payload says."""
        return (self.samples, self.last) == (series.samples, series.last)


def all_series(payload: bytes) -> list[Series]:
    """Every series of the payload, as a JSON parser reads it: the truth that conclusions are held against."""
    parsed = [(result["query"], one) for result in json.loads(payload)["results"] for one in result["result"]]
    offsets = [found.start() for found in re.finditer(re.escape(_METRIC), payload)]
    return [
        Series(query, one["metric"], offset, len(one["values"]), one["values"][-1][1])
        for (query, one), offset in zip(parsed, offsets, strict=True)
    ]


def preview_of(envelope: Mapping[str, Any], size: int) -> list[Fragment]:
    """What an envelope shows of the payload: its head, and its tail."""
    head, tail = (str(envelope.get(name, "")).encode() for name in ("preview", "preview_tail"))
    return [Fragment(0, head), Fragment(size - len(tail), tail)]


def search(payload: bytes, budget: int) -> list[Fragment]:
    """A text search for label sets, as `grep --only-matching --byte-offset` prints it, cut at `budget` bytes."""
    found, spent = [], 0
    for match in _LABELS.finditer(payload):
        spent += len(f"{match.start()}:\n") + len(match[0])
        if spent > budget:
            break
        found.append(Fragment(match.start(), match[0]))
    return found


def conclude(series: Sequence[Series], fragments: Iterable[Fragment]) -> list[Conclusion]:
    """What the fragments let somebody say of each series."""
    values: dict[int, list[str]] = {}
    for fragment in fragments:
        values |= _values_by_series(fragment)
    return [_conclusion(values.get(one.offset)) for one in series]


def _values_by_series(fragment: Fragment) -> dict[int, list[str]]:
    """Series whose labels are wholly in the fragment → the values that follow. Those before any labels are nobody's."""
    marks = [found.start() for found in _LABELS.finditer(fragment.data)]
    return {
        fragment.start + begin: [found[1].decode() for found in _SAMPLE.finditer(fragment.data, begin, end)]
        for begin, end in itertools.pairwise([*marks, len(fragment.data)])
    }


def _conclusion(values: list[str] | None) -> Conclusion:
    if values is None:
        return Conclusion(NO_DATA, 0, None)
    if not values:
        return Conclusion(UNAVAILABLE, 0, None)
    return Conclusion(f"{values[-1]} ({len(values)} samples)", len(values), values[-1])
