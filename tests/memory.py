"""A spill in memory: the pure write and read path without a server, for the many examples that need none."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from spillcache.chunks import Chunker
from spillcache.cursor import LEASE_EPOCH, Cursor, WalkKind, decode_cursor, encode_cursor
from spillcache.cut import reach
from spillcache.frame import CHUNK_BYTES, SEGMENT_CHUNKS, chunk_count, decode_frame, join
from spillcache.ids import new_id
from spillcache.inventory import Contents, summarise
from spillcache.keyring import Keyring
from spillcache.manifest import Manifest, tenant_digest
from spillcache.page import Page, make_page, room_for_chunk
from spillcache.receipt import Receipt, issue_receipt
from spillcache.scan import SlabTable, scan
from spillcache.wire import PLAIN, Wire

TENANT = "default"
SPILL_ID = new_id(bytes(range(15)))
KEYRING = Keyring.from_secret(hashlib.sha256(b"for tests only").digest())


@dataclass(frozen=True, slots=True)
class MemorySpill:
    """Frames of a payload and what describes them; `page` cuts pages as a reader does."""

    payload: bytes = field(repr=False)
    manifest: Manifest
    contents: Contents
    frames: tuple[bytes, ...] = field(repr=False)

    def first(self, budget: int, wire: Wire = PLAIN) -> Page:
        """Page 1, without the inventory."""
        return self.page(Cursor(WalkKind.WALK, 0, LEASE_EPOCH, 1), budget, wire)

    def first_of_result(self, number: int, budget: int, wire: Wire = PLAIN) -> Page:
        """The first page of a result, numbered from 1."""
        result = self.contents.inventory.results[number - 1]
        return self.page(Cursor(WalkKind.RESULT, result.start, LEASE_EPOCH, 1, result.start, result.end), budget, wire)

    def next(self, cursor: str, budget: int, wire: Wire = PLAIN) -> Page:
        """The page that a cursor asks for."""
        return self.page(decode_cursor(cursor, KEYRING, SPILL_ID, TENANT), budget, wire)

    def walk(self, budgets: Iterable[int], wire: Wire = PLAIN) -> Iterator[Page]:
        """All pages; each takes the next of `budgets`, over and over."""
        turns = itertools.cycle(budgets)
        page = self.first(next(turns), wire)
        yield page
        while page.next_cursor is not None:
            page = self.next(page.next_cursor, next(turns), wire)
            yield page

    def page(self, state: Cursor, budget: int, wire: Wire) -> Page:
        """The page at a cursor's position, out of the chunks that one command would bring."""
        room = room_for_chunk(budget, wire)
        first = state.position // CHUNK_BYTES
        segment_end = (first // SEGMENT_CHUNKS + 1) * SEGMENT_CHUNKS
        last = min((state.position + reach(room, wire)) // CHUNK_BYTES + 1, segment_end, self.manifest.chunks)
        size = len(self.payload)
        chunks = [decode_frame(self.frames[index], SPILL_ID, index, size) for index in range(first, last)]
        receipt = Receipt(SPILL_ID, size, self.manifest.sha256, self.manifest.tenant, state.walk, state.stamp)
        return make_page(
            join(chunks),
            first * CHUNK_BYTES,
            self.manifest,
            state,
            room,
            wire,
            spill_id=SPILL_ID,
            inventory=None,
            sign=lambda at: encode_cursor(state.at(at), KEYRING, SPILL_ID, TENANT),
            certify=lambda: issue_receipt(receipt, KEYRING),
        )


def spill(payload: bytes) -> MemorySpill:
    """Scan a payload and cut it into frames."""
    found = scan(payload)
    inventory = found.inventory
    chunker = Chunker(SPILL_ID)
    chunker.know_results(np.array([result.start for result in inventory.results], np.int64), len(payload))
    frames = [*chunker.feed(payload, found.slabs, len(payload)), *chunker.finish(SlabTable.empty())]
    manifest = Manifest(
        kind=found.kind,
        size=len(payload),
        chunks=chunk_count(len(payload)),
        sha256=hashlib.sha256(payload).digest(),
        tenant=tenant_digest(TENANT),
        ttl_ms=900_000,
        max_age_ms=86_400_000,
        created_ms=0,
        results=summarise(inventory).results,
        tool="",
    )
    contents = Contents(inventory, int(found.slabs.extra_once.sum()), int(found.slabs.extra_twice.sum()))
    return MemorySpill(payload, manifest, contents, tuple(frame for _, frame in frames))
