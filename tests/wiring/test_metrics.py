"""Metrics: what is counted, under which names, and that labels stay few."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from spillcache.errors import SpillCorrupt, SpillError, SpillLost, StoreBusy, Unauthorized
from spillcache.ids import new_id
from spillcache.watch import Refused, Served, Verb, Written
from spillcache.wiring.metrics import MAX_TOOLS, MAX_WALKS, Metrics

ID = new_id(bytes(range(15)))


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    """A sample's value, None where there is none."""
    return metrics.registry.get_sample_value(name, labels)


def served(
    start: int = 0,
    status: str = "PARTIAL",
    result_status: str | None = None,
    *,
    began: bool = False,
    walk: int = 1,
) -> Served:
    """A page of tool "batch"."""
    return Served(ID, "batch", walk, start, start + 10, 100, status, result_status, began)


def fail(metrics: Metrics, verb: Verb, error: BaseException) -> None:
    """Let an act end with an error."""
    with suppress(type(error)), metrics.act(verb, ID):
        raise error


@pytest.fixture
def metrics() -> Metrics:
    """Metrics that have counted nothing."""
    return Metrics()


def test_spills_are_counted_with_their_bytes(metrics: Metrics) -> None:
    """In as payload, stored as frames, and how large they are."""
    metrics.spill_written(Written(ID, "batch", "json", 20_000, 9_000))
    metrics.spill_written(Written(ID, "batch", "json", 30_000, 11_000))
    assert value(metrics, "spillcache_spills_total", tool="batch") == 2
    assert value(metrics, "spillcache_spill_bytes_total") == 50_000
    assert value(metrics, "spillcache_stored_bytes_total") == 20_000
    assert value(metrics, "spillcache_spill_size_bytes_bucket", le="32768.0") == 2
    assert value(metrics, "spillcache_spill_size_bytes_bucket", le="8192.0") == 0


def test_walks_that_begin_and_complete_are_counted_apart(metrics: Metrics) -> None:
    """Of a payload and of one result, by tool: the difference is who stopped early."""
    pages = [served(began=True), served(10), served(90, "COMPLETE")]
    for page in [*pages, served(began=True), served(40, began=True), served(50, result_status="COMPLETE", walk=2)]:
        metrics.page_served(page)
    assert value(metrics, "spillcache_walks_begun_total", tool="batch", of="payload") == 2
    assert value(metrics, "spillcache_walks_completed_total", tool="batch", of="payload") == 1
    assert value(metrics, "spillcache_walks_begun_total", tool="batch", of="result") == 1
    assert value(metrics, "spillcache_walks_completed_total", tool="batch", of="result") == 1
    assert value(metrics, "spillcache_pages_total", status="PARTIAL") == 5
    assert value(metrics, "spillcache_pages_total", status="COMPLETE") == 1


def test_a_walk_completes_once(metrics: Metrics) -> None:
    """However often its last page is read again; the pages are counted each time. Old walks are forgotten."""
    for _ in range(5):
        metrics.page_served(served(90, "COMPLETE"))
        metrics.page_served(served(90, result_status="COMPLETE", walk=2))
    assert value(metrics, "spillcache_walks_completed_total", tool="batch", of="payload") == 1
    assert value(metrics, "spillcache_walks_completed_total", tool="batch", of="result") == 1
    assert value(metrics, "spillcache_pages_total", status="COMPLETE") == 5
    for walk in range(3, MAX_WALKS + 3):
        metrics.page_served(served(90, "COMPLETE", walk=walk))
        metrics.page_served(served(90, "COMPLETE"))  # still read
    assert value(metrics, "spillcache_walks_completed_total", tool="batch", of="payload") == MAX_WALKS + 1
    metrics.page_served(served(90, result_status="COMPLETE", walk=2))
    assert value(metrics, "spillcache_walks_completed_total", tool="batch", of="result") == 2


def test_acts_are_timed_and_their_errors_counted(metrics: Metrics) -> None:
    """By verb and code; a bug too; cancelling is none."""
    with metrics.act("page", ID):
        pass
    for error in (StoreBusy("x"), StoreBusy("x"), ValueError("x"), asyncio.CancelledError()):
        fail(metrics, "page", error)
    assert value(metrics, "spillcache_page_seconds_count") == 5
    assert value(metrics, "spillcache_acts_total", verb="page") == 1
    assert value(metrics, "spillcache_errors_total", verb="page", code="store_busy") == 2
    assert value(metrics, "spillcache_errors_total", verb="page", code="internal") == 1
    fail(metrics, "stat", StoreBusy("x"))
    assert value(metrics, "spillcache_page_seconds_count") == 5


@pytest.mark.parametrize("error", [SpillLost("x"), SpillCorrupt("x")])
def test_losses_are_counted(metrics: Metrics, error: SpillError) -> None:
    """Whatever found them; a renewal that found a part gone is not counted as one."""
    metrics.lease_renewed(True)
    metrics.lease_renewed(False)
    fail(metrics, "page", error)
    assert value(metrics, "spillcache_losses_total", code=error.code) == 1
    assert value(metrics, "spillcache_lease_renewals_total") == 1


def test_what_is_refused_is_counted(metrics: Metrics) -> None:
    """Results by code, and what a face refused before any act."""
    metrics.spill_refused(Refused("batch", 100, "store_full"))
    metrics.failed("edge", Unauthorized("x"))
    assert value(metrics, "spillcache_spills_refused_total", code="store_full") == 1
    assert value(metrics, "spillcache_errors_total", verb="edge", code="unauthorized") == 1


def exposed(metrics: Metrics, name: str, label: str) -> set[str]:
    """The values of a label in what Prometheus reads."""
    page = generate_latest(metrics.registry).decode()
    samples = [sample for family in text_string_to_metric_families(page) for sample in family.samples]
    return {sample.labels[label] for sample in samples if sample.name == name}


def test_what_is_alerted_on_is_there_before_it_happens(metrics: Metrics) -> None:
    """At 0: `rate` does not see the first count of a series that begins with it."""
    store = {"store_unavailable", "store_busy", "store_full", "server_unsupported"}
    assert exposed(metrics, "spillcache_losses_total", "code") == {"spill_lost", "spill_corrupt"}
    assert exposed(metrics, "spillcache_errors_total", "code") == store
    assert exposed(metrics, "spillcache_spills_refused_total", "code") == store | {"payload_too_large"}


def test_a_tool_whose_walks_never_end_has_completed_none(metrics: Metrics) -> None:
    """None is a number too: without it the tool would be missing from the share of walks that stop early."""
    metrics.page_served(served(began=True))
    assert exposed(metrics, "spillcache_walks_completed_total", "tool") == {"batch"}
    assert value(metrics, "spillcache_walks_completed_total", tool="batch", of="payload") == 0


def test_redis_is_timed_apart_from_the_wait_for_it(metrics: Metrics) -> None:
    """In seconds."""
    metrics.redis_used("read", 0.5, 0.25)
    assert value(metrics, "spillcache_redis_seconds_sum", operation="read") == 0.25
    assert value(metrics, "spillcache_redis_wait_seconds_sum") == 0.5


def test_labels_stay_few_whatever_tools_are_called(metrics: Metrics) -> None:
    """The first names count by themselves, later ones together; controls and long names are shown names."""
    for number in range(MAX_TOOLS + 10):
        metrics.spill_written(Written(ID, f"tool {number}", "json", 1, 1))
    assert value(metrics, "spillcache_spills_total", tool="other") == 10
    hostile = Metrics()
    hostile.spill_written(Written(ID, 'a"\n\x1b' + "b" * 500, "json", 1, 1))
    (sample,) = [
        sample
        for family in text_string_to_metric_families(generate_latest(hostile.registry).decode())
        for sample in family.samples
        if sample.name == "spillcache_spills_total"
    ]
    assert len(sample.labels["tool"]) <= 80
    assert "\x1b" not in sample.labels["tool"]


def test_what_is_exposed_parses_names_its_build_and_holds_no_id(metrics: Metrics) -> None:
    """Each name begins with ours; two processes' registries are apart."""
    metrics.spill_written(Written(ID, "batch", "json", 1, 1))
    metrics.page_served(served(began=True))
    page = generate_latest(metrics.registry).decode()
    families = list(text_string_to_metric_families(page))
    assert all(family.name.startswith("spillcache_") for family in families)
    (info,) = [family for family in families if family.name == "spillcache_build_info"]
    assert set(info.samples[0].labels) == {"version", "python"}
    assert ID not in page
    assert value(Metrics(), "spillcache_spills_total", tool="batch") is None
