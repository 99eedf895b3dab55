"""Calls timed in turn: whatever slows the machine for a while slows all of them alike, and ratios stay."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable, Mapping
from statistics import median

#: Rounds that are run but not counted: connections, caches and the allocator settle.
WARM = 50

Times = dict[str, float]
"""p50 of each call, in µs."""


def nothing() -> None:
    """What is done between rounds where nothing is to be done."""


def interleave(
    calls: Mapping[str, Callable[[int], object]],
    rounds: int,
    *,
    warm: int = WARM,
    between: Callable[[], object] = nothing,
) -> Times:
    """Make every call once a round, in a new order each round, and take its p50.

    `between` runs after each round and is not timed. Neither is letting go of what a call returned.
    """
    turns = _Turns(calls)
    for turn in range(-warm, rounds):
        for name in turns.order():
            call = calls[name]
            begin = time.perf_counter_ns()
            result = call(turn)
            turns.note(name, turn, time.perf_counter_ns() - begin)
            del result
        between()
    return turns.p50()


async def interleave_async(
    calls: Mapping[str, Callable[[int], Awaitable[object]]],
    rounds: int,
    *,
    warm: int = WARM,
    between: Callable[[], Awaitable[object]] | None = None,
) -> Times:
    """The same for calls that are awaited one after the other."""
    turns = _Turns(calls)
    for turn in range(-warm, rounds):
        for name in turns.order():
            call = calls[name]
            begin = time.perf_counter_ns()
            result = await call(turn)
            turns.note(name, turn, time.perf_counter_ns() - begin)
            del result
        if between is not None:
            await between()
    return turns.p50()


class _Turns:
    """Whose turn it is, and what each has taken."""

    def __init__(self, calls: Mapping[str, object]) -> None:
        self._names = list(calls)
        self._times: dict[str, list[int]] = {name: [] for name in calls}
        self._random = random.Random(11)  # noqa: S311 - no secret

    def order(self) -> list[str]:
        # A fixed order would always leave the same neighbour's data in the processor's caches.
        self._random.shuffle(self._names)
        return self._names

    def note(self, name: str, turn: int, spent: int) -> None:
        if turn >= 0:
            self._times[name].append(spent)

    def p50(self) -> Times:
        return {name: median(times) / 1000 for name, times in self._times.items()}
