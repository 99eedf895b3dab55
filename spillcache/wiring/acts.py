"""Acts: what metrics, events and traces want to know of an act of a cache, told with as little ado as possible."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from types import TracebackType

from spillcache.watch import Verb, Watcher


class ActWatcher(Watcher):
    """A watcher that is told how an act ended, and may put a span around it."""

    def act(self, verb: Verb, spill_id: str = "") -> AbstractContextManager[object]:
        """Times an act. Every page is one, so this makes one object for it, whoever listens."""
        return _Act(self, verb, spill_id)

    def span(self, verb: Verb, spill_id: str) -> AbstractContextManager[object] | None:
        """What an act is to happen inside of, if anything: a span of a trace. It sees the act's error leave."""
        return None

    def ended(self, verb: Verb, spill_id: str, took_s: float, error: BaseException | None) -> None:
        """An act is over, after so many seconds, by this error if it did not end well."""


class _Act:
    __slots__ = ("_began", "_span", "_spill_id", "_verb", "_watcher")

    def __init__(self, watcher: ActWatcher, verb: Verb, spill_id: str) -> None:
        self._watcher, self._verb, self._spill_id = watcher, verb, spill_id

    def __enter__(self) -> None:
        self._span = self._watcher.span(self._verb, self._spill_id)
        if self._span is not None:
            self._span.__enter__()
        self._began = time.perf_counter()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._watcher.ended(self._verb, self._spill_id, time.perf_counter() - self._began, error)
        if self._span is not None:
            self._span.__exit__(kind, error, at)
