"""Lists of samples: whether they have exactly the form that is expected, and what their numbers say.

A list is `[[time,"value"],…]` or, of an instant vector, `[time,"value"]`. Its form is checked by taking away all that a
number may consist of: what is left must be the bare skeleton of so many samples. Numbers are compared as parsed, and
told as spelled. Times are plain numbers, without an exponent, and no number is longer than MOST_DIGITS: the compact
view writes them as they are, and `1e+5` would read as a time and a step there.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import orjson

_BLANKS = b" \t\r\n"
NUMBER = b"0123456789.eE+-NaInf"
_NUMBER_OR_BLANK = NUMBER + _BLANKS
#: Characters of a number at most: the longest that a float spells out is 330.
MOST_DIGITS = 400


class Told(NamedTuple):
    """What a list of samples says; see `Series`."""

    points: int
    nan: int
    first_time: str
    last_time: str
    least: str
    greatest: str
    last: str


def tell_samples(written: bytes) -> Told | None:
    """What `[[time,"value"],…]` says; None when it has not exactly this form, blanks aside."""
    skeleton = written.translate(None, _NUMBER_OR_BLANK)
    count = len(skeleton) // 6
    if not count or skeleton != b"[%b]" % (b'[,""],' * count)[:-1]:
        return None
    text = written
    pieces = written.split(b'"')
    if b" " in written or b"\n" in written or b"\t" in written or b"\r" in written:
        text = written.translate(None, _BLANKS)
        before, pieces = pieces, text.split(b'"')
        if pieces[1::2] != before[1::2] or not _is_json(written):  # blanks within a value, or within a time
            return None
    spelled = pieces[1::2]
    if max(map(len, spelled)) > MOST_DIGITS or not _are_times(b"".join(pieces[::2])):
        return None
    values = read_values(spelled)
    if values is None:
        return None
    first_time = text[2 : text.index(b",")].decode()
    last_time = text[text.rindex(b"[") + 1 : text.rindex(b",")].decode()
    last = spelled[-1].decode()
    extremes, nan = find_extremes(values)
    if extremes is None:
        return Told(count, nan, first_time, last_time, "", "", last)
    least, greatest = (spelled[place].decode() for place in extremes)
    return Told(count, nan, first_time, last_time, least, greatest, last)


def _is_json(written: bytes) -> bool:
    try:
        orjson.loads(written)
    except ValueError:
        return False
    return True


@functools.lru_cache(maxsize=4)  # the series of one answer have the same times, as a rule
def _are_times(skeleton: bytes) -> bool:
    """Whether the times of `[[1,],[2,]]`, a list without its values, are numbers of JSON without exponents."""
    times = skeleton.translate(None, b"[]").replace(b",,", b",")
    if b"e" in times or b"E" in times or max(map(len, times.split(b","))) > MOST_DIGITS:
        return False
    return _is_json(b"[%b0]" % times)


def find_extremes(values: list[float | None]) -> tuple[tuple[int, int] | None, int]:
    """The places of the least and the greatest of values, if there are any, and how many are None, for no number."""
    if not values:
        return None, 0
    if len(values) == 1:
        return (None, 1) if values[0] is None else ((0, 0), 0)
    try:  # most have no gap, and looking for one takes as long as all the rest
        numbers: list[float] = values  # type: ignore[assignment]
        return (numbers.index(min(numbers)), numbers.index(max(numbers))), 0
    except TypeError:
        shown = [place for place, value in enumerate(values) if value is not None]
    nan = len(values) - len(shown)
    if not shown:
        return None, nan
    weigh = values.__getitem__
    return (min(shown, key=weigh), max(shown, key=weigh)), nan  # type: ignore[arg-type]  # none of these is None


def read_values(spelled: list[bytes]) -> list[float | None] | None:
    """Values, of which every character may stand in a number: None for NaN, and no list where one is no number."""
    joined = b",".join(spelled)
    try:
        numbers: list[float | None] = orjson.loads(b"[%b]" % joined.replace(b"NaN", b"null"))
        return numbers if len(numbers) == len(spelled) else None
    except ValueError:  # infinities, and numbers as JSON does not spell them
        pass
    try:
        return [None if math.isnan(value) else value for value in map(float, spelled)]
    except ValueError:
        return None
