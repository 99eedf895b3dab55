"""Every field of a stored spill, damaged in every way, at every step: a typed error, never short or wrong data."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis

from spillcache import Page
from spillcache.errors import SpillCorrupt, SpillError, SpillLost, SpillNotFound
from spillcache.frame import CHUNK_BYTES
from spillcache.sync import SpillCache
from tests.cache.faults import DAMAGES, TYPED, Damage, Stored
from tests.servers.caches import metrics, noise, sync_cache_on

PAYLOAD = metrics(results=6, points=700)
BUDGET = 7_500


@pytest.fixture
def cache(redis_url: str) -> Iterator[SpillCache]:
    """A cache without asyncio: what is read is the same, and there are many reads here."""
    with sync_cache_on(redis_url, budget_bytes=BUDGET) as made:
        yield made


@pytest.fixture
def stored(redis_url: str, cache: SpillCache) -> Iterator[Stored]:
    """A spill of several chunks."""
    with redis.Redis.from_url(redis_url) as admin:
        yield Stored(admin, cache.put(PAYLOAD).spill_id)


def chunk_fields(stored: Stored) -> list[str]:
    """The chunks' names, in order."""
    return sorted((name for name in stored.fields() if name.isdigit()), key=int)


def page_that_needs(cache: SpillCache, spill_id: str, chunk: str) -> Callable[[], Page]:
    """Walk until the next page begins in `chunk`; returns how to ask for that page."""
    cursor: str | None = None
    for page in cache.walk(spill_id):
        if page.end // CHUNK_BYTES == int(chunk) and page.next_cursor:
            cursor = page.next_cursor
            break
    assert cursor is not None
    return lambda: cache.page(spill_id, cursor=cursor)


def readings(cache: SpillCache, spill_id: str, field: str) -> list[Callable[[], object]]:
    """All ways to read `field`, page 1 and later pages alike."""
    page = cache.page(spill_id)
    if field == "m":
        return [
            lambda: cache.page(spill_id),
            lambda: cache.page(spill_id, cursor=page.next_cursor),
            lambda: cache.page(spill_id, result=1),
            lambda: cache.inventory(spill_id),
            lambda: cache.fetch(spill_id),
            lambda: cache.stat(spill_id),
            lambda: cache.delete(spill_id),
        ]
    if field == "inv":
        return [
            lambda: cache.inventory(spill_id),
            lambda: cache.page(spill_id, result="query 1"),
            lambda: cache.series(spill_id),
        ]
    if field in ("series", "has"):
        return [lambda: cache.series(spill_id), lambda: cache.page(spill_id, view="compact")]
    if field == "meta":
        return [lambda: cache.page(spill_id)]
    first = [lambda: cache.page(spill_id)] if field == "0" else []
    return [page_that_needs(cache, spill_id, field), lambda: cache.fetch(spill_id), *first]


@pytest.mark.parametrize("how", DAMAGES)
def test_every_reader_of_a_damaged_field_says_so(cache: SpillCache, stored: Stored, how: str) -> None:
    """Manifest, inventory, summary, series and every chunk; by version byte, digest, header, body and length."""
    damage, error = DAMAGES[how]
    for field, sound in stored.fields().items():
        ways = readings(cache, stored.spill_id, field)
        stored.damage(field, damage)
        for read in ways:
            with pytest.raises(error) as raised:
                read()
            assert raised.value.as_dict()["status"] == "FAILED"
        stored.set(field, sound)
    assert cache.fetch(stored.spill_id) == PAYLOAD


def test_every_bit_of_a_manifest_is_guarded(cache: SpillCache, stored: Stored) -> None:
    """There is no bit of it that a reader would not miss."""
    sound = stored.fields()["m"]
    for place in range(8 * len(sound)):
        number = int.from_bytes(sound) ^ 1 << place
        stored.set("m", number.to_bytes(len(sound)))
        with pytest.raises(TYPED):
            cache.page(stored.spill_id)


@pytest.mark.parametrize("field", ["m", "inv", "meta", "series", "0", "1", "2"])
def test_every_reader_of_a_lost_field_says_so(cache: SpillCache, stored: Stored, field: str) -> None:
    """Lost to whoever had read of the spill; not found, without its manifest, to who comes new."""
    ways = readings(cache, stored.spill_id, field)
    stored.lose(field)
    for read in ways:
        with pytest.raises((SpillLost, SpillNotFound) if field == "m" else SpillLost):
            read()


@pytest.mark.parametrize("field", ["inv", "meta", "series", "has"])
def test_what_does_not_need_a_damaged_field_goes_on(cache: SpillCache, stored: Stored, field: str) -> None:
    """A walk under way reads neither inventory nor summary nor series, and ends exact."""
    page = cache.page(stored.spill_id)
    stored.lose(field)
    rest = list(cache.walk(stored.spill_id, cursor=page.next_cursor))
    assert page.data + b"".join(later.data for later in rest) == PAYLOAD
    assert rest[-1].status == "COMPLETE"


def test_a_field_in_the_place_of_another_is_corrupt(cache: SpillCache, stored: Stored) -> None:
    """Every ordered pair of fields: each is bound to its own name, though it is whole."""
    fields = stored.fields()
    for field, sound in fields.items():
        ways = readings(cache, stored.spill_id, field)
        for other in fields.keys() - {field}:
            stored.set(field, fields[other])
            for read in ways:
                with pytest.raises(SpillCorrupt):
                    read()
        stored.set(field, sound)


def test_a_field_of_another_spill_is_corrupt(cache: SpillCache, stored: Stored) -> None:
    """Even of a spill of the same payload, so that the bytes alone would fit."""
    twin = Stored(stored.admin, cache.put(PAYLOAD).spill_id)
    for field, sound in stored.fields().items():
        ways = readings(cache, stored.spill_id, field)
        stored.set(field, twin.fields()[field])
        for read in ways:
            with pytest.raises(SpillCorrupt):
                read()
        stored.set(field, sound)


def test_a_spill_under_another_ones_key_is_corrupt(cache: SpillCache, stored: Stored) -> None:
    """A key that was renamed or restored to a wrong place is not served as that place's spill."""
    other = Stored(stored.admin, cache.put(PAYLOAD).spill_id)
    for field, value in other.fields().items():
        stored.set(field, value)
    with pytest.raises(SpillCorrupt):
        cache.page(stored.spill_id)


@pytest.mark.parametrize("kind", ["string", "list"])
def test_a_key_of_another_type_is_a_typed_error(cache: SpillCache, stored: Stored, kind: str) -> None:
    """Somebody else's key under our name is no data and no crash."""
    page = cache.page(stored.spill_id)
    stored.drop()
    key = f"sc:{{{stored.spill_id}}}:0"
    stored.admin.set(key, b"x", ex=60) if kind == "string" else stored.admin.rpush(key, b"x")
    stored.admin.expire(key, 60)
    for cursor in (None, page.next_cursor):
        with pytest.raises(SpillError):
            cache.page(stored.spill_id, cursor=cursor)


@pytest.mark.parametrize("step", range(5))
def test_a_walk_that_loses_its_next_chunk_ends_there_with_all_before_exact(
    cache: SpillCache, stored: Stored, step: int
) -> None:
    """Whatever was served until then is right; nothing after it is; and it is never COMPLETE."""
    pages: list[Page] = []
    with pytest.raises(SpillLost):  # noqa: PT012 - the walk itself is what must raise, at some page of it
        for page in cache.walk(stored.spill_id):
            pages.append(page)
            if len(pages) == step + 1:
                for field in chunk_fields(stored)[page.end // CHUNK_BYTES :]:
                    stored.lose(field)
    served = b"".join(page.data for page in pages)
    assert PAYLOAD.startswith(served)
    assert {page.status for page in pages} == {"PARTIAL"}


@pytest.mark.parametrize("damage", [damage for damage, _ in DAMAGES.values()], ids=list(DAMAGES))
def test_binary_data_is_guarded_alike(cache: SpillCache, redis_url: str, damage: Damage) -> None:
    """Chunks without a table of cuts, stored raw, have the same seal."""
    with redis.Redis.from_url(redis_url) as admin:
        stored = Stored(admin, cache.put(noise(40_000)).spill_id)
        stored.damage("1", damage)
        with pytest.raises(TYPED):
            list(cache.walk(stored.spill_id))
        with pytest.raises(TYPED):
            cache.fetch(stored.spill_id)
