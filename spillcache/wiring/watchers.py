"""Several watchers as one: what a cache tells goes to metrics, events and traces alike."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType

from spillcache.errors import SpillError
from spillcache.watch import Refused, Served, Verb, Written
from spillcache.wiring.acts import ActWatcher
from spillcache.wiring.events import Events
from spillcache.wiring.tracing import trace_watcher


class Watchers(ActWatcher):
    """Tells each of `watchers`, in their order; spans are entered in that order and left in the opposite one."""

    def __init__(self, *watchers: ActWatcher) -> None:
        self._watchers = watchers

    def span(self, verb: Verb, spill_id: str) -> AbstractContextManager[object] | None:
        """All of their spans as one; none where none has one."""
        spans = [span for watcher in self._watchers if (span := watcher.span(verb, spill_id)) is not None]
        return _Spans(spans) if spans else None

    def ended(self, verb: Verb, spill_id: str, took_s: float, error: BaseException | None) -> None:
        """See `Watcher`."""
        for watcher in self._watchers:
            watcher.ended(verb, spill_id, took_s, error)

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


def watching(*watchers: ActWatcher) -> Watchers:
    """What every process of ours tells: events, spans where OpenTelemetry is, and what `watchers` want to hear."""
    tracing = trace_watcher()
    return Watchers(*watchers, Events(), *([tracing] if tracing is not None else []))


class _Spans:
    """Spans of several watchers around one act of a cache. None of them may swallow its error."""

    __slots__ = ("_spans",)

    def __init__(self, spans: list[AbstractContextManager[object]]) -> None:
        self._spans = spans

    def __enter__(self) -> None:
        for span in self._spans:
            span.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for span in reversed(self._spans):
            span.__exit__(kind, error, at)
