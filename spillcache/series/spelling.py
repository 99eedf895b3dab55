"""How times and values of samples are spelled: one grammar for what is found, shown in short, and read back.

A time is a number of JSON that a double holds, without an exponent: the compact view writes times as they are, and
`1e+5` would read as a time and a step there. A value is what Prometheus writes into its strings: a number that `float`
reads, `NaN`, `Inf`, `+Inf` or `-Inf`. Neither is longer than MOST_DIGITS.
"""

from __future__ import annotations

import math
import re

#: Characters of a number at most: the longest that a float spells out is 330.
MOST_DIGITS = 400

#: As patterns.
TIME = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?"
VALUE = r"[-+0-9.eE]+|NaN|[-+]?Inf"

_TIME = re.compile(TIME.encode())
_VALUE = re.compile(VALUE.encode())


def is_time(spelled: bytes) -> bool:
    """Whether this is a time."""
    return len(spelled) <= MOST_DIGITS and _TIME.fullmatch(spelled) is not None and math.isfinite(float(spelled))


def has_form_of_value(spelled: bytes) -> bool:
    """Whether this consists of what a value consists of. How long it is, and whether `float` reads it, is not asked."""
    return _VALUE.fullmatch(spelled) is not None
