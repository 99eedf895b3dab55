# Generated from spillcache/_async/cache.py by scripts/unasync.py: edit that.
"""`SpillCache`: one verb per action. Here verbs meet the write path (`writer`) and the read path (`reader`)."""

from __future__ import annotations

import io
import logging
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, TypeGuard, TypeVar, Unpack, get_args

from spillcache import defaults
from spillcache._sync.connect import connect
from spillcache._sync.gate import compute
from spillcache._sync.reader import Reader, Stat
from spillcache._sync.searching import Asked, Searcher
from spillcache._sync.store import Client, Store
from spillcache._sync.viewing import Tables, Viewer
from spillcache._sync.writer import BATCH_BYTES, Scanned, SpillWriter, make_envelope, scan_payload, write_spill
from spillcache.cursor import WalkKind, claimed_kind, is_given
from spillcache.embedded.server import EmbeddedServer
from spillcache.envelope import Ends, Envelope, ends_of, failed
from spillcache.errors import ArgumentsInvalid, BudgetTooSmall, SlotMoved, SpillError, StoreUnavailable
from spillcache.ids import RANDOM_BYTES, new_id
from spillcache.keyring import Keyring
from spillcache.listing import Listing
from spillcache.page import Page, View
from spillcache.payload import to_bytes
from spillcache.scan import Kind
from spillcache.search import Matches
from spillcache.series_listing import SeriesListing
from spillcache.terms import CacheOptions, Reading, StoreOptions, TermOptions, Terms
from spillcache.watch import UNWATCHED, Refused, Watcher
from spillcache.wire import Wire

T = TypeVar("T")

_VIEWS = get_args(View)
#: Tables of series that are remembered: every page of the compact view needs one, and each takes up to some 20 MB.
_TABLES = 4

_log = logging.getLogger("spillcache")


class Readable(Protocol):
    """A binary file, or what reads like one."""

    def read(self, size: int, /) -> bytes | None:
        """The next bytes, at most `size`; none at the end."""
        ...


class SpillCache:
    """Stores payloads once and serves them page by page, from any process.

    ```python
    with SpillCache.from_url("redis://localhost", keyring=Keyring.from_file("keyring.json")) as cache:
        envelope = cache.put(payload, tool="prometheus_batch")
        for page in cache.walk(envelope.spill_id):
            print(page.position, page.status)
    ```

    Made by `from_url`, `from_client` or `embedded`. `keyring` signs cursors and receipts and may
    be None where only writing is done. See `Terms` for sizes and times. One cache belongs to one event loop of one
    process. Every method raises `SpillError` and nothing else for what can go wrong outside the program.
    """

    def __init__(
        self,
        store: Store,
        *,
        keyring: Keyring | None,
        tenant: str = defaults.TENANT,
        watcher: Watcher = UNWATCHED,
        clock: Callable[[], float] = time.time,
        random: Callable[[int], bytes] = os.urandom,
        **terms: Unpack[TermOptions],
    ) -> None:
        self._terms = Terms(clock=clock, monotonic=time.monotonic, random=random, **terms)
        self._store = store
        self._keyring = keyring
        self._tenant = tenant
        self._watcher = watcher
        self._server: EmbeddedServer | None = None
        self._checked = False
        self._tables = Tables(_TABLES)

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        keyring: Keyring | None,
        read_deadline_s: float = defaults.READ_DEADLINE_S,
        **options: Unpack[StoreOptions],
    ) -> Self:
        """A cache on the Redis at `url`: `redis://`, `rediss://`, `unix://`, `redis+cluster://` or `redis+sentinel://`.

        Nothing is connected yet. `options` are those of `from_client`, of the class, and of `Terms`.
        """
        client = connect(url, deadline_s=read_deadline_s)
        return cls.from_client(client, keyring=keyring, read_deadline_s=read_deadline_s, **options)

    @classmethod
    def from_client(
        cls,
        client: Client,
        *,
        keyring: Keyring | None,
        prefix: str = defaults.PREFIX,
        read_deadline_s: float = defaults.READ_DEADLINE_S,
        write_deadline_s: float = defaults.WRITE_DEADLINE_S,
        concurrency: int = defaults.CONCURRENCY,
        wait_replicas: int = defaults.WAIT_REPLICAS,
        **options: Unpack[CacheOptions],
    ) -> Self:
        """A cache on a redis-py client of one's own, which closing the cache closes.

        `prefix` begins every key. An operation takes at most `read_deadline_s` or `write_deadline_s`, with its wait for
        one of `concurrency` places; without asyncio, each wait on the socket is bounded by the read deadline instead.
        `wait_replicas` must confirm a spill before its envelope is returned.

        Raises `ServerUnsupported` for one with `decode_responses=True`, which cannot carry binary values.
        """
        store = Store(
            client,
            prefix=prefix,
            read_deadline_s=read_deadline_s,
            write_deadline_s=write_deadline_s,
            concurrency=concurrency,
            wait_replicas=wait_replicas,
            watcher=options.get("watcher", UNWATCHED),
        )
        return cls(store, keyring=keyring, **options)

    @classmethod
    def embedded(cls, *, keyring: Keyring | None = None, **options: Unpack[StoreOptions]) -> Self:
        """A cache on a Valkey of its own, which ends with this process: for tests, notebooks and single-node tools.

        Without a `keyring` it makes a key that nobody else has, and says so in the log.
        """
        if keyring is None:
            keyring = Keyring.from_secret(os.urandom(32), kid="embedded")
            _log.info("embedded_key_made", extra={"meaning": "cursors are good in this process only"})
        server = EmbeddedServer.start()
        try:
            cache = cls.from_url(server.url, keyring=keyring, **options)
        except BaseException:
            server.stop()
            raise
        cache._server = server
        return cache

    @property
    def watcher(self) -> Watcher:
        """Who hears what this cache does; a face tells it what it refuses itself."""
        return self._watcher

    @property
    def tool_name(self) -> str:
        """The tool that its envelopes tell agents to call."""
        return self._terms.tool_name

    @property
    def max_payload_bytes(self) -> int:
        """The largest payload that is stored; a face may refuse one that announces more before it comes."""
        return self._terms.max_payload_bytes

    def put(
        self,
        payload: object,
        *,
        tool: str = "",
        tenant: str | None = None,
        budget: int | None = None,
        wire: Wire | None = None,
    ) -> Envelope:
        """Store a payload and return the envelope to hand out in its place.

        `payload` is bytes, text, a binary file or its `Path`, or anything that can be written as JSON. Raises when it
        was not stored: `PayloadTooLarge`, a `StoreError`, `BudgetTooSmall`, `ArgumentsInvalid`.
        """
        with self._watcher.act("put"):
            if isinstance(payload, Path):
                with _open(payload) as file:
                    return self._put_file(file, tool=tool, tenant=tenant, budget=budget, wire=wire)
            if _is_file(payload):
                return self._put_file(payload, tool=tool, tenant=tenant, budget=budget, wire=wire)
            terms = self._with(budget, wire)
            return self._put_scanned(scan_payload(to_bytes(payload), terms), terms, tool, tenant)

    def offer(
        self,
        result: T,
        *,
        tool: str = "",
        tenant: str | None = None,
        budget: int | None = None,
        wire: Wire | None = None,
    ) -> T | Envelope:
        """The result itself when it fits the budget, else an envelope: the one call for the end of a tool.

        Does not raise because of the store or the size: the envelope then says `completeness: failed` and holds the
        largest preview that fits. Raises `ArgumentsInvalid` for what JSON cannot hold, and `BudgetTooSmall`.
        """
        terms = self._with(budget, wire)
        payload = to_bytes(result)
        if _fits(result, payload, terms):
            return result
        return self._spill(payload, terms, tool, tenant)

    def spill(
        self,
        result: object,
        *,
        tool: str = "",
        tenant: str | None = None,
        budget: int | None = None,
        wire: Wire | None = None,
        reading: Reading | None = None,
    ) -> Envelope:
        """The envelope of a result that must not go through, whatever its size: `offer` without the question.

        `reading` is how its pages will be asked for, so that the envelope's estimates are right.
        Does not raise because of the store or the size, as `offer` does not.
        """
        terms = replace(self._with(budget, wire), reading=reading)
        return self._spill(to_bytes(result), terms, tool, tenant)

    def writer(
        self, *, tool: str = "", tenant: str | None = None, budget: int | None = None, wire: Wire | None = None
    ) -> SpillWriter:
        """A writer for a payload that does not fit in memory; see `SpillWriter`."""
        return SpillWriter(
            self._store,
            self._new_id(),
            self._with(budget, wire),
            self._watcher,
            tool=tool,
            tenant=self._who(tenant),
        )

    def page(
        self,
        spill_id: str,
        *,
        cursor: str | None = None,
        result: str | int | None = None,
        view: View = "raw",
        budget: int | None = None,
        tenant: str | None = None,
        wire: Wire | None = None,
    ) -> Page:
        """The page that `cursor` asks for; without one, page 1 of the payload, or of one `result` by name or number.

        A blank cursor counts as none. `budget` may differ from page to page. `view="compact"` shows time series in less
        text with nothing left out; a cursor stays in the view it was made in. Raises `SpillIdMalformed`, `SpillGone`,
        `CursorError`, `ResultNotFound`, `ResultAmbiguous`, `BudgetTooSmall`, `StoreError`; `ArgumentsInvalid` where
        nothing in the compact view would be shorter.
        """
        if view not in _VIEWS:
            raise ArgumentsInvalid('view must be "raw" or "compact"')
        with self._watcher.act("page", spill_id):
            if view == "compact" or (is_given(cursor) and claimed_kind(cursor) is WalkKind.COMPACT):
                return self._viewer().compact(
                    spill_id, cursor, result, tenant=self._who(tenant), terms=self._with(budget, wire)
                )
            return self._reader().page(
                spill_id, cursor, result, tenant=self._who(tenant), terms=self._with(budget, wire)
            )

    def walk(
        self,
        spill_id: str,
        *,
        cursor: str | None = None,
        result: str | int | None = None,
        view: View = "raw",
        budget: int | None = None,
        tenant: str | None = None,
        wire: Wire | None = None,
    ) -> Iterator[Page]:
        """All pages from the first (or from `cursor`) on, one after the other."""
        page = self.page(spill_id, cursor=cursor, result=result, view=view, budget=budget, tenant=tenant, wire=wire)
        yield page
        while page.next_cursor is not None:
            page = self.page(spill_id, cursor=page.next_cursor, budget=budget, tenant=tenant, wire=wire)
            yield page

    def inventory(
        self,
        spill_id: str,
        *,
        cursor: str | None = None,
        budget: int | None = None,
        tenant: str | None = None,
        wire: Wire | None = None,
    ) -> Listing:
        """The named results: all of them, or a page of the list when a `budget` is given."""
        with self._watcher.act("inventory", spill_id):
            return self._reader().inventory(
                spill_id, cursor, budget, tenant=self._who(tenant), terms=self._with(None, wire)
            )

    def series(
        self,
        spill_id: str,
        *,
        result: str | int | None = None,
        cursor: str | None = None,
        budget: int | None = None,
        tenant: str | None = None,
        wire: Wire | None = None,
    ) -> SeriesListing:
        """The time series, of all results or of one, in numbers: all of them, or a page when a `budget` is given.

        Derived when the payload was stored, and never the data. Raises what `page` raises.
        """
        with self._watcher.act("series", spill_id):
            return self._viewer().series(
                spill_id, result, cursor, budget, tenant=self._who(tenant), terms=self._with(None, wire)
            )

    def grep(
        self,
        spill_id: str,
        pattern: str,
        *,
        literal: bool = False,
        ignore_case: bool = False,
        result: str | int | None = None,
        max_matches: int = defaults.MAX_MATCHES,
        context: int = defaults.CONTEXT_BYTES,
        budget: int | None = None,
        tenant: str | None = None,
        wire: Wire | None = None,
    ) -> Matches:
        """Where a pattern (RE2) matches: the first `max_matches`, each with a cursor, and how many there are in all.

        A hatch for one narrow question: neither a match nor the lack of one is the data. `literal` takes the pattern
        as plain text; `result` searches one result alone, as a text of its own; `context` are bytes on either side.
        Raises `PatternInvalid` and what `page` raises.
        """
        asked = Asked(pattern, literal, ignore_case, max_matches, context)
        with self._watcher.act("grep", spill_id):
            return self._searcher().grep(
                spill_id, asked, result, tenant=self._who(tenant), terms=self._with(budget, wire)
            )

    def full(
        self,
        spill_id: str,
        *,
        cursor: str | None = None,
        cap: int = defaults.FULL_BYTES,
        tenant: str | None = None,
        wire: Wire | None = None,
    ) -> Page:
        """One large page, from the start or from a cursor: at most `cap` bytes on the wire, and PARTIAL if not all.

        It goes on like any page, from `next_cursor`, and ends early where a segment of 4 MB does. Raises what `page`
        raises.
        """
        with self._watcher.act("full", spill_id):
            return self._reader().page(spill_id, cursor, None, tenant=self._who(tenant), terms=self._with(cap, wire))

    def fetch(self, spill_id: str, *, tenant: str | None = None) -> bytes:
        """The whole payload, for a program: its size and SHA-256 are verified. Raises `SpillGone`, `StoreError`."""
        return b"".join([block for block in self.stream(spill_id, tenant=tenant)])

    def stream(self, spill_id: str, *, tenant: str | None = None) -> Iterator[bytes]:
        """The whole payload in blocks of about 1 MiB. Only when the iteration ends without an error was it right."""
        with self._watcher.act("stream", spill_id):
            for block in self._reader().stream(spill_id, tenant=self._who(tenant)):
                yield block

    def span(self, spill_id: str, start: int, end: int, *, tenant: str | None = None) -> Iterator[bytes]:
        """Bytes `start` to `end` (exclusive) of the payload in blocks of about 1 MiB, each verified by its digest.

        Raises `ArgumentsInvalid` for a range that is not in the payload, `SpillGone`, `StoreError`.
        """
        with self._watcher.act("stream", spill_id):
            for block in self._reader().span(spill_id, start, end, tenant=self._who(tenant)):
                yield block

    def stat(self, spill_id: str, *, tenant: str | None = None) -> Stat:
        """Size, kind, digest and lease of a spill. Does not renew the lease."""
        with self._watcher.act("stat", spill_id):
            return self._reader().stat(spill_id, tenant=self._who(tenant))

    def delete(self, spill_id: str, *, tenant: str | None = None) -> None:
        """Remove a spill now. Raises `SpillNotFound` when this tenant has none of that id."""
        with self._watcher.act("delete", spill_id):
            self._reader().delete(spill_id, tenant=self._who(tenant))

    def close(self) -> None:
        """Close the connections, and stop the embedded server if there is one."""
        try:
            self._store.close()
        finally:
            if self._server is not None:
                self._server.stop()

    def __enter__(self) -> Self:
        """Refuse a server that is too old. One that is down is not refused: replicas must start without it."""
        try:
            self._check()
        except StoreUnavailable as error:
            _log.warning("store_unavailable_at_start", extra={"code": error.code})
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _spill(self, payload: bytes, terms: Terms, tool: str, tenant: str | None) -> Envelope:
        kind: Kind | None = None
        try:
            with self._watcher.act("put"):
                scanned = scan_payload(payload, terms)
                kind = scanned.kind
                return self._put_scanned(scanned, terms, tool, tenant)
        except BudgetTooSmall:
            raise
        except SpillError as error:
            _log.warning("spill_refused", extra={"code": error.code, "tool": tool, "size": len(payload)})
            self._watcher.spill_refused(Refused(tool, len(payload), error.code))
            ends = _widest_ends(payload, kind or _kind_of_unscanned(payload), terms.budget_bytes)
            return failed(ends, error, tool_name=terms.tool_name, budget=terms.budget_bytes, wire=terms.wire)

    def _put_scanned(self, scanned: Scanned, terms: Terms, tool: str, tenant: str | None) -> Envelope:
        self._check()
        try:
            return self._attempt(scanned, terms, tool, tenant)
        except SlotMoved:  # once more, under a fresh id: what the first attempt left in a moving slot expires by itself
            return self._attempt(scanned, terms, tool, tenant)

    def _attempt(self, scanned: Scanned, terms: Terms, tool: str, tenant: str | None) -> Envelope:
        spill_id = self._new_id()
        envelope = make_envelope(scanned.ends, scanned.contents, scanned.summary, spill_id, terms)
        write_spill(self._store, scanned, spill_id, terms, self._watcher, tool=tool, tenant=self._who(tenant))
        return envelope

    def _put_file(
        self,
        file: Readable,
        *,
        tool: str,
        tenant: str | None,
        budget: int | None,
        wire: Wire | None,
    ) -> Envelope:
        self._check()
        with self.writer(tool=tool, tenant=tenant, budget=budget, wire=wire) as writer:
            while block := compute(BATCH_BYTES, _read, file):
                writer.write(block)
            return writer.finish()

    def _check(self) -> None:
        if not self._checked:
            self._store.check()
            self._checked = True

    def _reader(self) -> Reader:
        return Reader(*self._reading())

    def _viewer(self) -> Viewer:
        return Viewer(*self._reading(), self._tables)

    def _searcher(self) -> Searcher:
        return Searcher(*self._reading())

    def _reading(self) -> tuple[Store, Keyring | None, Terms, Watcher]:
        if self._keyring is not None:
            self._keyring.refresh(self._terms.monotonic())
        return self._store, self._keyring, self._terms, self._watcher

    def _with(self, budget: int | None, wire: Wire | None) -> Terms:
        if budget is None and wire is None:
            return self._terms
        return _terms_with(self._terms, budget, wire)

    def _who(self, tenant: str | None) -> str:
        return self._tenant if tenant is None else tenant

    def _new_id(self) -> str:
        return new_id(self._terms.random(RANDOM_BYTES))


@lru_cache(maxsize=64)  # the hosts that a server knows ask for a few budgets, on each page
def _terms_with(terms: Terms, budget: int | None, wire: Wire | None) -> Terms:
    return replace(
        terms,
        budget_bytes=terms.budget_bytes if budget is None else budget,
        wire=terms.wire if wire is None else wire,
    )


def _is_file(payload: object) -> TypeGuard[Readable]:
    """Whether a payload is read from. A tool's result that merely has a field of that name is not."""
    return callable(getattr(payload, "read", None))


def _fits(result: object, payload: bytes, terms: Terms) -> bool:
    """Whether a result goes through untouched: measured as the wire carries it."""
    if len(payload) > terms.budget_bytes:
        return False
    if isinstance(result, bytes | bytearray | memoryview):
        return terms.wire.payload_cost(len(payload), 0, 0, binary=True) <= terms.budget_bytes
    try:
        text = payload.decode()
    except UnicodeDecodeError:  # a lone surrogate: no JSON text carries it as it is
        return False
    return terms.wire.carried(text, is_json=not isinstance(result, str)) <= terms.budget_bytes


def _widest_ends(payload: bytes, kind: Kind, budget: int) -> Ends:
    """The ends of a payload of which the agent will see nothing else: all that a budget may hold."""
    return ends_of(payload, payload, len(payload), kind, budget * 4 // 5, budget // 5)


def _kind_of_unscanned(payload: bytes) -> Kind:
    try:
        payload.decode()
    except UnicodeDecodeError:
        return "bytes"
    return "text"


def _open(path: Path) -> io.BufferedReader:
    try:
        return path.open("rb")
    except OSError as error:
        raise ArgumentsInvalid(f"the file cannot be read ({type(error).__name__})") from None


def _read(file: Readable) -> bytes:
    """The next bytes of a file; none at its end, and only there."""
    try:
        block = file.read(BATCH_BYTES)
    except OSError as error:
        raise ArgumentsInvalid(f"the file cannot be read ({type(error).__name__})") from None
    if isinstance(block, str):
        raise ArgumentsInvalid("the file was opened as text; open it in binary mode, so that not a byte changes")
    if block is None:  # not blocking, and nothing has come yet: taken for the end, a part would be stored as the whole
        raise ArgumentsInvalid("the file is in non-blocking mode, where its end cannot be told from a pause")
    return block
