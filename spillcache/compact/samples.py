"""A list of samples in short: where times are regular only the first and the step, and values that repeat once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

#: Values that repeat at least so often are counted: below that it is longer to read.
_REPEATED = 3

#: A sample among blanks; that it is one, was checked when it was stored.
_SAMPLE = re.compile(rb'\s*\[\s*([^\s,]+)\s*,\s*"([^"]+)"\s*\]\s*(?:,\s*|(\]))')
_TIME = re.compile(r"(0|[1-9][0-9]{0,14})(?:\.([0-9]{0,2}[1-9]))?", re.ASCII)


class Samples(NamedTuple):
    """Samples of a list as they are spelled, and where in the text each ends, with what separates it from the next."""

    times: list[str]
    values: list[str]
    ends: list[int]


class Unit(NamedTuple):
    """What is written or left as a whole: one value, or one that repeats, and where in the text its samples end."""

    text: str
    end: int


def read_samples(text: bytes, at: int, start: int, end: int) -> Samples:
    """The samples from `at` on in the list `start`..`end`, as far as the text holds whole ones."""
    if at == start:
        at += 1  # the list's own bracket
    section = text[at:end]
    if len(section.translate(None, b" \t\r\n")) == len(section):
        return _read_bare(section, at)
    samples = Samples([], [], [])
    while at < end and (found := _SAMPLE.match(text, at)) is not None and found.end() <= end:
        at = found.end()
        samples.times.append(found[1].decode())
        samples.values.append(found[2].decode())
        samples.ends.append(at)
        if found[3]:
            break
    return samples


def _read_bare(section: bytes, at: int) -> Samples:
    """Where no blanks stand, `[time,"value"],[time,"value"]]`: split at quotes. The form was checked when stored."""
    pieces = section.decode("ascii", "replace").split('"')
    whole = (len(pieces) - 1) // 2
    if whole and not pieces[2 * whole].startswith(("],", "]]")):
        whole -= 1
    values = pieces[1 : 2 * whole : 2]
    times = [piece[3:-1] for piece in pieces[0 : 2 * whole : 2]]
    times[:1] = [pieces[0][1:-1]] * (whole > 0)
    lengths = (len(time) + len(value) + 6 for time, value in zip(times, values, strict=True))
    return Samples(times, values, [at + length for length in accumulate(lengths)])


def short_samples(samples: Samples) -> Iterator[Unit]:
    """The units of these samples; `<` before the first and `>` after the last make a list of them."""
    times, values, ends = samples
    clock = [_milliseconds(time) for time in times]
    at, head = 0, ""
    while at < len(times):
        stop, step = _run(clock, at)
        head = f"{head}{times[at]}{'+' + _spelled(step) if step else ''}:"
        while at < stop:
            value, same = values[at], at + 1
            while same < stop and values[same] == value:
                same += 1
            if same - at < _REPEATED:
                same = at + 1
            yield Unit(f"{head} {value}{f'*{same - at}' if same > at + 1 else ''}", ends[same - 1])
            at, head = same, ""
        head = "; "


def _run(times: list[int], at: int) -> tuple[int, int]:
    """Up to which sample times go on regularly from `at`, and their step; a run of one has none."""
    if at + 2 >= len(times):
        return at + 1, 0
    step = times[at + 1] - times[at]
    if times[at] < 0 or step <= 0 or times[at + 2] - times[at + 1] != step:
        return at + 1, 0
    stop = at + 3
    while stop < len(times) and times[stop] - times[stop - 1] == step:
        stop += 1
    return stop, step


def _milliseconds(spelled: str) -> int:
    """A time as a whole number; negative, and never regular, where that would not be spelled the same again."""
    found = _TIME.fullmatch(spelled)
    return int(found[1]) * 1000 + int((found[2] or "").ljust(3, "0")) if found else -1


def _spelled(milliseconds: int) -> str:
    whole, rest = divmod(milliseconds, 1000)
    return f"{whole}.{rest:03}".rstrip("0") if rest else str(whole)


def regular_times(first: str, step: str, points: int) -> Iterator[str]:
    """The times that a run was written for. Raises `ValueError` for what no run begins with."""
    start, apart = _milliseconds(first), _milliseconds(step)
    if start < 0 or apart <= 0:
        raise ValueError(f"not a time and a step: {first[:40]}+{step[:40]}")
    return map(_spelled, range(start, start + apart * points, apart))
