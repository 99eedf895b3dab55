"""Spans: children of the current one, with marks, sizes and codes, and nothing else of a spill."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spillcache.errors import SpillNotFound
from spillcache.ids import new_id
from spillcache.watch import Verb, spill_mark
from spillcache.wiring.acts import ActWatcher
from spillcache.wiring.tracing import Tracing, add_trace_id, remote_parent, trace_watcher
from spillcache.wiring.watchers import Watchers
from tests.servers.caches import cache_on, metrics

ID = new_id(bytes(range(15)))


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """An SDK for this test alone; what it exports."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    yield exporter
    provider.shutdown()


def attributes(span: ReadableSpan) -> dict[str, object]:
    """What is said of a span."""
    return dict(span.attributes or {})


async def test_each_act_is_a_child_of_the_current_span(exported: InMemorySpanExporter, redis_url: str) -> None:
    """A write with its size, a page with its range and status; the spill by its mark."""
    with trace.get_tracer("platform").start_as_current_span("call") as parent:
        async with cache_on(redis_url, watcher=Tracing()) as cache:
            envelope = await cache.put(metrics())
            page = await cache.page(envelope.spill_id)
    put, read, _ = exported.get_finished_spans()
    assert (put.name, read.name) == ("spillcache.put", "spillcache.page")
    assert {span.parent.span_id for span in (put, read) if span.parent} == {parent.get_span_context().span_id}
    assert attributes(put)["spillcache.size"] == len(metrics())
    assert attributes(put)["spillcache.spill"] == attributes(read)["spillcache.spill"] == spill_mark(envelope.spill_id)
    assert (attributes(read)["spillcache.from"], attributes(read)["spillcache.to"]) == (0, page.end)
    assert attributes(read)["spillcache.status"] == "PARTIAL"
    assert envelope.spill_id not in put.to_json() + read.to_json()


def test_an_error_is_told_by_its_code_alone(exported: InMemorySpanExporter) -> None:
    """Neither its text nor its traceback are in the span."""
    for error in (SpillNotFound("words"), ValueError("words")):
        with suppress(type(error)), Tracing().act("page", ID):
            raise error
    failed, broken = exported.get_finished_spans()
    assert (attributes(failed)["error.type"], attributes(broken)["error.type"]) == ("spill_not_found", "internal")
    assert failed.status.status_code is trace.StatusCode.ERROR
    assert "words" not in failed.to_json() + broken.to_json()


def test_cancelling_is_no_error(exported: InMemorySpanExporter) -> None:
    """The span ends as it is."""
    with suppress(asyncio.CancelledError), Tracing().act("page", ID):
        raise asyncio.CancelledError
    (span,) = exported.get_finished_spans()
    assert span.status.status_code is trace.StatusCode.UNSET


def test_a_request_s_trace_is_continued_and_named_in_its_log_lines(exported: InMemorySpanExporter) -> None:
    """What is done inside belongs to the caller's trace; afterwards nothing does."""
    remote = "0af7651916cd43dd8448eb211c80319c"
    with remote_parent({"traceparent": f"00-{remote}-b7ad6b7169203331-01"}), Tracing().act("page", ID):
        line = add_trace_id(None, "info", {"event": "x"})
    (span,) = exported.get_finished_spans()
    assert span.context is not None
    assert trace.format_trace_id(span.context.trace_id) == line["trace_id"] == remote
    assert add_trace_id(None, "info", {"event": "x"}) == {"event": "x"}


def test_without_an_sdk_nothing_is_made() -> None:
    """The API alone costs next to nothing."""
    with Tracing().act("page", ID) as span:
        assert span is None
    assert trace_watcher() is not None


def test_several_watchers_hear_the_same_and_see_the_same_error() -> None:
    """Spans are entered in order and left in the opposite one; all hear how it ended, and the error passes through."""
    heard: list[str] = []

    class Ear(ActWatcher):
        def __init__(self, name: str) -> None:
            self.name = name

        @contextmanager
        def span(self, verb: Verb, spill_id: str) -> Iterator[None]:
            heard.append(f"{self.name} in")
            try:
                yield
            finally:
                heard.append(f"{self.name} out")

        def ended(self, verb: Verb, spill_id: str, took_s: float, error: BaseException | None) -> None:
            heard.append(f"{self.name} {type(error).__name__}")

        def lease_renewed(self, whole: bool) -> None:
            heard.append(f"{self.name} {whole}")

    both = Watchers(Ear("a"), ActWatcher(), Ear("b"))
    both.lease_renewed(True)
    assert heard == ["a True", "b True"]
    heard.clear()
    with pytest.raises(SpillNotFound), both.act("page", ID):
        raise SpillNotFound("x")
    assert heard == ["a in", "b in", "a SpillNotFound", "b SpillNotFound", "b out", "a out"]
