"""The read path: cursor → manifest and chunks in one HMGET → page → next cursor.

Nothing is kept here between calls: whatever a page needs is in the cursor and in Redis, so any replica serves it.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeGuard

from spillcache._async.gate import compute
from spillcache._async.store import Field, Store, present
from spillcache.cursor import LEASE_EPOCH, Cursor, WalkKind, decode_cursor, encode_cursor, is_given
from spillcache.cut import reach
from spillcache.envelope import fit_summary, inventory_cost
from spillcache.errors import (
    ArgumentsInvalid,
    KeyringInvalid,
    SpillCorrupt,
    SpillExpired,
    SpillLost,
    SpillNotFound,
    StoreError,
)
from spillcache.frame import (
    CHUNK_BYTES,
    SEGMENT_CHUNKS,
    Chunk,
    chunk_count,
    chunk_fields,
    decode_frame,
    join,
    segment_count,
)
from spillcache.ids import parse_id
from spillcache.inventory import FIELD as INVENTORY_FIELD
from spillcache.inventory import (
    SUMMARY_FIELD,
    Contents,
    decode_contents,
    decode_summary,
    find_result,
)
from spillcache.keyring import Keyring
from spillcache.listing import Listing, list_results
from spillcache.manifest import FIELD as MANIFEST_FIELD
from spillcache.manifest import Manifest, decode_manifest, tenant_digest
from spillcache.page import Page, make_page, refuse_ended, room_for_chunk
from spillcache.receipt import CHARACTERS as RECEIPT_CHARACTERS
from spillcache.receipt import Receipt, issue_receipt, receipt_characters
from spillcache.scan import Result
from spillcache.terms import Terms, stored_ttl_ms
from spillcache.watch import UNWATCHED, Served, Watcher
from spillcache.wire import Wire

#: Chunks that one command of a whole-payload read asks for: about 1 MiB.
_FETCH_CHUNKS = 64

_log = logging.getLogger("spillcache")


@dataclass(frozen=True, slots=True)
class Stat:
    """What is known of a stored spill. Times in seconds; `created` is Unix time by the Redis server's clock."""

    spill_id: str
    size: int
    kind: str
    sha256: str
    tool: str
    chunks: int
    segments: int
    results: int | None
    created: float
    ttl_s: float
    max_age_s: float
    lease_left_s: float


class Reader:
    """Serves pages, listings and whole payloads to one tenant's readers."""

    def __init__(self, store: Store, keyring: Keyring | None, terms: Terms, watcher: Watcher) -> None:
        self._store, self._ring, self._terms, self._watcher = store, keyring, terms, watcher

    async def page(
        self, spill_id: str, cursor: str | None, result: str | int | None, *, tenant: str, terms: Terms
    ) -> Page:
        """The page that a cursor asks for; without one, page 1 of the payload or of one result."""
        spill_id = parse_id(spill_id)
        if is_given(cursor):
            state = decode_cursor(cursor, self._keyring, spill_id, tenant)
            if state.kind is WalkKind.INVENTORY:
                raise ArgumentsInvalid("this cursor continues the inventory; call again with inventory: true")
            if state.kind is WalkKind.SERIES:
                raise ArgumentsInvalid("this cursor continues the list of series; call again with series: true")
            if state.kind is WalkKind.COMPACT:
                raise ArgumentsInvalid("this cursor continues the compact view, which is read page by page")
            refuse_ended(state)
            if is_named(result):
                await self._check_inside(spill_id, state, result, tenant)
            return await self._continue(spill_id, state, tenant, terms)
        if is_named(result):
            return await self._first_of_result(spill_id, result, tenant, terms)
        return await self._first(spill_id, tenant, terms)

    async def inventory(
        self, spill_id: str, cursor: str | None, budget: int | None, *, tenant: str, terms: Terms
    ) -> Listing:
        """The results from the cursor on, or from the first: all, or as many as the budget holds."""
        spill_id = parse_id(spill_id)
        position, state = 0, None
        if is_given(cursor):
            state = decode_cursor(cursor, self._keyring, spill_id, tenant)
            if state.kind is not WalkKind.INVENTORY:
                raise ArgumentsInvalid("this cursor continues pages, not the inventory; call again without inventory")
            position = state.position
        manifest, contents, _ = await self._contents(spill_id, tenant, state.stamp if state else None)
        stamp = await self._lease(spill_id, manifest, state.stamp if state else None)
        walk = state.renewed(stamp) if state else Cursor(WalkKind.INVENTORY, 0, stamp, self._new_walk())
        return await compute(
            _work(contents),
            list_results,
            contents,
            spill_id=spill_id,
            kind=manifest.kind,
            size=manifest.size,
            position=position,
            budget=budget,
            wire=terms.wire,
            page_budget=terms.budget_bytes if budget is None else budget,
            sign=lambda at: self._sign(walk.at(at), spill_id, tenant),
        )

    async def stream(self, spill_id: str, *, tenant: str) -> AsyncIterator[bytes]:
        """The payload, about 1 MiB at a time. Raises at the end when its size or SHA-256 is not the manifest's."""
        spill_id = parse_id(spill_id)
        manifest = await self._manifest(spill_id, tenant)
        sha256, size = hashlib.sha256(), 0
        async for block in self._blocks(spill_id, manifest, 0, manifest.chunks):
            sha256.update(block)
            size += len(block)
            yield block
        if size != manifest.size or sha256.digest() != manifest.sha256:
            raise SpillCorrupt("the payload does not have its SHA-256")

    async def span(self, spill_id: str, start: int, end: int, *, tenant: str) -> AsyncIterator[bytes]:
        """Bytes `start` to `end` of the payload, about 1 MiB at a time; each stored chunk passes its own digest."""
        spill_id = parse_id(spill_id)
        manifest = await self._manifest(spill_id, tenant)
        if not 0 <= start <= end <= manifest.size:
            raise ArgumentsInvalid(
                f"the spill has bytes 0 to {manifest.size}; there is no range {start} to {end} in it"
            )
        first = start // CHUNK_BYTES
        at = first * CHUNK_BYTES
        async for block in self._blocks(spill_id, manifest, first, -(-end // CHUNK_BYTES)):
            kept = block[max(0, start - at) : end - at]
            at += len(block)
            if kept:
                yield kept
        if at < end:
            raise SpillCorrupt("the payload is shorter than its manifest says")

    async def _blocks(self, spill_id: str, manifest: Manifest, first: int, last: int) -> AsyncIterator[bytes]:
        """The bytes of chunks `first` to `last`, `_FETCH_CHUNKS` at a time, keeping the lease meanwhile."""
        stamp = None
        while first < last:
            # From one segment: after an odd start, up to the next round number, which divides every segment.
            stop = min(first - first % _FETCH_CHUNKS + _FETCH_CHUNKS, last)
            fields = chunk_fields(first, stop)
            stamp = await self._lease(spill_id, manifest, stamp)  # whoever takes the blocks may take their time
            stored = await self._store.read(spill_id, first // SEGMENT_CHUNKS, fields)
            yield await compute(CHUNK_BYTES * len(fields), _whole_chunks, stored, spill_id, first, manifest)
            first = stop

    async def stat(self, spill_id: str, *, tenant: str) -> Stat:
        """What is known of a spill, without renewing its lease."""
        spill_id = parse_id(spill_id)
        manifest = await self._manifest(spill_id, tenant)
        segments = segment_count(manifest.chunks)
        left = await self._store.lease_left_ms(spill_id, segments)
        if left <= 0:
            raise SpillLost("part of the spill is gone: it was evicted or deleted")
        return Stat(
            spill_id=spill_id,
            size=manifest.size,
            kind=manifest.kind,
            sha256=manifest.sha256.hex(),
            tool=manifest.tool,
            chunks=manifest.chunks,
            segments=segments,
            results=manifest.results,
            created=manifest.created_ms / 1000,
            ttl_s=manifest.ttl_ms / 1000,
            max_age_s=manifest.max_age_ms / 1000,
            lease_left_s=left / 1000,
        )

    async def delete(self, spill_id: str, *, tenant: str) -> None:
        """Remove a spill. Raises `SpillNotFound` when there is none of this tenant's."""
        spill_id = parse_id(spill_id)
        manifest = await self._manifest(spill_id, tenant)
        await self._store.unlink(spill_id, segment_count(manifest.chunks))

    async def _first(self, spill_id: str, tenant: str, terms: Terms) -> Page:
        room = self._room(terms)
        window = await self._window(spill_id, 0, reach(room, terms.wire), (SUMMARY_FIELD,), tenant, None)
        inventory, room = summarised(window.extra[0], spill_id, room, terms.wire)
        stamp = await self._lease(spill_id, window.manifest, None)
        state = Cursor(WalkKind.WALK, 0, stamp, self._new_walk())
        return self._page(window, state, room, spill_id, tenant, terms, inventory)

    async def _first_of_result(self, spill_id: str, result: str | int, tenant: str, terms: Terms) -> Page:
        manifest, contents, _ = await self._contents(spill_id, tenant, None)
        found = await self._find(contents, result)
        room = self._room(terms)
        window = await self._window(spill_id, found.start, reach(room, terms.wire), (), tenant, None, manifest)
        state = Cursor(WalkKind.RESULT, found.start, window.stamp, self._new_walk(), found.start, found.end)
        return self._page(window, state, room, spill_id, tenant, terms)

    async def _continue(self, spill_id: str, state: Cursor, tenant: str, terms: Terms) -> Page:
        room = self._room(terms)
        window = await self._window(spill_id, state.position, reach(room, terms.wire), (), tenant, state.stamp)
        state = state.renewed(await self._lease(spill_id, window.manifest, state.stamp))
        return self._page(window, state, room, spill_id, tenant, terms)

    def _room(self, terms: Terms) -> int:
        # Every page leaves room for the receipt that only the last one carries: where pages end depends on the ring
        # and the budget, on nothing else.
        longer = (receipt_characters(self._keyring) - RECEIPT_CHARACTERS) * len(terms.wire.copies)
        return room_for_chunk(terms.budget_bytes, terms.wire, longer)

    def _page(
        self,
        window: _Window,
        state: Cursor,
        room: int,
        spill_id: str,
        tenant: str,
        terms: Terms,
        inventory: Mapping[str, Any] | None = None,
    ) -> Page:
        manifest = window.manifest
        page = make_page(
            window.chunk,
            window.start,
            manifest,
            state,
            room,
            terms.wire,
            spill_id=spill_id,
            inventory=inventory,
            sign=lambda at: self._sign(state.at(at), spill_id, tenant),
            certify=lambda: issue_receipt(
                Receipt(spill_id, manifest.size, manifest.sha256, manifest.tenant, state.walk, state.stamp),
                self._keyring,
            ),
        )
        self._tell_served(page, manifest, state)
        return page

    def _tell_served(self, page: Page, manifest: Manifest, state: Cursor) -> None:
        if self._watcher is not UNWATCHED:
            self._watcher.page_served(
                Served(
                    spill_id=page.spill_id,
                    tool=manifest.tool,
                    walk=state.walk,
                    start=page.start,
                    end=page.end,
                    size=page.size,
                    status=page.status,
                    result_status=page.result_status,
                    began=state.position == state.start,
                    view=page.view,
                )
            )

    async def _window(
        self,
        spill_id: str,
        position: int,
        length: int,
        extra: tuple[str, ...],
        tenant: str,
        stamp: int | None,
        leased: Manifest | None = None,
    ) -> _Window:
        """Manifest and the chunks from `position` on, as far as `length` or the segment's end: one command.

        The lease of `leased`, the spill's manifest if that is known already, is renewed in the same round trip.
        """
        first = position // CHUNK_BYTES
        segment = first // SEGMENT_CHUNKS
        fields = chunk_fields(first, (position + length) // CHUNK_BYTES + 1)
        asked = (MANIFEST_FIELD, *extra, *fields)
        renewed = LEASE_EPOCH if stamp is None else stamp
        if leased is None:
            stored = await self._store.read(spill_id, segment, asked)
        else:
            stored, renewed = await self._read_leasing(spill_id, leased, segment, asked)
            stamp = self._now()  # it was there a moment ago, whether or not it was renewed
        manifest = self._opened(stored[0], spill_id, segment, tenant, stamp)
        last = min(first + len(fields), manifest.chunks)
        if first >= last:
            raise SpillCorrupt("the cursor points beyond the payload")
        frames = stored[1 + len(extra) : 1 + len(extra) + last - first]
        chunks = [_decoded(frame, spill_id, index, manifest.size) for index, frame in enumerate(frames, first)]
        return _Window(manifest, join(chunks), first * CHUNK_BYTES, stored[1 : 1 + len(extra)], renewed)

    async def _manifest(self, spill_id: str, tenant: str) -> Manifest:
        (stored,) = await self._store.read(spill_id, 0, [MANIFEST_FIELD])
        return self._opened(stored, spill_id, 0, tenant, None)

    async def _contents(
        self, spill_id: str, tenant: str, stamp: int | None, *extra: str
    ) -> tuple[Manifest, Contents, list[Field]]:
        """Manifest, inventory, and other fields of segment 0: one command."""
        fields = (MANIFEST_FIELD, INVENTORY_FIELD, *extra)
        stored, inventory, *others = await self._store.read(spill_id, 0, fields)
        manifest = self._opened(stored, spill_id, 0, tenant, stamp)
        return manifest, decode_contents(present(inventory, "the inventory"), spill_id), others

    def _opened(self, stored: Field, spill_id: str, segment: int, tenant: str, stamp: int | None) -> Manifest:
        if stored is None:
            raise self._gone(stamp)
        manifest = decode_manifest(stored, spill_id, segment)
        if manifest.tenant != tenant_digest(tenant):
            raise self._gone(None)  # exactly as if there were none
        if manifest.chunks != chunk_count(manifest.size):
            raise SpillCorrupt("the manifest contradicts itself")
        return manifest

    def _gone(self, stamp: int | None) -> SpillNotFound | SpillExpired | SpillLost:
        """Why there is no manifest, as far as the stamp of a cursor can tell; the spill's own TTL is gone with it."""
        kept = f"this process keeps spills {self._terms.ttl_s:g} s after they were last read"
        if stamp is None:
            return SpillNotFound(f"there is no such spill: it expired, was deleted, or never was ({kept})")
        if self._now() - stamp < self._terms.ttl_s:
            return SpillLost(
                "the spill is gone before its time: it was evicted, deleted or lost in a failover, "
                f"unless its writer gave it a shorter time ({kept})"
            )
        return SpillExpired(f"the spill expired: its time ran out before this page was asked for ({kept})")

    async def _lease(self, spill_id: str, manifest: Manifest, stamp: int | None) -> int:
        """Renew the lease if it is due, and return the stamp for the next cursor. Raises `SpillLost`, `SpillExpired`.

        A first page has no stamp, so it always renews, which finds a lost segment before the agent has read anything.
        When Redis fails in between, the page is served all the same, with the old stamp: the next one tries again.
        """
        now = self._now()
        # Stamps are whole seconds, so up to one more may have passed.
        if stamp is not None and 0 <= now - stamp <= manifest.ttl_ms / 4000 - 1:
            return stamp
        old = LEASE_EPOCH if stamp is None else stamp
        try:
            ttl_ms = await self._renewable_ms(spill_id, manifest)
            whole = await self._store.renew(spill_id, segment_count(manifest.chunks), ttl_ms)
        except StoreError as failure:
            _tell_not_renewed(failure)
            return old
        return self._renewed(whole, ttl_ms, now, old)

    async def _read_leasing(
        self, spill_id: str, manifest: Manifest, segment: int, fields: Sequence[str]
    ) -> tuple[list[Field], int]:
        """Fields of a segment, and the stamp of the lease, renewed in the same round trip as by a first page."""
        now = self._now()
        try:
            ttl_ms = await self._renewable_ms(spill_id, manifest)
            segments = segment_count(manifest.chunks)
            stored, whole = await self._store.read_renewing(spill_id, segment, fields, segments, ttl_ms)
        except StoreError as failure:
            _tell_not_renewed(failure)
            return await self._store.read(spill_id, segment, fields), LEASE_EPOCH
        return stored, self._renewed(whole, ttl_ms, now, LEASE_EPOCH)

    async def _renewable_ms(self, spill_id: str, manifest: Manifest) -> int | None:
        """The TTL to give; None for a spill too old to renew: a shorter one is never sent, a negative one deletes."""
        age_ms = await self._store.now_ms(spill_id) - manifest.created_ms
        return stored_ttl_ms(manifest.ttl_ms) if age_ms < manifest.max_age_ms else None

    def _renewed(self, whole: bool, ttl_ms: int | None, now: int, old: int) -> int:
        """The stamp after all segments got a TTL, or were only looked at."""
        if ttl_ms is not None:
            self._watcher.lease_renewed(whole)
        if not whole:
            raise SpillLost("part of the spill is gone: it was evicted or deleted")
        return old if ttl_ms is None else now

    async def _place(self, contents: Contents, result: str | int) -> int:
        """Where in the inventory, from 0 on, the result is that is called so."""
        return await compute(_work(contents), find_result, contents.inventory, result)

    async def _find(self, contents: Contents, result: str | int) -> Result:
        return contents.inventory.results[await self._place(contents, result)]

    async def _check_inside(self, spill_id: str, state: Cursor, result: str | int, tenant: str) -> None:
        """A cursor that comes with a result's name must belong to that result, or the wrong one would be read as it."""
        _, contents, _ = await self._contents(spill_id, tenant, state.stamp)
        refuse_other(state, await self._find(contents, result))

    @property
    def _keyring(self) -> Keyring:
        if self._ring is None:
            raise KeyringInvalid("reading pages needs a key ring: cursors are signed")
        return self._ring

    def _sign(self, cursor: Cursor, spill_id: str, tenant: str) -> str:
        return encode_cursor(cursor, self._keyring, spill_id, tenant)

    def _new_walk(self) -> int:
        return int.from_bytes(self._terms.random(4))

    def _now(self) -> int:
        return max(LEASE_EPOCH, int(self._terms.clock()))


class _Window(NamedTuple):
    """What one command brought: the manifest, consecutive chunks joined, where they start, and other fields.

    `stamp` is the lease's: the given one, or of now where it was renewed; LEASE_EPOCH where it is not known.
    """

    manifest: Manifest
    chunk: Chunk
    start: int
    extra: list[Field]
    stamp: int


def is_named(result: str | int | None) -> TypeGuard[str | int]:
    """Whether a result was asked for: a blank name counts as none."""
    return result is not None and (not isinstance(result, str) or bool(result.strip()))


def _work(contents: Contents) -> int:
    """How much it is to spell out every result, in bytes of other work: 20,000 names take a tenth of a second."""
    return len(contents.inventory.results) * 4096


def _tell_not_renewed(failure: StoreError) -> None:
    _log.warning("lease_not_renewed", extra={"code": failure.code})


def refuse_other(state: Cursor, found: Result) -> None:
    """Refuse a cursor whose walk is not that of the result it comes with. Raises `ArgumentsInvalid`."""
    if state.kind is WalkKind.PART or (state.start, state.end) != (found.start, found.end):
        raise ArgumentsInvalid("this cursor belongs to another walk; pass it without result, or start that result anew")


def summarised(stored: Field, spill_id: str, room: int, wire: Wire) -> tuple[Mapping[str, Any] | None, int]:
    """What a first page says of the inventory, in a quarter of its room at most, and the room that is left."""
    inventory = fit_summary(decode_summary(present(stored, "the summary"), spill_id), room // 4, wire) or None
    return inventory, room - (inventory_cost(inventory, wire) if inventory else 0)


def _decoded(stored: Field, spill_id: str, index: int, size: int) -> Chunk:
    return decode_frame(present(stored, "a chunk"), spill_id, index, size)


def _whole_chunks(stored: list[Field], spill_id: str, first: int, manifest: Manifest) -> bytes:
    chunks = (_decoded(frame, spill_id, index, manifest.size) for index, frame in enumerate(stored, first))
    return b"".join(chunk.text[: len(chunk.text) - chunk.overhang] for chunk in chunks)
