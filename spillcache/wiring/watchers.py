"""Several watchers as one: what a cache tells goes to metrics, events and traces alike."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType

from spillcache.errors import SpillError
from spillcache.watch import Refused, Served, Verb, Watcher, Written


class Watchers(Watcher):
    """Tells each of `watchers`, in their order. An act is entered in that order and left in the opposite one."""

    def __init__(self, *watchers: Watcher) -> None:
        self._watchers = watchers

    def act(self, verb: Verb, spill_id: str = "") -> AbstractContextManager[object]:
        """All of their acts as one."""
        return _Acts([watcher.act(verb, spill_id) for watcher in self._watchers])

    def spill_written(self, written: Written) -> None:
        """See `Watcher`."""
        for watcher in self._watchers:
            watcher.spill_written(written)

    def spill_refused(self, refused: Refused) -> None:
        """See `Watcher`."""
        for watcher in self._watchers:
            watcher.spill_refused(refused)

    def page_served(self, served: Served) -> None:
        """See `Watcher`."""
        for watcher in self._watchers:
            watcher.page_served(served)

    def lease_renewed(self, whole: bool) -> None:
        """See `Watcher`."""
        for watcher in self._watchers:
            watcher.lease_renewed(whole)

    def redis_used(self, operation: str, waited_s: float, took_s: float) -> None:
        """See `Watcher`."""
        for watcher in self._watchers:
            watcher.redis_used(operation, waited_s, took_s)

    def failed(self, where: str, error: SpillError) -> None:
        """See `Watcher`."""
        for watcher in self._watchers:
            watcher.failed(where, error)


class _Acts:
    """Acts of several watchers around one act of a cache. None of them may swallow its error."""

    __slots__ = ("_acts",)

    def __init__(self, acts: list[AbstractContextManager[object]]) -> None:
        self._acts = acts

    def __enter__(self) -> None:
        for act in self._acts:
            act.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for act in reversed(self._acts):
            act.__exit__(kind, error, at)
