"""A process that writes one spill, and that a test may kill at any moment of it."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess

from spillcache.ids import new_id
from spillcache.sync import SpillCache
from tests.servers.caches import noise
from tests.servers.proxy import Command, Fate, Proxy

#: The id under which every doomed writer stores: a test must be able to look for what it left.
SPILL_ID = new_id(bytes(15))

# Forking from this process, which has threads, is not safe; the fork server has none, and imports only once.
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["spillcache.sync", "tests.cache.doomed"])


def write(url: str, size: int) -> None:
    """Store `size` bytes."""
    # Long deadlines: on a machine with other work to do, only the test may end this process.
    with SpillCache.from_url(url, keyring=None, random=bytes, read_deadline_s=60, write_deadline_s=60) as cache:
        cache.put(noise(size))


@contextmanager
def writing(url: str, size: int) -> Iterator[BaseProcess]:
    """A process that writes; it is gone when the block ends."""
    process = _context.Process(target=write, args=(url, size), daemon=True)
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()
        process.close()


def kill_at(between: Proxy, number: int, size: int) -> bool:
    """Kill a writer when it sends command `number`, which the server does not see; whether it came so far."""
    started = threading.Event()
    killed = threading.Event()
    process: BaseProcess

    def rule(command: Command) -> Fate:
        if command.number < number:
            return Fate.FORWARD
        started.wait()
        process.kill()
        killed.set()
        return Fate.CUT

    between.watch(rule)
    with writing(between.url, size) as process:
        started.set()
        process.join()
        assert killed.is_set() or process.exitcode == 0, "the writer failed by itself"
    return killed.is_set()
