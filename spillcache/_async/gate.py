# unasync: written by hand on both sides
"""The gate before Redis: at most so many operations at once, first come first served, each within its deadline.

redis-py's own blocking pool starves whoever waits longest (p99 78-156 × p50 at 200 readers); a first-in-first-out gate
before the pool keeps p99 at 1.3 × p50. Waiting and handing work over are the things that asyncio and threads do not
share, so this room has a twin in `_sync`; everything else is written once and generated.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from spillcache.errors import ArgumentsInvalid, StoreBusy, StoreUnavailable

T = TypeVar("T")
P = ParamSpec("P")

#: Something to do at the store.
Operation = Callable[[], Awaitable[T]]

#: Work on fewer bytes than this is done where it stands: handing it to a thread costs 0.1 ms and gains nothing.
_INLINE_BYTES = 512 * 1024


class Gate:
    """For asyncio: waiting and working together take at most the deadline.

    A gate belongs to one event loop of one process, because connections do. Use from another raises `ArgumentsInvalid`:
    replies would cross.
    """

    def __init__(self, places: int) -> None:
        self._semaphore = asyncio.Semaphore(places)
        self._home: tuple[int, asyncio.AbstractEventLoop] | None = None

    async def run(self, deadline_s: float, operation: Operation[T]) -> T:
        """Run `operation` when a place is free. Raises `StoreBusy` or `StoreUnavailable` at the deadline."""
        self._check_home()
        entered = False
        try:
            async with asyncio.timeout(deadline_s):
                async with self._semaphore:
                    entered = True
                    return await operation()
        except TimeoutError:
            pass
        if entered:
            raise StoreUnavailable(f"Redis did not answer within {deadline_s:g} s")
        raise StoreBusy(f"no place became free within {deadline_s:g} s")

    def _check_home(self) -> None:
        here = os.getpid(), asyncio.get_running_loop()
        if self._home is None:
            self._home = here
        elif self._home != here:
            raise ArgumentsInvalid(
                "this cache belongs to another event loop or process; make one in each, after the fork"
            )


async def settled(operation: Coroutine[Any, Any, T]) -> T:
    """Run a write to its end, or its deadline, even when the caller is cancelled; only then does the cancelling go on.

    What a broken-off write has already sent may be executed after whatever undoes it.
    """
    task = asyncio.create_task(operation)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # taken note of: the cancelling is what the caller is told
        raise


async def compute(size: int, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Do CPU work over `size` bytes without holding the event loop: large work goes to a thread."""
    if size < _INLINE_BYTES:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)


def socket_timeout(deadline_s: float) -> float | None:
    """What a single wait on a socket may take: no bound of its own, because the gate bounds the whole operation.

    A timeout for each send and receive would cost 22 µs a read and bound the sum of none of them.
    """
    return None
