# unasync: written by hand on both sides
"""The gate before Redis: at most so many operations at once, first come first served, each within its deadline.

redis-py's own blocking pool starves whoever waits longest (p99 78-156 × p50 at 200 readers); a first-in-first-out gate
before the pool keeps p99 at 1.3 × p50. Waiting and handing work over are the things that asyncio and threads do not
share, so this room has a twin in `_async`; everything else is written once and generated.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from spillcache.errors import StoreBusy

T = TypeVar("T")
P = ParamSpec("P")

#: Something to do at the store.
Operation = Callable[[], T]


class Gate:
    """For threads: the deadline bounds the wait for a place.

    What the operation itself may take, only the client's socket timeout bounds, each wait on the socket anew.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._lock = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()

    def run(self, deadline_s: float, operation: Operation[T]) -> T:
        """Run `operation` when a place is free. Raises `StoreBusy` at the deadline."""
        self._enter(deadline_s)
        try:
            return operation()
        finally:
            self._leave()

    def _enter(self, deadline_s: float) -> None:
        with self._lock:
            if self._free and not self._waiting:
                self._free -= 1
                return
            ticket = threading.Lock()
            ticket.acquire()
            self._waiting.append(ticket)
        if ticket.acquire(timeout=deadline_s):
            return  # whoever left handed its place over
        with self._lock:
            if ticket not in self._waiting:
                return  # handed over between the two
            self._waiting.remove(ticket)
        raise StoreBusy(f"no place became free within {deadline_s:g} s")

    def _leave(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1


def settled(outcome: T) -> T:
    """The outcome of a write: without asyncio nobody can cancel it."""
    return outcome


def compute(size: int, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Do CPU work: in the caller's own thread, whatever its `size` in bytes."""
    return work(*args, **kwargs)


def socket_timeout(deadline_s: float) -> float:
    """What a single wait on a socket may take, in seconds: threads have no other way to give up."""
    return deadline_s
