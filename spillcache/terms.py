"""The terms under which a cache stores and serves: sizes, times, and how its answers travel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from spillcache.errors import ArgumentsInvalid
from spillcache.wire import PLAIN, Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Settings of one cache. Sizes in bytes, times in seconds.

    `ttl_s` is the lease: how long after the last read a spill is promised to stay. Redis is given 4/3 of it, because
    reads renew only when a quarter has passed. `max_age_s` ends all renewing. `budget_bytes` is the size cap of every
    answer on the wire, and what is small enough to go through unspilled. `preview_bytes` are head and tail.
    `scan_window_bytes` and `stream_window_bytes` say how much of a payload, at hand or streamed, is looked through for
    results.
    `clock` and `monotonic` give seconds, `random` gives bytes of a cryptographic source.
    """

    clock: Callable[[], float]
    monotonic: Callable[[], float]
    random: Callable[[int], bytes]
    ttl_s: float = 900
    max_age_s: float = 86_400
    budget_bytes: int = 7_500
    max_payload_bytes: int = 256 << 20
    preview_bytes: tuple[int, int] = (1024, 256)
    scan_window_bytes: int = 128 << 20
    stream_window_bytes: int = 8 << 20
    tool_name: str = "search_query_spill"
    wire: Wire = PLAIN

    def __post_init__(self) -> None:
        if self.ttl_s <= 0 or self.max_age_s <= 0:
            raise ArgumentsInvalid("ttl_s and max_age_s must be positive")
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


def stored_ttl_ms(ttl_ms: int) -> int:
    """4/3 of the advertised lease: a read that comes just before a quarter has passed leaves a whole lease."""
    return -(-ttl_ms * 4 // 3)
