"""What is shown of a spill besides its bytes: its series in numbers, and the compact view of them."""

from __future__ import annotations

from spillcache._async.gate import compute
from spillcache._async.reader import Reader, is_named, refuse_other, summarised
from spillcache._async.store import Field, Store, present
from spillcache.compact.pages import least_budget, make_compact_page, refuse_without_series
from spillcache.cursor import Cursor, WalkKind, decode_cursor, is_given
from spillcache.errors import ArgumentsInvalid, BudgetTooSmall
from spillcache.frame import CHUNK_BYTES, SEGMENT_BYTES
from spillcache.ids import parse_id
from spillcache.inventory import SUMMARY_FIELD, Contents
from spillcache.keyring import Keyring
from spillcache.manifest import Manifest
from spillcache.page import Page, refuse_ended
from spillcache.remembered import Remembered
from spillcache.series import FIELD as SERIES_FIELD
from spillcache.series import MARK_FIELD, SeriesTable, check_mark, decode_series
from spillcache.series_listing import SeriesListing, list_series
from spillcache.terms import Terms
from spillcache.watch import Watcher

#: Bytes of the payload that a page of the compact view may be made of, for each byte of its room: more only helps where
#: values repeat, and a page that could show more goes on in the next.
_SHRINKS_BY = 6
_LEAST_REACH, _MOST_REACH = 8_192, 1 << 20
#: A unit that is written as a whole is shorter: so much of the next segment is read where one ends.
_LONGEST_PART = 4_096
#: Making one entry of the list takes as long as other work on so many bytes, and no entry is shorter than that.
_BYTES_PER_ENTRY, _LEAST_ENTRY = 8_192, 100
#: Bytes that a stored table of series becomes when it is read, for each of its own.
_UNPACKS_TO = 16
_TABLE = "the table of series"


Tables = Remembered[tuple[bytes, SeriesTable]]


class Viewer(Reader):
    """A reader of views. `tables` are those that were last read, by spill id, each with its payload's SHA-256."""

    def __init__(
        self,
        store: Store,
        keyring: Keyring | None,
        terms: Terms,
        watcher: Watcher,
        tables: Tables,
    ) -> None:
        super().__init__(store, keyring, terms, watcher)
        self._tables = tables

    async def series(
        self,
        spill_id: str,
        result: str | int | None,
        cursor: str | None,
        budget: int | None,
        *,
        tenant: str,
        terms: Terms,
    ) -> SeriesListing:
        """The series from the cursor on, or from the first: all, or as many as the budget holds."""
        spill_id = parse_id(spill_id)
        walk = decode_cursor(cursor, self._keyring, spill_id, tenant) if is_given(cursor) else None
        if walk is not None and walk.kind is not WalkKind.SERIES:
            raise ArgumentsInvalid("this cursor continues pages, not the list of series; call again without series")
        manifest, contents, table = await self._told(spill_id, tenant, walk.stamp if walk else None)
        scope = await self._scope(manifest, contents, result, walk)
        stamp = await self._lease(spill_id, manifest, walk.stamp if walk else None)
        state = walk.renewed(stamp) if walk else Cursor(WalkKind.SERIES, 0, stamp, self._new_walk(), *scope)
        listed = len(table.series) if table is not None else 0
        return await compute(
            _BYTES_PER_ENTRY * (listed if budget is None else min(listed, budget // _LEAST_ENTRY)),
            list_series,
            table,
            contents.inventory.results,
            spill_id=spill_id,
            size=manifest.size,
            scope=scope,
            position=state.position,
            budget=budget,
            wire=terms.wire,
            sign=lambda at: self._sign(state.at(at), spill_id, tenant),
            sign_part=lambda start, end: self._sign(
                Cursor(WalkKind.PART, start, stamp, self._new_walk(), start, end), spill_id, tenant
            ),
        )

    async def compact(
        self, spill_id: str, cursor: str | None, result: str | int | None, *, tenant: str, terms: Terms
    ) -> Page:
        """The page of the compact view that a cursor asks for; without one, page 1 of the payload or of one result."""
        spill_id = parse_id(spill_id)
        walk = decode_cursor(cursor, self._keyring, spill_id, tenant) if is_given(cursor) else None
        if walk is not None and walk.kind is not WalkKind.COMPACT:
            raise ArgumentsInvalid("this cursor continues another view; pass it without view, or start anew")
        if walk is not None:
            refuse_ended(walk)
        if walk is None or is_named(result):
            manifest, contents, table = await self._told(spill_id, tenant, walk.stamp if walk else None)
            scope = await self._scope(manifest, contents, result, walk)
            refuse_without_series(table, *scope)
        state = walk or Cursor(WalkKind.COMPACT, scope[0], 0, self._new_walk(), *scope)
        return await self._compact_page(spill_id, state, tenant, terms, first=walk is None)

    async def _compact_page(self, spill_id: str, state: Cursor, tenant: str, terms: Terms, *, first: bool) -> Page:
        room, position = self._compact_room(terms), state.position
        stamp = None if first else state.stamp
        reach = min(max(_LEAST_REACH, _SHRINKS_BY * room // len(terms.wire.copies)), _MOST_REACH)
        wanted = [SUMMARY_FIELD] if first and position == 0 else []
        if position < SEGMENT_BYTES and self._tables.get(spill_id) is None:
            wanted.append(SERIES_FIELD)
        window = await self._window(spill_id, position, reach, tuple(wanted), tenant, stamp)
        stored = dict(zip(wanted, window.extra, strict=True))
        table = await self._table(spill_id, window.manifest, stored.get(SERIES_FIELD))
        text = window.chunk.text
        edge = (position // SEGMENT_BYTES + 1) * SEGMENT_BYTES
        if edge < min(position + _LONGEST_PART, state.end):
            beyond = await self._window(spill_id, edge, CHUNK_BYTES // 2, (), tenant, stamp)
            text = text[: edge - window.start] + beyond.chunk.text
        inventory = None
        if SUMMARY_FIELD in stored:
            inventory, room = summarised(stored[SUMMARY_FIELD], spill_id, room, terms.wire)
        state = state.renewed(await self._lease(spill_id, window.manifest, stamp))
        page = await compute(
            len(text),
            make_compact_page,
            text,
            window.chunk,
            window.start,
            window.manifest,
            table,
            state,
            room,
            terms.wire,
            spill_id=spill_id,
            inventory=inventory,
            budget=terms.budget_bytes,
            sign=lambda at: self._sign(state.at(at), spill_id, tenant),
        )
        self._tell_served(page, window.manifest, state)
        return page

    def _compact_room(self, terms: Terms) -> int:
        try:
            return self._room(terms)
        except BudgetTooSmall as refused:
            raise BudgetTooSmall(refused.message, minimum=least_budget(refused.minimum, terms.wire)) from None

    async def _told(
        self, spill_id: str, tenant: str, stamp: int | None
    ) -> tuple[Manifest, Contents, SeriesTable | None]:
        """Manifest, inventory and series, None where the spill was stored without: one command."""
        fields = (SERIES_FIELD, MARK_FIELD)
        manifest, contents, (series, mark) = await self._contents(spill_id, tenant, stamp, *fields)
        if mark is not None:
            check_mark(mark, spill_id)
            series = present(series, _TABLE)
        return manifest, contents, None if series is None else await self._table(spill_id, manifest, series)

    async def _table(self, spill_id: str, manifest: Manifest, stored: Field) -> SeriesTable:
        """The table that is remembered; else the stored one, read if it was not."""
        known = self._tables.get(spill_id)
        if known is not None and known[0] == manifest.sha256:
            return known[1]
        if stored is None:
            (stored,) = await self._store.read(spill_id, 0, [SERIES_FIELD])
        stored = present(stored, _TABLE)
        table = await compute(_UNPACKS_TO * len(stored), decode_series, stored, spill_id)
        self._tables.keep(spill_id, (manifest.sha256, table))
        return table

    async def _scope(
        self, manifest: Manifest, contents: Contents, result: str | int | None, walk: Cursor | None
    ) -> tuple[int, int]:
        """The range that is asked for: a result's, or the whole; that of a walk must be the same."""
        if not is_named(result):
            return (walk.start, walk.end) if walk else (0, manifest.size)
        found = await self._find(contents, result)
        if walk is not None:
            refuse_other(walk, found)
        return found.start, found.end
