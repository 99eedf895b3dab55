"""Metrics for Prometheus: what a process stores, serves, refuses and loses, and how long Redis takes.

Names carry their unit, as Prometheus' conventions have it. Labels are bounded, whatever callers send: the first
`MAX_TOOLS` tool names count by themselves, all later ones as `other`; no spill id and no tenant is ever a label.
"""

from __future__ import annotations

import platform
from collections import OrderedDict
from functools import cache
from importlib.metadata import version
from typing import Final, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from spillcache.errors import CODES, PayloadTooLarge, SpillCorrupt, SpillError, SpillLost, StoreError
from spillcache.shown import shown_name
from spillcache.watch import Refused, Served, Verb, Written
from spillcache.wiring.acts import ActWatcher

MAX_TOOLS: Final = 64  # a platform has some dozens; a bug that numbers its tools must not fill a Prometheus
OTHER_TOOLS: Final = "other"
MAX_WALKS: Final = 4_096  # that are over, and remembered: half a megabyte, and minutes at a thousand pages a second

# A page takes about 0.3 ms, a read's deadline is 2 s.
_PAGE_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_REDIS_S = (0.0001, 0.00025, *_PAGE_S, 10.0)
_OF_THE_STORE = tuple((code,) for code, error in CODES.items() if issubclass(error, StoreError))
_SPILL_BYTES = tuple(float(8 << (10 + 2 * step)) for step in range(9))  # 8 KiB to 512 MiB


class Metrics(ActWatcher):
    """Counts in a registry of its own, which `registry` hands to whoever exposes it."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._tools: dict[str, str] = {}
        self._make_spills()
        self._make_pages()
        self._make_failures()
        self._make_redis()
        info = Gauge("spillcache_build_info", "Constant 1.", ("version", "python"), registry=self.registry)
        info.labels(version("spillcache"), platform.python_version()).set(1)

    def _make_spills(self) -> None:
        of_tool = ("tool",)
        self._spills = Counter("spillcache_spills", "Spills stored.", of_tool, registry=self.registry)
        self._bytes = Counter("spillcache_spill_bytes", "Bytes of payload stored.", registry=self.registry)
        self._stored = Counter("spillcache_stored_bytes", "Bytes that they take as frames.", registry=self.registry)
        self._sizes = Histogram(
            "spillcache_spill_size_bytes", "Size of a payload stored.", buckets=_SPILL_BYTES, registry=self.registry
        )
        self._refused = Counter(
            "spillcache_spills_refused", "Results that were not stored, by code.", ("code",), registry=self.registry
        )
        _begin(self._refused, (PayloadTooLarge.code,), *_OF_THE_STORE)

    def _make_pages(self) -> None:
        walks = ("tool", "of")
        pages = Counter("spillcache_pages", "Pages served, by what they say.", ("status",), registry=self.registry)
        self._pages = cache(pages.labels)  # finding a label's counter takes longer than counting
        self._page_s = Histogram(
            "spillcache_page_seconds", "Time to make a page, or to fail.", buckets=_PAGE_S, registry=self.registry
        )
        self._begun = Counter(
            "spillcache_walks_begun", "First pages, of a payload or of one result.", walks, registry=self.registry
        )
        self._completed = Counter("spillcache_walks_completed", "Last pages of a walk.", walks, registry=self.registry)
        self._over: OrderedDict[int, None] = OrderedDict()

    def _make_failures(self) -> None:
        self._acts = cache(
            Counter("spillcache_acts", "Acts that ended well.", ("verb",), registry=self.registry).labels
        )
        self._errors = Counter("spillcache_errors", "Acts that failed.", ("verb", "code"), registry=self.registry)
        self._losses = Counter(
            "spillcache_losses", "Spills found lost or corrupt before their time.", ("code",), registry=self.registry
        )
        _begin(self._losses, (SpillLost.code,), (SpillCorrupt.code,))
        _begin(self._errors, *((verb, *code) for verb in get_args(Verb) for code in _OF_THE_STORE))
        self._renewals = Counter("spillcache_lease_renewals", "Leases renewed by reading.", registry=self.registry)

    def _make_redis(self) -> None:
        redis_s = Histogram(
            "spillcache_redis_seconds",
            "Time of an operation on Redis, its waiting for a place not counted.",
            ("operation",),
            buckets=_REDIS_S,
            registry=self.registry,
        )
        self._redis_s = cache(redis_s.labels)
        self._wait_s = Histogram(
            "spillcache_redis_wait_seconds",
            "Time that an operation waited for a place.",
            buckets=_REDIS_S,
            registry=self.registry,
        )

    def ended(self, verb: Verb, spill_id: str, took_s: float, error: BaseException | None) -> None:
        """Times pages and counts what failed. Cancelled acts count as pages' time, and as no error."""
        if verb == "page":
            self._page_s.observe(took_s)
        if error is None:
            self._acts(verb).inc()
        if not isinstance(error, Exception):
            return
        code = error.code if isinstance(error, SpillError) else "internal"
        self._errors.labels(verb, code).inc()
        if isinstance(error, SpillLost | SpillCorrupt):
            self._losses.labels(code).inc()

    def spill_written(self, written: Written) -> None:
        """Counts a spill and its bytes."""
        self._spills.labels(self._tool(written.tool)).inc()
        self._bytes.inc(written.size)
        self._stored.inc(written.stored)
        self._sizes.observe(written.size)

    def spill_refused(self, refused: Refused) -> None:
        """Counts what was not stored."""
        self._refused.labels(refused.code).inc()

    def page_served(self, served: Served) -> None:
        """Counts a page, and where walks begin and complete: once, however often its last page is read again.

        A walk of one result is told from one of the whole payload by where it begins: no result begins at byte 0 but
        in a payload that is nothing else.
        """
        self._pages(served.status).inc()
        if served.began:
            walks = (self._tool(served.tool), "result" if served.start else "payload")
            self._begun.labels(*walks).inc()
            self._completed.labels(*walks)  # there from now on, at 0: walks that never end must not be missing
        whole, one = served.status == "COMPLETE", served.result_status == "COMPLETE"
        if not (whole or one) or self._was_over(served.walk):
            return
        self._completed.labels(self._tool(served.tool), "payload" if whole else "result").inc()

    def _was_over(self, walk: int) -> bool:
        """Whether a walk's last page was served before, as far as is remembered; now it was."""
        if walk in self._over:
            self._over.move_to_end(walk)
            return True
        self._over[walk] = None
        if len(self._over) > MAX_WALKS:
            self._over.popitem(last=False)
        return False

    def lease_renewed(self, whole: bool) -> None:
        """Counts a renewal; one that found a part gone is counted as the loss that the act then raises."""
        if whole:
            self._renewals.inc()

    def redis_used(self, operation: str, waited_s: float, took_s: float) -> None:
        """Times Redis, and the wait for it."""
        self._redis_s(operation).observe(took_s)
        self._wait_s.observe(waited_s)

    def failed(self, where: str, error: SpillError) -> None:
        """Counts what a face refused by itself."""
        self._errors.labels(where, error.code).inc()

    def _tool(self, name: str) -> str:
        """The label of a tool: its name as it may be shown, while there is room."""
        found = self._tools.get(name)
        if found is not None:
            return found
        if len(self._tools) >= MAX_TOOLS:
            return OTHER_TOOLS
        self._tools[name] = shown_name(name)
        return self._tools[name]


def _begin(counter: Counter, *labels: tuple[str, ...]) -> None:
    """Expose series at 0: of one that only begins with its first count, `rate` does not see that count."""
    for values in labels:
        counter.labels(*values)
