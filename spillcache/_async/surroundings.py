"""What is around a match: the text, the place in the document's structure, and where a page that holds it may begin.

Looked at only for the matches that are shown. Each costs a command or two, and its place the bytes between the start
of its result and itself, which are followed once for all matches of a result.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from spillcache._async.store import Store, present
from spillcache.edges import LONGEST_UNIT, floor_edge
from spillcache.frame import CHUNK_BYTES, SEGMENT_CHUNKS, Chunk, chunk_fields, decode_frame, decode_text
from spillcache.inventory import Contents
from spillcache.manifest import Manifest
from spillcache.search import KEY_BYTES, Found, Match, Root, State, key_offsets, place_of, skipped, window
from spillcache.wire import Wire

#: How far before a match its page may begin, in bytes: there is a recorded cut in any stretch that long.
_BEFORE = 1024
#: Bytes of a match that are shown in any case.
_LEAST_SHOWN = 64
#: The structure of a document is followed in whole words of its bitmaps.
_WORD = 64
#: Chunks that one command asks for: one is worked on while the others wait, compressed.
_FETCH_CHUNKS = 4


async def read_texts(
    store: Store, spill_id: str, manifest: Manifest, start: int, end: int
) -> AsyncIterator[memoryview]:
    """Bytes `start` to `end` of a payload, at most a chunk at a time; each chunk passes its own digest."""
    first, last = start // CHUNK_BYTES, -(-end // CHUNK_BYTES)
    while first < last:
        stop = min(first - first % _FETCH_CHUNKS + _FETCH_CHUNKS, last)  # a number that divides every segment
        stored = await store.read(spill_id, first // SEGMENT_CHUNKS, chunk_fields(first, stop))
        for index in range(first, stop):
            at = index * CHUNK_BYTES
            frame = present(stored[index - first], "a chunk")
            stored[index - first] = None  # not held any longer than needed
            text = decode_text(frame, spill_id, index, manifest.size)
            del frame
            yield text[max(0, start - at) : end - at]
            del text
        first = stop


class Surroundings:
    """Looks at what is around the matches of one search, which are asked for in order.

    `late` says that time is up: a document is then followed no further, and the places of matches are not told.
    """

    def __init__(
        self, store: Store, spill_id: str, manifest: Manifest, contents: Contents, late: Callable[[], bool]
    ) -> None:
        self._store, self._spill_id, self._manifest, self._late = store, spill_id, manifest, late
        self._results = contents.inventory.results
        self._chunks: dict[int, Chunk] = {}
        self._states: dict[int, State] = {}

    def result_at(self, at: int) -> int | None:
        """The number (from 1) of the named result in which byte `at` lies."""
        return self._results.holding(at, at + 1)

    async def page_start(self, at: int, scope: tuple[int, int], room: int, wire: Wire) -> int:
        """Where a page that shows byte `at` begins well: at the shallowest recorded cut before it, or a result.

        A page that begins there must end behind `at`: so what is before it takes no more than half of the page's
        `room`, and the next recorded cut is within that room. Else it begins at the nearest cut for which this holds,
        or at `at` itself.
        """
        if self._manifest.kind == "bytes":
            return at
        least = max(scope[0], at - _BEFORE)
        cuts: list[tuple[bool, int, int]] = []
        for index in range(least // CHUNK_BYTES, at // CHUNK_BYTES + 1):
            chunk, base = await self._chunk(index), index * CHUNK_BYTES
            for end, depth in zip(chunk.ends, chunk.depths, strict=True):
                if least <= base + end <= at:
                    cuts.append((end not in chunk.starts, depth, base + end))
        best = min(cuts, key=lambda cut: (cut[0], cut[1], -cut[2]))[2] if cuts else scope[0]
        nearest = max((cut for *_, cut in cuts), default=scope[0])
        until = await self._next_cut(at, scope[1])
        for begin in dict.fromkeys((best, nearest)):
            text = await self._text(begin, until)
            before = wire.cost(text[: at - begin].decode("utf-8", "replace"))
            if 2 * before <= room and wire.cost(text.decode("utf-8", "replace")) <= room:
                return begin
        text = await self._text(nearest, at + LONGEST_UNIT)
        return nearest + floor_edge(text, at - nearest)

    async def _next_cut(self, at: int, end: int) -> int:
        """The first recorded cut behind byte `at`, or `end`: a segment's, where no page goes on, or that given."""
        index = at // CHUNK_BYTES
        end = min(end, (index // SEGMENT_CHUNKS + 1) * SEGMENT_CHUNKS * CHUNK_BYTES)
        for base in range(index * CHUNK_BYTES, end, CHUNK_BYTES)[:2]:
            for cut in (await self._chunk(base // CHUNK_BYTES)).ends:
                if at < base + cut < end:
                    return base + cut
        return end

    async def match(self, found: Found, context: int, scope: tuple[int, int], cursor: str) -> Match:
        """All that is said of a match, which lies in the bytes `scope`."""
        start, end = found.start, found.end
        most = max(2 * context, _LEAST_SHOWN)
        matched = await self._text(start, min(end, start + most + 1))
        before = await self._text(max(scope[0], start - context), start)
        after = await self._text(end, min(scope[1], end + context))
        binary = self._manifest.kind == "bytes"
        text, span, cut = window(before, matched, after, most, binary=binary)
        cut = cut or found.open_ended
        if self._manifest.kind not in ("json", "ndjson"):
            return Match(start, end, "text", text, span, cut, cursor, line=found.line or None)
        root = await self._root(found)
        state = await self._state(root, start)
        if state is None:
            return Match(start, end, "text", text, span, cut, cursor, result=self.result_at(start))
        skip = skipped(matched, state)
        only_between = not skip and not state.in_string and not matched.strip(b" \t\r\n,:{}[]")
        state = state.after(matched[:skip])
        heads = {at: await self._text(at, at + KEY_BYTES) for at in key_offsets(state)}
        place = place_of(start + skip, end, only_between, root, state, heads)
        role = place.role
        if role == "label":
            told = matched.rstrip(b" \t\r\n,:{}[]")
            behind = await self._state(root, start + max(skip, len(told)))
            if behind is None or place.left(state, behind):
                role = "value"
        return Match(start, end, role, text, span, cut, cursor, place.path, result=self.result_at(start + skip))

    async def _root(self, found: Found) -> Root:
        """Where to begin following the structure: at the line, at the named result, or at the very start."""
        number = self.result_at(found.start)
        if number is not None:
            result = self._results[number - 1]
            return Root(result.start, result.path, named=True, keyed=self._results.naming == "keys")
        if self._manifest.kind == "ndjson":  # a line beyond those that the inventory lists, or a blank one
            return Root(await self._line_start(found.start), f"$[{found.line - 1}]")
        return Root(0, "$")

    async def _line_start(self, at: int) -> int:
        end = at
        while end:
            begin = (end - 1) // CHUNK_BYTES * CHUNK_BYTES
            line_end = (await self._text(begin, end)).rfind(b"\n")
            if line_end >= 0:
                return begin + line_end + 1
            end = begin
        return 0

    async def _state(self, root: Root, at: int) -> State | None:
        """What is open before byte `at`; None where time ran out on the way there."""
        state = self._states.get(root.start)
        if state is None or state.at > at:
            state = root.state()
        rest = b""
        aligned = root.start + (at - root.start) // _WORD * _WORD
        async for text in read_texts(self._store, self._spill_id, self._manifest, state.at, aligned):
            rest += text
            whole = len(rest) // _WORD * _WORD
            state, rest = state.after(rest[:whole]), rest[whole:]
            if self._late():
                return None
        self._states = {start: kept for start, kept in self._states.items() if not start}  # the document's own stays
        self._states[root.start] = state
        return state.after(await self._text(aligned, at))

    async def _text(self, start: int, end: int) -> bytes:
        """Bytes of the payload, of a chunk or two."""
        end = min(end, self._manifest.size)
        parts = []
        for index in range(start // CHUNK_BYTES, -(-end // CHUNK_BYTES)):
            chunk, at = await self._chunk(index), index * CHUNK_BYTES
            own = len(chunk.text) - chunk.overhang
            parts.append(chunk.text[max(0, start - at) : min(own, end - at)])
        return b"".join(parts)

    async def _chunk(self, index: int) -> Chunk:
        if index not in self._chunks:
            segment, field = divmod(index, SEGMENT_CHUNKS)
            (frame,) = await self._store.read(self._spill_id, segment, [str(field)])
            kept = list(self._chunks.items())[-1:]  # neighbours ask for the same two
            self._chunks = dict(kept) | {
                index: decode_frame(present(frame, "a chunk"), self._spill_id, index, self._manifest.size)
            }
        return self._chunks[index]
