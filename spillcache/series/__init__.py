"""The time series in a payload: found when it is written, told by numbers, and stored with it.

`find_series` looks for what Prometheus, Grafana and Loki call series; `samples` and `frames` read their lists of
samples, whose `spelling` is one grammar; `leftover` looks at what is none of these; `model` holds what was found;
`stored` is its form in the store; `labels` are those of a series as they are shown.
Nothing here raises on any payload, and what is not recognised for certain is left out: it stays to be read as it is,
and the table says that there is such.
"""

from __future__ import annotations

from spillcache.series.finding import find_series
from spillcache.series.model import MAX_SERIES, NOT_LOOKED_AT, Axis, Form, Series, SeriesTable
from spillcache.series.stored import FIELD, MARK_FIELD, check_mark, decode_series, encode_mark, encode_series

__all__ = [
    "FIELD",
    "MARK_FIELD",
    "MAX_SERIES",
    "NOT_LOOKED_AT",
    "Axis",
    "Form",
    "Series",
    "SeriesTable",
    "check_mark",
    "decode_series",
    "encode_mark",
    "encode_series",
    "find_series",
]
