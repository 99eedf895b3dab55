"""Times and values as somebody might spell them, for Hypothesis, and what of that is one: said here a second time."""

from __future__ import annotations

import math
import re

from hypothesis import strategies as st

MOST_CHARACTERS = 400

_TIME = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?", re.ASCII)
_VALUE = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|NaN|[-+]?Inf", re.ASCII)

_ODD_TIMES = (
    "1", "0", "-1", "-0", "1.5", "1796040099.122", "01", "00", "1.", ".5", "+1", "1e5", "1e+5", "1.7E18", "1.2.3", "-",
    "e", "1 0", "NaN", "null", "true", "[1]", "1" * 401, "0." + "1" * 60, "1" * 400, "0." + "1" * 397,
)  # fmt: skip
_ODD_VALUES = (
    "1", "-0", "1.5", "1e400", "5.", ".5", "+5", "01", "1E+5", "NaN", "Inf", "+Inf", "-Inf", "nan", "-nan", "+NaN",
    "-NaN", "Nan", "NAN", "inf", "-inf", "Infinity", "infinity", "1.2.3", "10.0.0.1", "2024-01-01", "+-e", "e", "-",
    "--1", "1e", "", ".", " 1", "1 ", "1_0", "0x1", "\u0661", "1,2", "null", "NaNNaN", "aN", "1" * 400, "1" * 401,
    "0." + "1" * 390, "0." + "1" * 399,
)  # fmt: skip

TIMES = st.one_of(st.sampled_from(_ODD_TIMES), st.from_regex(_TIME, fullmatch=True), st.text("0159.eE+-", max_size=6))
VALUES = st.one_of(
    st.sampled_from(_ODD_VALUES), st.from_regex(_VALUE, fullmatch=True), st.text("015.eE+-NaInf", max_size=6)
)


def is_time(spelled: str) -> bool:
    """A number of JSON that a double holds, without an exponent."""
    return len(spelled) <= MOST_CHARACTERS and bool(_TIME.fullmatch(spelled)) and math.isfinite(float(spelled))


def is_value(spelled: str) -> bool:
    """What Prometheus writes into its strings."""
    return len(spelled) <= MOST_CHARACTERS and _VALUE.fullmatch(spelled) is not None


def samples_in_every_place(time: str, value: str) -> list[str]:
    """Documents that hold one sample: alone, before, in and behind a run, in a matrix, with and without blanks."""
    sample = f'[{time},"{value}"]'
    one = _VECTOR % ("c", sample)
    good = _VECTOR % ("a", '[1,"1"]')
    alone = _MATRIX % f"[{sample}]"
    first = _MATRIX % f'[{sample},[2,"1"],[3,"1"]]'
    within = _MATRIX % f'[[1,"2"],{sample},[3,"4"]]'
    documents = [
        one,
        f"[{one},{good},{good}]",
        f"[{good},{one},{good}]",
        f"[{good},{good},{one}]",
        alone,
        first,
        within,
    ]
    return [spelled for document in documents for spelled in (document, *map(document.replace, _JOINTS, _BLANKS))]


_VECTOR = '{"metric":{"a":"%s"},"value":%s}'
_MATRIX = '{"metric":{"a":"c"},"values":%s}'
#: Where blanks may stand, and some: between elements, behind a time, around lists, behind a key.
_JOINTS = ("},{", ',"', "],[", "[[", '"]', '":')
_BLANKS = ("},\n {", ', "', "], [", "[ [\t", '" ]', '": ')
