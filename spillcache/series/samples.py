"""Lists of samples: whether they have exactly the form that is expected, and what their numbers say.

A list is `[[time,"value"],…]` or, of an instant vector, `[time,"value"]`. Numbers are compared as parsed, and told as
spelled (see `spelling`).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import orjson

from spillcache.series.spelling import MOST_DIGITS, has_form_of_value

_BLANKS = b" \t\r\n"
_NUMBER = b"0123456789.eE+-NaInf"  # the characters of times and values
_NUMBER_OR_COMMA = _NUMBER + b","
_NUMBER_OR_BLANK = _NUMBER + _BLANKS
_AROUND_TIME = b"[]," + _BLANKS
_BUT_COMMAS = b'[]"' + _BLANKS
#: Of so many lists the times are remembered: an answer to several queries has several.
_REMEMBERED = 8


class Told(NamedTuple):
    """What a list of samples says; see `Series`."""

    points: int
    nan: int
    first_time: str
    last_time: str
    least: str
    greatest: str
    last: str


class SampleReader:
    """Reads lists of samples, one after the other.

    What stands between the values of the last ones is remembered: the series of an answer have the same times, as a
    rule, and what was checked once is only compared then.
    """

    def __init__(self) -> None:
        self._last: deque[_Times] = deque(maxlen=_REMEMBERED)

    def tell(self, written: bytes) -> Told | None:
        """What `[[time,"value"],…]` says; None when it has not exactly this form, blanks aside."""
        pieces = written.split(b'"')
        between, spelled = pieces[::2], pieces[1::2]
        times = self._times(between)
        if times is None:
            return None
        count = len(spelled)
        if spelled[0] == spelled[-1] and spelled.count(spelled[0]) == count:  # many never change
            spelled = spelled[:1]
        values = read_values(spelled)
        if values is None:
            return None
        extremes, nan = find_extremes(values)
        if nan == len(values):
            nan = count
        least, greatest = (spelled[place].decode() for place in extremes) if extremes else ("", "")
        return Told(count, nan, times.first, times.last, least, greatest, spelled[-1].decode())

    def _times(self, between: list[bytes]) -> _Times | None:
        """What `[[1,`, `],[2,`, …, `]]` says."""
        for times in self._last:
            if times.between == between:
                return times
        read = _read_times(between)
        if read is not None:
            self._last.appendleft(read)
        return read


class _Times(NamedTuple):
    """The times of a list of samples: what stands between the values, and the first and the last of them."""

    between: list[bytes]
    first: str
    last: str


def _read_times(between: list[bytes]) -> _Times | None:
    bare = b'""'.join(between)
    skeleton = bare.translate(None, _NUMBER_OR_BLANK)
    count = len(between) - 1
    if not count or skeleton != b"[%b]" % (b'[,""],' * count)[:-1]:
        return None
    if b"e" in bare or b"E" in bare or _has_longer(bare.translate(None, _BUT_COMMAS)) or not _is_json(bare):
        return None
    first, last = (between[place].translate(None, _AROUND_TIME).decode() for place in (0, count - 1))
    return _Times(between, first, last)


def _is_json(written: bytes) -> bool:
    try:
        orjson.loads(written)
    except ValueError:
        return False
    return True


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


def read_values(spelled: Sequence[bytes]) -> list[float | None] | None:
    """The numbers that values spell, None for NaN; no list where one of them is no value."""
    joined = b",".join(spelled)
    if joined.translate(None, _NUMBER_OR_COMMA) or _has_longer(joined):
        return None
    try:
        numbers: list[float | None] = orjson.loads(b"[%b]" % joined.replace(b"NaN", b"null"))
        return numbers if len(numbers) == len(spelled) else None
    except ValueError:  # infinities, and numbers as JSON does not spell them
        pass
    if not all(map(has_form_of_value, spelled)):  # float reads "nan" and "-NaN" as well
        return None
    try:
        return [None if math.isnan(value) else value for value in map(float, spelled)]
    except ValueError:
        return None


def _has_longer(joined: bytes) -> bool:
    """Whether anything between commas is longer than MOST_DIGITS.

    As a rule no half of that is without a comma, which is found sooner than each number's length.
    """
    half = MOST_DIGITS // 2
    for start in range(0, len(joined) - half, half):
        if joined.find(b",", start, start + half) < 0:
            return max(map(len, joined.split(b","))) > MOST_DIGITS
    return False
