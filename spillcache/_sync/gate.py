# unasync: written by hand on both sides
"""The gate before Redis: at most so many operations at once, first come first served, each within its deadline.

redis-py's own blocking pool starves whoever waits longest (p99 78-156 × p50 at 200 readers); a first-in-first-out gate
before the pool keeps p99 at 1.3 × p50. Waiting and handing work over are the things that asyncio and threads do not
share, so this room has a twin in `_async`; everything else is written once and generated.
"""

from __future__ import annotations

import os
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
        self._places = places
        self._open()

    def run(self, deadline_s: float, operation: Operation[T]) -> T:
        """Run `operation` when a place is free. Raises `StoreBusy` at the deadline."""
        if self._pid != os.getpid():  # a forked child has none of the threads that were inside, so none would leave
            self._open()
        ticket = threading.Lock()
        try:  # from here on, so that Ctrl-C while we wait or enter loses no place
            self._enter(ticket, deadline_s)
            return operation()
        finally:
            # Not in a function of its own: there a signal's exception would come before its first step.
            with self._lock:
                self._inside.discard(ticket)
                if ticket in self._waiting:
                    self._waiting.remove(ticket)
                while self._waiting and len(self._inside) < self._places:
                    following = self._waiting.popleft()
                    self._inside.add(following)
                    following.release()

    def _open(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._inside: set[threading.Lock] = set()
        self._waiting: deque[threading.Lock] = deque()

    def _enter(self, ticket: threading.Lock, deadline_s: float) -> None:
        with self._lock:
            if len(self._inside) < self._places and not self._waiting:
                self._inside.add(ticket)
                return
            ticket.acquire()
            self._waiting.append(ticket)
        if ticket.acquire(timeout=deadline_s):
            return  # whoever left handed its place over
        with self._lock:
            if ticket in self._inside:
                return  # handed over between the two
        raise StoreBusy(f"no place became free within {deadline_s:g} s")


def settled(outcome: T) -> T:
    """The outcome of a write: without asyncio nobody can cancel it."""
    return outcome


def compute(size: int, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Do CPU work: in the caller's own thread, whatever its `size` in bytes."""
    return work(*args, **kwargs)


def socket_timeout(deadline_s: float) -> float:
    """What a single wait on a socket may take, in seconds: threads have no other way to give up."""
    return deadline_s
