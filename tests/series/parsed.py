"""What a JSON parser reads where a series is said to be: all that is told of it is held against that."""

from __future__ import annotations

import json
import math
from typing import Any

from spillcache.series import Series


def check(one: Series, text: bytes) -> None:
    """Hold one series of a payload against what a parser reads at its places."""
    assert one.start <= one.values_start < one.values_end <= one.end
    holder = _members(text[one.start : one.end])
    samples = _spelled(text[one.values_start : one.values_end])
    labels = text[one.labels_start : one.labels_end].decode()
    if one.form == "frame":
        assert _spelled(labels) == holder["schema"]
        _check_frame(one, holder, samples)
        return
    assert one.labels in (labels, "")
    assert json.loads(labels) in [holder.get(key) for key in ("metric", "stream", "labels")]
    assert all(isinstance(value, str) for value in json.loads(labels).values())
    assert samples == holder["value" if one.form == "vector" else "values"]
    if one.form == "streams":
        ends = [samples[0][0], samples[-1][0]]
        assert (one.first_time, one.last_time) == (min(ends, key=int), max(ends, key=int))
        assert (one.points, one.nan, one.least, one.greatest, one.last) == (len(samples), 0, "", "", "")
        return
    samples = [samples] if one.form == "vector" else samples
    assert (one.first_time, one.last_time) == (samples[0][0], samples[-1][0])
    _check_values(one, [value for _, value in samples])


def _check_frame(one: Series, holder: dict[str, Any], values: list[str | None]) -> None:
    columns, fields = holder["data"]["values"], holder["schema"]["fields"]
    assert values in columns
    times = columns[[field["type"] for field in fields].index("time")]
    ends = (times[0], times[-1]) if times else ("", "")
    assert (one.first_time, one.last_time) == ends
    known = [json.dumps(field.get("labels") or {"name": field["name"]}) for field in fields if "name" in field]
    assert not one.labels or json.dumps(json.loads(one.labels)) in known
    _check_values(one, ["null" if value is None else value for value in values])


def _check_values(one: Series, values: list[str]) -> None:
    numbers = {value: float(value) for value in values if value != "null" and not math.isnan(float(value))}
    assert (one.points, one.nan) == (len(values), sum(value not in numbers for value in values))
    if numbers:
        assert (float(one.least), float(one.greatest)) == (min(numbers.values()), max(numbers.values()))
        assert {one.least, one.greatest} <= numbers.keys()
    else:
        assert one.least == one.greatest == ""
    assert one.last == (values[-1] if values else "")


def _members(written: bytes) -> dict[str, Any]:
    """The object that holds a series; where others' members stand around its own, only those."""
    found: dict[str, Any] = _spelled(written if written.startswith(b"{") else b"{%b}" % written)
    return found


def _spelled(written: bytes | str) -> Any:
    return json.loads(written, parse_float=str, parse_int=str)
