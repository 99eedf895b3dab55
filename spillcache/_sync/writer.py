# Generated from spillcache/_async/writer.py by scripts/unasync.py: edit that.
"""The write path: payload → scan → slabs → frames → store → publish → envelope.

A payload that is at hand is scanned whole. A stream is scanned by windows, so that memory stays bounded, and published
only by `finish`. Whatever goes wrong on the way, every segment is removed again and one typed error is raised.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from spillcache._sync.gate import compute
from spillcache._sync.store import Store
from spillcache.chunks import Chunker
from spillcache.cursor import MAX_POSITION
from spillcache.digest import OVERHEAD
from spillcache.edges import LONGEST_UNIT
from spillcache.envelope import Ends, Envelope, ends_of, estimate_pages, truncated
from spillcache.errors import ArgumentsInvalid, PayloadTooLarge, SpillError
from spillcache.frame import SEGMENT_CHUNKS, chunk_count, locate
from spillcache.inventory import (
    FIELD,
    SUMMARY_FIELD,
    Contents,
    Summary,
    encode_contents,
    encode_summary,
    summarise,
)
from spillcache.manifest import FIELD as MANIFEST_FIELD
from spillcache.manifest import Manifest, encode_manifest, tenant_digest
from spillcache.scan import Inventory, Kind, Scanner, SlabTable, scan
from spillcache.series import FIELD as SERIES_FIELD
from spillcache.series import MARK_FIELD, NOT_LOOKED_AT, SeriesTable, encode_mark, encode_series, find_series
from spillcache.terms import Reading, Terms
from spillcache.watch import UNWATCHED, Watcher, Written

#: Frames are sent in batches of about this many bytes: one MULTI for 100 MB would cost the client 201 MB, and Redis 8.2
#: and Valkey 9.1 drop a connection whose MULTI passes `client-query-buffer-limit`.
BATCH_BYTES = 1 << 20

_STRUCTURED: tuple[Kind, ...] = ("json", "ndjson")

_AT_ONCE = "a writer takes one call at a time: with two at once, nobody knows which bytes come first"

_NOT_AS_SENT = "the payload does not have the SHA-256 that came with it: it changed on the way; nothing was stored"

_log = logging.getLogger("spillcache")


@dataclass(frozen=True, slots=True)
class Scanned:
    """A payload at hand with all that is known of it before it is stored."""

    payload: bytes
    kind: Kind
    slabs: SlabTable
    contents: Contents
    summary: Summary
    series: SeriesTable | None
    ends: Ends


def scan_payload(payload: bytes, terms: Terms) -> Scanned:
    """Scan a payload, off the event loop when it is large. Raises `PayloadTooLarge`."""
    size = len(payload)
    if size > terms.max_payload_bytes:
        raise PayloadTooLarge(f"the result has {size} bytes; at most {terms.max_payload_bytes} are stored")
    found = compute(size, scan, payload, window=terms.scan_window_bytes)
    contents = Contents(found.inventory, int(found.slabs.extra_once.sum()), int(found.slabs.extra_twice.sum()))
    looked_for = terms.series
    series = compute(size, _series_of, payload, found.kind, terms.scan_window_bytes) if looked_for else None
    ends = ends_of(payload, payload, size, found.kind, *terms.preview_bytes)
    return Scanned(payload, found.kind, found.slabs, contents, summarise(found.inventory), series, ends)


def write_spill(
    store: Store, scanned: Scanned, spill_id: str, terms: Terms, watcher: Watcher, *, tool: str, tenant: str
) -> None:
    """Store a scanned payload under `spill_id` and publish it. On any error nothing stays behind."""
    upload = Upload(store, spill_id, terms, watcher)
    payload, size = scanned.payload, len(scanned.payload)
    chunker = Chunker(spill_id)
    chunker.know_results(scanned.contents.inventory.results.start, _known_to(scanned.contents.inventory))
    frames = itertools.chain(chunker.feed(payload, scanned.slabs, size), chunker.finish(SlabTable.empty()))
    try:
        while batch := compute(size, next_batch, frames):
            upload.add(batch)
            upload.keep_alive()
        sha256 = (compute(size, hashlib.sha256, payload)).digest()
        upload.publish(
            scanned.kind, size, sha256, scanned.contents, scanned.summary, scanned.series, tool=tool, tenant=tenant
        )
    except BaseException as error:
        upload.undo(error)
        raise


class SpillWriter:
    """Stores a payload that does not fit in memory. Made by `SpillCache.writer`.

    ```python
    with cache.writer(tool="export") as writer:
        for block in source:
            writer.write(block)
        envelope = writer.finish()
    ```

    Leaving the block without `finish()`, by an exception, a `return` or a `break`, publishes nothing and removes what
    was stored.
    """

    def __init__(
        self, store: Store, spill_id: str, terms: Terms, watcher: Watcher = UNWATCHED, *, tool: str, tenant: str
    ) -> None:
        self._upload = Upload(store, spill_id, terms, watcher)
        self._terms, self._tool, self._tenant = terms, tool, tenant
        self._spill_id = spill_id
        self._scanner = Scanner(window=terms.stream_window_bytes, on_window=self._find_series if terms.series else None)
        self._chunker = Chunker(spill_id)
        self._sha256 = hashlib.sha256()
        self._buffer = bytearray()
        self._size = 0
        self._head = b""
        self._tail = b""
        self._extra = [0, 0]
        self._series = SeriesTable() if terms.series else None
        self._results_known = False
        self._busy = False
        self._closed = False

    def write(self, block: bytes | bytearray | memoryview) -> None:
        """Take the next bytes. Raises `PayloadTooLarge` or any `StoreError`; then nothing stays behind."""
        self._begin()
        try:
            view = _octets(block)
            self._size += len(view)
            if self._size > self._terms.max_payload_bytes:
                raise PayloadTooLarge(f"the payload passed {self._terms.max_payload_bytes} bytes")
            for start in range(0, len(view), BATCH_BYTES):  # a block of any size costs the memory of a small one
                self._buffer += view[start : start + BATCH_BYTES]
                if len(self._buffer) >= BATCH_BYTES:
                    self._ingest()
            self._upload.keep_alive()  # also when little comes: a slow stream must not lose its beginning
            self._end()
        except BaseException as error:
            self._abandon(error)
            raise

    def finish(self, *, sha256: bytes | None = None) -> Envelope:
        """Publish the spill and return its envelope. Only now can anybody read it.

        `sha256` is what the sender says of the payload. Raises `ArgumentsInvalid`, and publishes nothing, when the
        bytes that came are others.
        """
        self._begin()
        try:
            self._ingest()
            found = self._sha256.digest()
            if sha256 not in (None, found):
                raise ArgumentsInvalid(_NOT_AS_SENT, next_step="Send the payload and its digest again.")
            slabs, kind, inventory = compute(BATCH_BYTES, self._scanner.finish)
            self._count(slabs)
            self._know(inventory)
            frames = itertools.chain(
                self._chunker.feed(b"", slabs, self._size), self._chunker.finish(SlabTable.empty())
            )
            while batch := compute(BATCH_BYTES, next_batch, frames):
                self._upload.add(batch)
            contents, summary = Contents(inventory, *self._extra), summarise(inventory)
            ends = ends_of(self._head, self._tail, self._size, kind, *self._terms.preview_bytes)
            envelope = make_envelope(ends, contents, summary, self._spill_id, self._terms)
            series = self._series
            if series is not None and kind not in _STRUCTURED:
                series = _without_looking(self._size)
            self._upload.publish(
                kind, self._size, found, contents, summary, series, tool=self._tool, tenant=self._tenant
            )
            self._end()
        except BaseException as error:
            self._abandon(error)
            raise
        self._closed = True
        return envelope

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._closed:
            self._abandon(error)

    def _ingest(self) -> None:
        block = bytes(self._buffer)
        self._buffer.clear()
        head_bytes, tail_bytes = self._terms.preview_bytes
        self._head += block[: max(0, head_bytes + LONGEST_UNIT - len(self._head))]
        self._tail = (self._tail + block[-tail_bytes:])[-tail_bytes:] if tail_bytes else b""
        frames = compute(BATCH_BYTES, self._cut, block)
        while batch := next_batch(frames):
            self._upload.add(batch)

    def _cut(self, block: bytes) -> Iterator[tuple[int, bytes]]:
        self._sha256.update(block)
        slabs = self._scanner.feed(block)
        self._count(slabs)
        if self._scanner.inventory is not None:
            self._know(self._scanner.inventory)
        return iter(list(self._chunker.feed(block, slabs, self._scanner.settled)))

    def _find_series(self, window: bytes, whole: bool) -> None:
        self._series = find_series(window, whole=whole)

    def _know(self, inventory: Inventory) -> None:
        if not self._results_known:
            self._results_known = True
            self._chunker.know_results(inventory.results.start, _known_to(inventory))

    def _count(self, slabs: SlabTable) -> None:
        self._extra[0] += int(slabs.extra_once.sum())
        self._extra[1] += int(slabs.extra_twice.sum())

    def _abandon(self, error: BaseException | None) -> None:
        self._closed = True
        self._upload.undo(error)

    def _begin(self) -> None:
        if self._closed:
            raise ArgumentsInvalid("this writer has finished or failed; open a new one")
        if self._busy:
            self._closed = True  # the call under way finds it so, and removes what was stored
            raise ArgumentsInvalid(_AT_ONCE)
        self._busy = True

    def _end(self) -> None:
        self._busy = False
        if self._closed:
            raise ArgumentsInvalid(_AT_ONCE)


class Upload:
    """One attempt to store one spill: which segments hold how many frames, so that publishing and undoing are exact."""

    def __init__(self, store: Store, spill_id: str, terms: Terms, watcher: Watcher) -> None:
        self._store, self._spill_id, self._terms, self._watcher = store, spill_id, terms, watcher
        self._frames_in: list[int] = []
        self._stored = 0
        self._kept_at = terms.monotonic()

    def add(self, batch: list[tuple[int, bytes]]) -> None:
        """Store frames of one segment in one round trip."""
        segment, _ = locate(batch[0][0])
        while len(self._frames_in) <= segment:
            self._frames_in.append(0)  # before it is sent: a write whose answer is lost must be undone too
        self._store.write_frames(
            self._spill_id, segment, {locate(index)[1]: frame for index, frame in batch}, self._terms.stored_ttl_ms
        )
        self._frames_in[segment] += len(batch)
        self._stored += sum(len(frame) for _, frame in batch)

    def keep_alive(self) -> None:
        """Renew what was stored when a quarter of the TTL has passed: a long stream must not lose its beginning."""
        now = self._terms.monotonic()
        if self._frames_in and now - self._kept_at >= self._terms.ttl_s / 4:
            self._store.keep(self._spill_id, range(len(self._frames_in)), self._terms.stored_ttl_ms)
            self._kept_at = now

    def publish(
        self,
        kind: Kind,
        size: int,
        sha256: bytes,
        contents: Contents,
        summary: Summary,
        series: SeriesTable | None,
        *,
        tool: str,
        tenant: str,
    ) -> None:
        """Make the spill readable, if every frame that was written is still there."""
        manifest = Manifest(
            kind=kind,
            size=size,
            chunks=chunk_count(size),
            sha256=sha256,
            tenant=tenant_digest(tenant),
            ttl_ms=self._terms.ttl_ms,
            max_age_ms=self._terms.max_age_ms,
            created_ms=self._store.now_ms(self._spill_id),
            results=summary.results,
            tool=tool,
        )
        fields = [
            {MANIFEST_FIELD: encode_manifest(manifest, self._spill_id, segment)}
            for segment in range(len(self._frames_in))
        ]
        fields[0] |= {
            FIELD: encode_contents(contents, self._spill_id),
            SUMMARY_FIELD: encode_summary(summary, self._spill_id),
        }
        if series is not None:
            fields[0] |= {
                SERIES_FIELD: encode_series(series.with_faults(contents.inventory.faults), self._spill_id),
                MARK_FIELD: encode_mark(self._spill_id),
            }
        self._store.publish(self._spill_id, self._frames_in, fields, self._terms.stored_ttl_ms)
        self._watcher.spill_written(Written(self._spill_id, tool, kind, size, self._stored))

    def undo(self, error: BaseException | None) -> None:
        """Remove every segment. Where Redis does not let us, their TTL will."""
        if not self._frames_in:
            return
        try:
            self._store.unlink(self._spill_id, len(self._frames_in))
        except SpillError as failure:
            note = f"what was stored could not be removed ({failure.code}); it expires by itself"
            _log.warning("spill_undo_failed", extra={"code": failure.code})
            if error is not None:
                error.add_note(note)


def make_envelope(ends: Ends, contents: Contents, summary: Summary, spill_id: str, terms: Terms) -> Envelope:
    """The envelope of a stored spill. Raises `BudgetTooSmall`."""
    reading = terms.reading or Reading(terms.budget_bytes, terms.wire)
    binary = ends.kind == "bytes"
    cost = reading.wire.payload_cost(ends.size, contents.extra_once, contents.extra_twice, binary=binary)
    return truncated(
        ends,
        summary,
        spill_id=spill_id,
        pages=estimate_pages(cost, reading.budget_bytes, reading.wire),
        expires_in_s=terms.ttl_ms // 1000,
        tool_name=terms.tool_name,
        budget=terms.budget_bytes,
        wire=terms.wire,
    )


def next_batch(frames: Iterator[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """The next frames, of one segment and about 1 MiB together; empty at the end."""
    batch: list[tuple[int, bytes]] = []
    size = 0
    for index, frame in frames:
        batch.append((index, frame))
        size += len(frame) + OVERHEAD
        if size >= BATCH_BYTES or (index + 1) % SEGMENT_CHUNKS == 0:
            break
    return batch


def _series_of(payload: bytes, kind: Kind, window: int) -> SeriesTable:
    if kind not in _STRUCTURED:
        return _without_looking(len(payload))
    return find_series(payload if len(payload) <= window else payload[:window], whole=len(payload) <= window)


def _without_looking(size: int) -> SeriesTable:
    return NOT_LOOKED_AT if size else SeriesTable()


def _octets(block: bytes | bytearray | memoryview) -> memoryview:
    """A block as single bytes: a view of wider items has fewer of them than bytes."""
    view = memoryview(block)
    return view.cast("B") if view.c_contiguous and view.nbytes else memoryview(view.tobytes())


def _known_to(inventory: Inventory) -> int:
    """Up to which byte it is known where results begin: everywhere, unless the inventory is cut short."""
    if inventory.results_total is not None and len(inventory.results) == inventory.results_total:
        return MAX_POSITION
    return int(inventory.results.end[-1]) if inventory.results else 0
