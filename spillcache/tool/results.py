"""A whole tool result on its way to the agent: untouched when it fits, else with its large parts spilled.

One result makes one spill, one envelope and one walk, however many of its parts are large. The envelope is the first
text block, because some hosts show no other. What stays follows it in its old order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import orjson

from spillcache import SpillCache, defaults
from spillcache._async.gate import compute
from spillcache.envelope import Envelope, ends_of, with_preview
from spillcache.errors import CODES, ArgumentsInvalid, BudgetTooSmall
from spillcache.terms import Reading
from spillcache.tool.blank import in_words
from spillcache.tool.composite import Payload, payload_of
from spillcache.tool.numbers import travels
from spillcache.tool.parts import (
    HARD_CAP_BYTES,
    LONGEST_ON_THE_WAY,
    STRUCTURED,
    Layout,
    Part,
    arrange,
    parts_of,
    wire_size,
)
from spillcache.tool.rendering import STAMP_BYTES
from spillcache.tool.schemas import Declared
from spillcache.tool.shapes import check, is_answer
from spillcache.wire import Wire, sent_json

#: In the `_meta` of a result: a spill was made of it, so that no second proxy makes another.
MARK: Final = "spillcache/spill"

#: An envelope in two copies with names, links and some preview; less would be all explanation.
LEAST_BUDGET_BYTES: Final = 4_096

_BELIEVED: Final = 4
_MOST_NAMES: Final = 8  # of parts, in an envelope; those stored are named in the payload as well


@dataclass(frozen=True, slots=True, kw_only=True)
class SpillOptions:
    """How results of a tool are spilled. Sizes are bytes on the wire.

    A result of at most `budget` goes through untouched, and no answer made in place of one is larger. Not counted are
    pictures, sound and files of at most `media_bytes` each, which pass whole, and a large `_meta`.
    `on_store_failure` says what the agent gets when nothing could be stored: an envelope that says so, the result as it
    was ("pass"), or an error. `structured` "drop" declares no outputSchema, and spilled results are text alone.
    """

    budget: int = defaults.BUDGET_BYTES
    media_bytes: int = defaults.MEDIA_BYTES
    on_store_failure: Literal["envelope", "pass", "error"] = "envelope"
    structured: Literal["keep", "drop"] = "keep"

    def __post_init__(self) -> None:
        if not LEAST_BUDGET_BYTES <= self.budget <= defaults.MAX_PAGE_BYTES:
            raise ArgumentsInvalid(
                f"a budget for results must be {LEAST_BUDGET_BYTES} to {defaults.MAX_PAGE_BYTES} bytes"
            )
        if not 0 <= self.media_bytes <= defaults.MEDIA_BYTES:
            raise ArgumentsInvalid(f"media_bytes must be 0 to {defaults.MEDIA_BYTES}")


async def spill_result(
    result: dict[str, Any],
    cache: SpillCache,
    *,
    tool: str,
    tenant: str | None,
    options: SpillOptions,
    declared: Declared,
    reading: Reading | None = None,
) -> dict[str, Any]:
    """The result to hand on for a CallToolResult in wire form, which may be the very same.

    What is no tool's answer, the receipt of a task say, is handed on whatever its size, and so is what stands for a
    spill already; the rest is as `spill_answer` says. Raises `UpstreamInvalid` for an answer that is not made as the
    protocol says.
    """
    if not is_answer(result):
        return result
    check(result)
    if is_spilled(result, options):
        return result
    return await spill_answer(
        result, cache, tool=tool, tenant=tenant, options=options, declared=declared, reading=reading
    )


async def spill_answer(
    result: dict[str, Any],
    cache: SpillCache,
    *,
    tool: str,
    tenant: str | None,
    options: SpillOptions,
    declared: Declared,
    reading: Reading | None = None,
) -> dict[str, Any]:
    """The result to hand on for a tool's answer that was checked and that no envelope stands for.

    `isError`, `_meta` and other fields stay. The structuredContent of a spilled result is the envelope where `declared`
    says so, else absent: hosts that show it would not show the text. Raises `BudgetTooSmall` where what stays leaves no
    room for an envelope, and nothing because of the store. `reading` is how its pages will be asked for, so that their
    estimate is right.
    """
    large = _data_bytes(result)
    layout = await compute(large, _layout, result, options)
    if not layout.spilled:
        said = in_words(result)
        if said is result or _counted_bytes(said, options) <= options.budget:
            return said
        layout = _arranged(result, 0, options)
    spilling = _Spilling(result, large, cache, tool, tenant, options, declared, reading)
    try:
        return await spilling.answer(layout)
    except BudgetTooSmall:  # what stays leaves no room for an envelope
        return await spilling.answer(await compute(large, _arranged, result, 0, options))


@dataclass(frozen=True, slots=True)
class _Spilling:
    """One result that does not fit. `large` is about how many bytes there are to work on."""

    result: dict[str, Any]
    large: int
    cache: SpillCache
    tool: str
    tenant: str | None
    options: SpillOptions
    declared: Declared
    reading: Reading | None

    async def answer(self, layout: Layout) -> dict[str, Any]:
        """Store what goes, and put the envelope and what stays together. Raises `BudgetTooSmall`."""
        payload = await compute(self.large, payload_of, layout.spilled)
        context = _context(layout, payload)
        room = self.options.budget - self._frame_bytes(layout) - self._wire.added(context)
        envelope = await self.cache.spill(
            payload.data,
            tool=self.tool,
            tenant=self.tenant,
            budget=room,
            wire=self._wire,
            reading=self.reading,
        )
        if envelope.completeness == "failed" and self.options.on_store_failure != "envelope":
            passes = self.options.on_store_failure == "pass" and travels(_shown(self.result))
            return self.result if passes else self._refused(envelope)
        if self.result.get("isError"):  # the cause stands at one end of a trace: both are shown, as wide as they fit
            budget = self.options.budget
            ends = ends_of(payload.data, payload.data, len(payload.data), envelope.kind, budget * 4 // 5, budget // 5)
            envelope = with_preview(envelope, ends, room, self._wire)
        return self._put_together(layout, replace(envelope, context=context).as_dict())

    def _put_together(self, layout: Layout, envelope: dict[str, Any]) -> dict[str, Any]:
        text = {"type": "text", "text": sent_json(envelope).decode()}
        answer = self.result | {"content": [text, *_blocks(layout.kept)], "_meta": _marked(self.result)}
        answer.pop(STRUCTURED, None)
        return answer | {STRUCTURED: envelope} if self._structured else answer

    def _refused(self, envelope: Envelope) -> dict[str, Any]:
        error = {
            "status": "FAILED",
            "code": envelope.code,
            "message": f"the result ({envelope.size_bytes} bytes) did not fit and could not be stored",
            "next_step": CODES[envelope.code].default_next_step,
        }
        text = {"type": "text", "text": orjson.dumps(error).decode()}
        answer = self.result | {"content": [text], "isError": True}
        answer.pop(STRUCTURED, None)
        return answer

    def _frame_bytes(self, layout: Layout) -> int:
        """Bytes of the answer without its envelope, and without what is not counted."""
        meta = _marked(self.result)
        blocks = _blocks(part for part in layout.kept if part.sort != "media")
        frame = self.result | {"content": [{"type": "text", "text": ""}, *blocks], "_meta": meta}
        frame.pop(STRUCTURED, None)
        return (
            wire_size(frame)
            - _uncounted(meta, self.options)
            + self._structured * len(f',"{STRUCTURED}":')
            + STAMP_BYTES
        )

    @property
    def _structured(self) -> bool:
        """Whether the envelope goes out twice. Nobody holds an error against a declared schema."""
        return self.declared.answers_structured and not self.result.get("isError")

    @property
    def _wire(self) -> Wire:
        return Wire(copies=(2, 1)) if self._structured else Wire(copies=(2,))


def _layout(result: Mapping[str, Any], options: SpillOptions) -> Layout:
    """What stays and what goes; nothing goes when the result fits, and will arrive, as it is."""
    whole, shown = wire_size(result), _shown(result)
    if whole <= options.budget and travels(shown):
        return Layout((), ())
    layout = _arranged(result, options.budget // 2, options)
    beside = sum(part.size for part in layout.kept if part.sort == "media") + _uncounted(result.get("_meta"), options)
    return Layout((), ()) if whole - beside <= options.budget and travels(shown) else layout


def _shown(result: Mapping[str, Any]) -> list[Any]:
    """What of a result a model may be shown."""
    return [value for key in ("content", STRUCTURED) if (value := result.get(key)) is not None]


def _counted_bytes(result: Mapping[str, Any], options: SpillOptions) -> int:
    """Bytes of a result that its budget counts."""
    media = (part for part in parts_of({"content": result.get("content")}) if part.sort == "media")
    beside = sum(part.size for part in media if part.size <= options.media_bytes)
    return wire_size(result) - beside - _uncounted(result.get("_meta"), options)


def _uncounted(meta: object, options: SpillOptions) -> int:
    """Bytes of a large `_meta`: it is for a host's programs, models are not shown it, and it cannot be spilled."""
    size = wire_size(meta)
    return size if size > options.budget // 4 else 0


def _arranged(result: Mapping[str, Any], room: int, options: SpillOptions) -> Layout:
    parts, media_room = parts_of(result), max(0, HARD_CAP_BYTES - LONGEST_ON_THE_WAY * options.budget)
    if result.get(STRUCTURED) is not None and parts[-1:] and parts[-1].sort != "structured":
        media_room //= 2  # it repeats the blocks, and stays if they do
    return arrange(parts, room=room, media_bytes=options.media_bytes, media_room=media_room)


def is_spilled(result: Mapping[str, Any], options: SpillOptions) -> bool:
    """Whether an envelope stands for this answer already, made by a proxy or server behind this one, or by the tool.

    Anybody can write a mark or an envelope, so neither is believed of an answer that counts more than four times the
    budget: that much is room for who is behind to have a larger one. A tool's own envelope stands only for itself.
    """
    most = _BELIEVED * options.budget
    if MARK in (result.get("_meta") or {}):
        return _counted_bytes(result, options) <= most
    first, *others = result.get("content") or [{}]
    envelope = _envelope(first.get("text"), most)
    if envelope is None or _counted_bytes(result, options) > most:
        return False
    rest = {**result, "content": others}
    if rest.get(STRUCTURED) == envelope:
        del rest[STRUCTURED]
    return wire_size(rest) <= options.budget


def _envelope(text: object, most: int) -> dict[str, Any] | None:
    """The envelope that a text of at most so many bytes is; None if it is none."""
    if not isinstance(text, str) or len(text) > most or not text.startswith('{"completeness":'):
        return None
    try:
        found: dict[str, Any] = orjson.loads(text)
    except ValueError:
        return None
    handle = {"truncated": "spill_id", "failed": "code"}.get(str(found["completeness"]), "")
    return found if {handle, "hint", "size_bytes", "kind"} <= found.keys() else None


def _data_bytes(result: Mapping[str, Any]) -> int:
    """About how much there is to work on, told without working on it."""
    holders = [holder for block in result.get("content") or () for holder in (block, block.get("resource"))]
    held = (holder.get(key) for holder in holders if isinstance(holder, Mapping) for key in ("text", "data", "blob"))
    return sum(len(value) for value in held if isinstance(value, str))


def _context(layout: Layout, payload: Payload) -> dict[str, Any]:
    """What the envelope says of parts, where the payload is not simply the result's one text, or names them itself."""
    context: dict[str, Any] = {}
    if layout.kept or payload.block or (len(layout.spilled) == 1 and layout.spilled[0].sort == "structured"):
        parts = _names("spilled", layout.spilled)
        if payload.block:
            parts["block"] = payload.block
        context["parts"] = parts | _names("kept", layout.kept)
    # Hosts that show structuredContent show no text, so it cannot stay where it was.
    for part in layout.kept:
        if part.sort == "structured":
            context["structured_content"] = part.value
    return context


def _names(word: str, parts: Sequence[Part]) -> dict[str, Any]:
    names: dict[str, Any] = {word: [part.name for part in parts[:_MOST_NAMES]]} if parts else {}
    return names | ({f"{word}_omitted": len(parts) - _MOST_NAMES} if len(parts) > _MOST_NAMES else {})


def _blocks(parts: Iterable[Part]) -> list[Any]:
    return [part.value for part in parts if part.sort != "structured"]


def _marked(result: Mapping[str, Any]) -> dict[str, Any]:
    """The result's `_meta` with our mark."""
    meta = {**(result.get("_meta") or {}), MARK: {"version": 1}}
    framework = meta.pop("fastmcp", None)
    if isinstance(framework, Mapping):
        # Its clients would look for the value inside a wrap, where an envelope has none, and find null.
        framework = {key: value for key, value in framework.items() if key != "wrap_result"}
    if framework:
        meta["fastmcp"] = framework
    return meta
