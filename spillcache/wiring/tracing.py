"""Traces: a span around each act, as a child of the span that is current, through OpenTelemetry's API.

The API alone does nothing; whoever runs the process installs an SDK and an exporter, or an agent that does. Where not
even the API is installed, `trace_watcher` gives None and nothing is traced.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, MutableMapping
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any

from spillcache.errors import SpillError
from spillcache.watch import Served, Verb, Written, spill_mark
from spillcache.wiring.acts import ActWatcher

AVAILABLE = importlib.util.find_spec("opentelemetry") is not None
if AVAILABLE:
    from opentelemetry import context, propagate, trace


def trace_watcher() -> ActWatcher | None:
    """A watcher that makes spans, where the API is installed."""
    return Tracing() if AVAILABLE else None


def remote_parent(headers: Mapping[str, str]) -> AbstractContextManager[object]:
    """What is done inside belongs to the trace that these headers (`traceparent`, …) come from."""
    return _Attached(headers) if AVAILABLE else nullcontext()


def add_trace_id(logger: object, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: the current span's trace id goes over the one that the request came with."""
    if AVAILABLE:
        here = trace.get_current_span().get_span_context()
        if here.is_valid:
            event["trace_id"] = trace.format_trace_id(here.trace_id)
    return event


class Tracing(ActWatcher):
    """Spans `spillcache.<verb>`, with the spill's mark, sizes, what a page says, and the code of an error."""

    def __init__(self) -> None:
        self._tracer = trace.get_tracer("spillcache")

    def span(self, verb: Verb, spill_id: str) -> AbstractContextManager[object] | None:
        """A span around an act, once an SDK is there: without one even no span costs 20 µs."""
        if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            return None
        attributes = {"spillcache.spill": spill_mark(spill_id.strip().lower())} if spill_id else None
        return _Span(
            self._tracer.start_as_current_span(
                f"spillcache.{verb}", attributes=attributes, record_exception=False, set_status_on_exception=False
            )
        )

    def spill_written(self, written: Written) -> None:
        """Adds the spill and its size to the span."""
        span = trace.get_current_span()
        if span.is_recording():
            span.set_attribute("spillcache.spill", spill_mark(written.spill_id))
            span.set_attribute("spillcache.size", written.size)
            span.set_attribute("spillcache.stored", written.stored)

    def page_served(self, served: Served) -> None:
        """Adds what the page holds and says to the span."""
        span = trace.get_current_span()
        if span.is_recording():
            span.set_attribute("spillcache.from", served.start)
            span.set_attribute("spillcache.to", served.end)
            span.set_attribute("spillcache.size", served.size)
            span.set_attribute("spillcache.status", served.status)


class _Span:
    """A span whose error is told by its code: an exception's text and traceback stay out of traces."""

    __slots__ = ("_span",)

    def __init__(self, span: AbstractContextManager[trace.Span]) -> None:
        self._span = span

    def __enter__(self) -> None:
        self._span.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(error, Exception):
            _set_error(trace.get_current_span(), error.code if isinstance(error, SpillError) else "internal")
        self._span.__exit__(kind, error, at)


class _Attached:
    __slots__ = ("_headers", "_token")

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = headers

    def __enter__(self) -> None:
        self._token = context.attach(propagate.extract(self._headers))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        context.detach(self._token)


def _set_error(span: trace.Span, code: str) -> None:
    if span.is_recording():
        span.set_attribute("error.type", code)
        span.set_status(trace.StatusCode.ERROR, code)
