"""Reading a page by cursor, over a bare GET of the same bytes by the same client; in small and in large spills."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
import redis
import redis.asyncio

from benchmarks import caches, corpora
from benchmarks.figure import Figure, Findings, Spread, Table
from benchmarks.place import has_uvloop, served
from benchmarks.scale import Scale, mib, say
from benchmarks.timing import Times, interleave, interleave_async
from spillcache import Page
from spillcache.frame import CHUNK_BYTES, SEGMENT_BYTES
from spillcache.sync import SpillCache

BUDGET = 7_500  #: the default, so that no call has to name it
BAR, BAR_LARGE = 2.0, 1.1
#: As long as one segment can be: more chunks, but still one key.
_ONE_SEGMENT = SEGMENT_BYTES

_GET, _DEFAULT, _KEPT = "GET, the store's client", "GET, redis-py's default client", "GET, the store's kept connection"
_PAGE, _SENT = "page", "page, serialised"
_LONGEST_KEY = "page, one full segment"
_LARGE = "page, large spill"


@dataclass(frozen=True, slots=True)
class Walked:
    """A stored spill with cursors into it; `keys[n]` holds, as a plain value, what the page of `cursors[n]` sends."""

    spill_id: str
    segments: int
    cursors: tuple[str, ...]
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Spills:
    """The same document short, as long as one segment, and large."""

    short: Walked
    segment: Walked
    large: Walked


def measure(scale: Scale) -> Findings:
    """All of this file's figures."""
    with served() as server:
        with caches.open_sync(server.url) as cache:
            say(f"pages: storing {mib(scale.large)}")
            spills = _store(cache, scale.large)
            runs = {"sync": [_sync(cache, server.url, spills, scale, turn) for turn in range(scale.repeats)]}
        for loop, factory in _loops().items():
            runs[loop] = [_asyncio(server.url, spills, scale, loop, factory, turn) for turn in range(scale.repeats)]
        counts = _commands(server.url)
    figures = [figure for side, times in runs.items() for figure in _figures(side, times, spills.large, scale.large)]
    return Findings((*figures, counts), (_detail(runs),))


def _store(cache: SpillCache, large: int) -> Spills:
    assert cache._terms.budget_bytes == BUDGET
    payload = corpora.batch()
    spill_id = cache.put(payload).spill_id
    assert spill_id is not None
    pages = list(cache.walk(spill_id))
    client = caches.client_of(cache)
    keys = tuple(f"plain:{number}" for number in range(1, len(pages)))
    for key, page in zip(keys, pages[1:], strict=True):
        client.set(key, orjson.dumps(page.as_dict()), ex=int(caches.TTL_S))
    short = Walked(spill_id, 1, tuple(page.next_cursor for page in pages if page.next_cursor is not None), keys)
    return Spills(short, _alike(cache, _ONE_SEGMENT, pages), _alike(cache, large, pages))


def _alike(cache: SpillCache, size: int, like: list[Page]) -> Walked:
    """A larger spill, with cursors spread over it that lie as far into their chunks as those of `like`.

    Where in a chunk a page begins decides whether one or two chunks are read, so both must be mixed alike.
    """
    spill_id = cache.put(corpora.enlarged(corpora.batch(), size)).spill_id
    assert spill_id is not None
    pages = list(cache.walk(spill_id))
    places = [(page.end % CHUNK_BYTES, page.next_cursor) for page in pages if page.next_cursor is not None]
    wanted = [page.start % CHUNK_BYTES for page in like[1:]]
    share = len(places) / len(wanted)
    chosen = []
    for number, offset in enumerate(wanted):
        near = places[int(number * share) : max(int((number + 1) * share), int(number * share) + 1)]
        chosen.append(min(near, key=lambda place: abs(place[0] - offset))[1])
    return Walked(spill_id, cache.stat(spill_id).segments, tuple(chosen))


def _loops() -> dict[str, Callable[[], asyncio.AbstractEventLoop] | None]:
    loops: dict[str, Callable[[], asyncio.AbstractEventLoop] | None] = {"asyncio": None}
    if has_uvloop():
        loops["asyncio on uvloop"] = importlib.import_module("uvloop").new_event_loop
    return loops


def _sync(cache: SpillCache, url: str, spills: Spills, scale: Scale, turn: int) -> Times:
    say(f"pages: sync, repeat {turn + 1} of {scale.repeats}")
    client, kept, short = caches.client_of(cache), caches.kept_of(cache), spills.short
    count = len(short.cursors)

    def read(spill: Walked) -> Callable[[int], Page]:
        return lambda at: cache.page(spill.spill_id, cursor=spill.cursors[at % count])

    page = read(short)
    with redis.Redis.from_url(url) as default:
        calls: dict[str, Callable[[int], object]] = {
            _GET: lambda at: client.get(short.keys[at % count]),
            _DEFAULT: lambda at: default.get(short.keys[at % count]),
            _KEPT: lambda at: kept.execute("GET", short.keys[at % count]),
            _PAGE: page,
            _SENT: lambda at: orjson.dumps(page(at).as_dict()),
            _LONGEST_KEY: read(spills.segment),
            _LARGE: read(spills.large),
        }
        return interleave(calls, scale.page_rounds)


def _asyncio(url: str, spills: Spills, scale: Scale, loop: str, factory: Any, turn: int) -> Times:
    say(f"pages: {loop}, repeat {turn + 1} of {scale.repeats}")
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(_awaited(url, spills, scale.page_rounds))


async def _awaited(url: str, spills: Spills, rounds: int) -> Times:
    short = spills.short
    count = len(short.cursors)
    async with caches.open_async(url) as cache, redis.asyncio.Redis.from_url(url) as default:
        client, kept = caches.async_client_of(cache), caches.async_kept_of(cache)

        def read(spill: Walked) -> Callable[[int], Any]:
            return lambda at: cache.page(spill.spill_id, cursor=spill.cursors[at % count])

        page = read(short)

        async def sent(at: int) -> bytes:
            return orjson.dumps((await page(at)).as_dict())

        calls: dict[str, Callable[[int], Any]] = {
            _GET: lambda at: client.get(short.keys[at % count]),
            _DEFAULT: lambda at: default.get(short.keys[at % count]),
            _KEPT: lambda at: kept.execute("GET", short.keys[at % count]),
            _PAGE: page,
            _SENT: sent,
            _LONGEST_KEY: read(spills.segment),
            _LARGE: read(spills.large),
        }
        return await interleave_async(calls, rounds)


def _commands(url: str) -> Figure:
    """Redis commands of each page of a walk after its first, which renews the lease."""
    say("pages: counting commands")
    with caches.open_sync(url) as cache, redis.Redis.from_url(url) as asking:
        spill_id = cache.put(corpora.batch()).spill_id
        assert spill_id is not None
        start = caches.commands(asking)
        page = cache.page(spill_id)
        first = caches.difference(start, caches.commands(asking))
        counts, names = [], set[str]()
        while page.next_cursor is not None:
            before = caches.commands(asking)
            page = cache.page(spill_id, cursor=page.next_cursor)
            ran = caches.difference(before, caches.commands(asking))
            counts.append(sum(ran.values()))
            names |= ran.keys()
    return Figure(
        "Redis commands of a page by cursor that does not renew",
        Spread.of(counts),
        unit=" ".join(sorted(names)).upper(),
        bar="exactly 1",
        limit=1,
        exact=True,
        digits=0,
        note=f"{len(counts)} pages; page 1, which renews, takes {sum(first.values())} ({_listed(first)})",
    )


def _listed(ran: dict[str, int]) -> str:
    return ", ".join(f"{calls} {name.upper()}" for name, calls in sorted(ran.items()))


def _figures(side: str, runs: list[Times], large: Walked, size: int) -> list[Figure]:
    def over(what: str, base: str) -> Spread:
        return Spread.of(times[what] / times[base] for times in runs)

    def p50(what: str) -> str:
        return f"{Spread.of(times[what] for times in runs).median:.0f} µs"

    note = f"page {p50(_PAGE)}, GET {p50(_GET)}; over redis-py's default client {over(_PAGE, _DEFAULT).median:.2f} ×, "
    note += f"over GET on the kept connection that pages use {over(_PAGE, _KEPT).median:.2f} ×"
    return [
        Figure(
            f"page of {BUDGET:,} bytes, {side}: p50 over bare GET",
            over(_PAGE, _GET),
            bar=f"≤ {BAR} ×",
            limit=BAR,
            note=note,
        ),
        Figure(f"the same with the answer serialised, {side}", over(_SENT, _GET), note=f"page {p50(_SENT)}"),
        Figure(
            f"page in {mib(size)} over page in 345 KB, {side}",
            over(_LARGE, _PAGE),
            bar=f"≤ {BAR_LARGE} ×",
            limit=BAR_LARGE,
            note=f"{large.segments} segments; in one full segment {over(_LONGEST_KEY, _PAGE).median:.2f} ×",
        ),
    ]


def _detail(runs: dict[str, list[Times]]) -> Table:
    names = (_GET, _DEFAULT, _KEPT, _PAGE, _SENT, _LONGEST_KEY, _LARGE)
    rows = tuple(
        (name, *(f"{Spread.of(times[name] for times in one).median:.1f}" for one in runs.values())) for name in names
    )
    return Table(f"One read, p50 in µs ({BUDGET:,} bytes, interleaved call by call)", ("call", *runs), rows)
