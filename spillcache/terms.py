"""The terms under which a cache stores and serves: sizes, times, and how its answers travel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

from spillcache import defaults
from spillcache.errors import ArgumentsInvalid
from spillcache.watch import Watcher
from spillcache.wire import PLAIN, Wire

_LONGEST_S = 10**10  # three centuries: fits the manifest, and Redis


@dataclass(frozen=True, slots=True)
class Reading:
    """How a spill is going to be read: the budget in bytes of its pages, and their wire. For estimates only."""

    budget_bytes: int
    wire: Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Settings of one cache. Sizes in bytes, times in seconds.

    `ttl_s` is the lease: how long after the last read a spill is promised to stay. Redis is given 4/3 of it, because
    reads renew only when a quarter has passed. `max_age_s` ends all renewing. `budget_bytes` is the size cap of every
    answer on the wire, and what is small enough to go through unspilled. `preview_bytes` are head and tail.
    `scan_window_bytes` and `stream_window_bytes` say how much of a payload, at hand or streamed, is looked through for
    results. `reading` says how pages will be asked for, where that is not as envelopes are made.
    `series` says whether time series are looked for when a spill is written, which takes about as long as the scan; the
    list of series and the compact view need it.
    `clock` and `monotonic` give seconds, `random` gives bytes of a cryptographic source.
    """

    clock: Callable[[], float]
    monotonic: Callable[[], float]
    random: Callable[[int], bytes]
    ttl_s: float = defaults.TTL_S
    max_age_s: float = defaults.MAX_AGE_S
    budget_bytes: int = defaults.BUDGET_BYTES
    max_payload_bytes: int = defaults.MAX_PAYLOAD_BYTES
    preview_bytes: tuple[int, int] = defaults.PREVIEW_BYTES
    scan_window_bytes: int = defaults.SCAN_WINDOW_BYTES
    stream_window_bytes: int = defaults.STREAM_WINDOW_BYTES
    tool_name: str = defaults.TOOL_NAME
    wire: Wire = PLAIN
    series: bool = True
    reading: Reading | None = None

    def __post_init__(self) -> None:
        if not (0 < self.ttl_s <= _LONGEST_S and 0 < self.max_age_s <= _LONGEST_S):  # NaN is neither
            raise ArgumentsInvalid(f"ttl_s and max_age_s must be positive and at most {_LONGEST_S} seconds")
        if min(self.preview_bytes) < 0 or self.max_payload_bytes < 1:
            raise ArgumentsInvalid("sizes must not be negative")

    @property
    def ttl_ms(self) -> int:
        """The advertised lease in milliseconds."""
        return max(1, round(self.ttl_s * 1000))

    @property
    def stored_ttl_ms(self) -> int:
        """What Redis is given."""
        return stored_ttl_ms(self.ttl_ms)

    @property
    def max_age_ms(self) -> int:
        """The age beyond which reads no longer renew."""
        return round(self.max_age_s * 1000)


class TermOptions(TypedDict, total=False):
    """The terms that a program may set, as keyword arguments; see `Terms`."""

    ttl_s: float
    max_age_s: float
    budget_bytes: int
    max_payload_bytes: int
    preview_bytes: tuple[int, int]
    scan_window_bytes: int
    stream_window_bytes: int
    tool_name: str
    wire: Wire
    series: bool


class CacheOptions(TermOptions, total=False):
    """The same, whose spills they are, and who watches; clock and random source are there for tests."""

    tenant: str
    watcher: Watcher
    clock: Callable[[], float]
    random: Callable[[int], bytes]


class StoreOptions(CacheOptions, total=False):
    """The same, and how the store is used; see `SpillCache.from_client`."""

    prefix: str
    write_deadline_s: float
    concurrency: int
    wait_replicas: int


def stored_ttl_ms(ttl_ms: int) -> int:
    """4/3 of the advertised lease: a read that comes just before a quarter has passed leaves a whole lease."""
    return -(-ttl_ms * 4 // 3)
