"""Any single fault at any step of any walk: the walk is exact, or ends with a typed error; there is nothing between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st

from spillcache.sync import SpillCache
from tests.cache.faults import TYPED, Stored
from tests.servers.caches import metrics, noise, sync_cache_on

PAYLOADS = {
    "json": metrics(results=4, points=700),
    "text": "".join(f"line {number} – ünïcödé\n" for number in range(2_000)).encode(),
    "binary": noise(40_000),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to the stored spill, after how many pages; `choice` picks a field, `other` a second one."""

    what: str
    after: int
    choice: int
    other: int
    place: int
    bit: int


FAULTS = st.builds(
    Fault,
    what=st.sampled_from(["flip", "cut", "extend", "swap", "lose", "drop", "from a twin"]),
    after=st.integers(0, 20),
    choice=st.integers(0, 40),
    other=st.integers(0, 40),
    place=st.integers(0, 20_000),
    bit=st.integers(0, 7),
)


@pytest.fixture
def cache(redis_url: str) -> Iterator[SpillCache]:
    """One cache for all examples."""
    with sync_cache_on(redis_url) as made:
        yield made


@given(kind=st.sampled_from(sorted(PAYLOADS)), fault=FAULTS, budget=st.sampled_from([1_500, 7_500, 48_000]))
def test_no_single_fault_makes_a_walk_short_or_wrong(
    cache: SpillCache, redis_url: str, kind: str, fault: Fault, budget: int
) -> None:
    """Every page that is served holds the payload's own bytes, and COMPLETE stands only at the end of all of them."""
    payload = PAYLOADS[kind]
    with redis.Redis.from_url(redis_url) as admin:
        stored = Stored(admin, cache.put(payload).spill_id)
        twin = Stored(admin, cache.put(payload).spill_id)
        end, status = 0, "PARTIAL"
        try:
            if fault.after == 0:
                inflict(fault, stored, twin)
            for number, page in enumerate(cache.walk(stored.spill_id, budget=budget), 1):
                assert page.start == end
                assert page.data == payload[page.start : page.end]
                end, status = page.end, page.status
                if number == fault.after:
                    inflict(fault, stored, twin)
        except TYPED:
            assert status == "PARTIAL"
        else:
            assert (status, end) == ("COMPLETE", len(payload))


def inflict(fault: Fault, stored: Stored, twin: Stored) -> None:
    """Do it."""
    names = sorted(stored.fields())
    field, other = names[fault.choice % len(names)], names[fault.other % len(names)]
    value = stored.fields()[field]
    at = fault.place % len(value)
    match fault.what:
        case "flip":
            stored.set(field, value[:at] + bytes((value[at] ^ 1 << fault.bit,)) + value[at + 1 :])
        case "cut":
            stored.set(field, value[:at])
        case "extend":
            stored.set(field, value + value[: at + 1])
        case "swap":
            stored.set(field, stored.fields()[other])
            stored.set(other, value)
        case "from a twin":
            stored.set(field, twin.fields()[field])
        case "lose":
            stored.lose(field)
        case _:
            stored.drop()
