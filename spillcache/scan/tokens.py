"""Tokens: the commas, brackets and line ends outside strings, and how deep each lies.

The level of a token is the number of brackets open around it, a bracket's own included: the brackets and commas of
one container share a level. A comma's level is its depth as a place to cut. A closing bracket too many closes nothing:
depth never falls below 0. In NDJSON a line end closes everything.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spillcache.scan.bitmaps import Bytes, Ints

COMMA = 0x2C
LINE_END = 0x0A

Ints32 = NDArray[np.int32]
Flags = NDArray[np.bool_]


class Tokens(NamedTuple):
    """Tokens in the order of the text, one element each."""

    at: Ints
    byte: Bytes
    level: Ints


# '[' 5B and '{' 7B have bits 6 and 1, ']' 5D and '}' 7D only bit 6, ',' and '\n' not bit 6.
def is_open(byte: Bytes) -> Flags:
    """Which tokens open a container."""
    found: Flags = (byte & 0x42) == 0x42
    return found


def is_close(byte: Bytes) -> Flags:
    """Which tokens close a container."""
    found: Flags = (byte & 0x42) == 0x40
    return found


class Steps(NamedTuple):
    """What each token does to the depth."""

    delta: NDArray[np.int8]
    close: NDArray[np.int8]


def steps(byte: Bytes) -> Steps:
    """+1 for an opening bracket, -1 for a closing one, 0 for the rest."""
    close = is_close(byte).view(np.int8)
    return Steps(is_open(byte).view(np.int8) - close, close)


def depths(step: Steps, start: int) -> Ints32:
    """The depth after each token, from `start` before the first, below 0 where closing brackets are too many."""
    after: Ints32 = np.cumsum(step.delta.astype(np.int32))
    after += start
    return after


def depths_of_parts(step: Steps, heads: Ints, bases: Ints) -> Ints32:
    """The depth after each token, never below 0, where the token at each of `heads` begins anew at a depth of `bases`.

    `heads` ascends from 0. Clamping at 0 takes the lowest point so far off a running sum. The parts are pushed apart by
    more than any sum can span, so that the lowest point of one is never taken for that of the next.
    """
    delta = step.delta.astype(np.int64)
    total = np.cumsum(delta)
    part = np.zeros(len(delta), np.int64)
    part[heads[1:]] = 1
    part = np.cumsum(part)
    raw = total + (bases - (total[heads] - delta[heads]))[part]
    apart = part * (len(delta) + 2)
    lowest = np.minimum.accumulate(np.minimum(raw, 0) - apart) + apart
    return (raw - np.minimum(lowest, 0)).astype(np.int32)
