"""The parts of a tool's result, and which of them have to go.

A result is content blocks and, beside them, structuredContent, which often says the same once more: then it is not a
part of its own. Sizes are bytes of the JSON on the wire.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson

from spillcache.payload import to_json
from spillcache.tool.documents import says
from spillcache.tool.numbers import travels

#: Name and key of the part that is not a block.
STRUCTURED: Final = "structuredContent"

#: No answer may be larger on its way, whatever passes whole in it: Python clients refuse an SSE event over 1 MiB.
HARD_CAP_BYTES: Final = 1_000_000

#: How often over a text may be sent: HTTP of the 2026-07-28 protocol makes six bytes of two where they are not ASCII.
LONGEST_ON_THE_WAY: Final = 3

# What servers call the one field of an object around a value that is none: their frameworks, and the reference server
# for files, which also repeats all its blocks so.
_WRAPS: Final = ({"result"}, {"content"})

Sort = Literal["text", "media", "structured", "other"]


@dataclass(frozen=True, slots=True)
class Part:
    """A block, or what structuredContent holds. Media are pictures, sound and files: hosts count them by themselves."""

    name: str
    sort: Sort
    value: Any
    size: int

    @property
    def text(self) -> str | None:
        """Its text, if it is one: of a text block or of an embedded text resource."""
        if self.sort != "text":
            return None
        holder = self.value["resource"] if self.value["type"] == "resource" else self.value
        text: str = holder["text"]
        return text


@dataclass(frozen=True, slots=True)
class Layout:
    """What becomes of a result's parts. `kept` and `spilled` are in the order in which the result had them."""

    kept: tuple[Part, ...]
    spilled: tuple[Part, ...]


def wire_size(value: object) -> int:
    """Bytes of a value as JSON on the wire."""
    try:
        return len(orjson.dumps(value))
    except TypeError:  # integers of more than 64 bits, lone surrogates
        return len(to_json(value))


def parts_of(result: Mapping[str, Any]) -> list[Part]:
    """The parts of a result. Its structuredContent is one only if it says what the texts do not."""
    parts = [_part(f"content[{number}]", block) for number, block in enumerate(result.get("content") or ())]
    structured = result.get(STRUCTURED)
    if structured is not None and not _said_already(structured, parts):
        parts.append(Part(STRUCTURED, "structured", structured, wire_size(structured)))
    return parts


def arrange(parts: Sequence[Part], *, room: int, media_bytes: int, media_room: int) -> Layout:
    """Choose what goes from a result that must shrink: at least one part, if there is one that may go.

    Media over `media_bytes` go, and the largest of those that are left until they take `media_room` together at most;
    likewise all other parts until they take `room`. Of what would stay, parts go that would not arrive as they are.
    """
    media = [part for part in parts if part.sort == "media"]
    others = [part for part in parts if part.sort != "media"]
    staying = _smallest([part for part in media if part.size <= media_bytes], media_room)
    if len(staying) == len(media):
        room = min(room, _total(others) - 1)
    kept = {part.name for part in [*staying, *_smallest(others, room)] if travels(part.value)}
    return Layout(
        tuple(part for part in parts if part.name in kept), tuple(part for part in parts if part.name not in kept)
    )


def _smallest(parts: Iterable[Part], room: int) -> list[Part]:
    """What is left of the parts within `room` when the largest go first."""
    left = sorted(parts, key=lambda part: part.size)
    size = _total(left)
    while left and size > room:
        size -= _total([left.pop()])
    return left


def _total(parts: Iterable[Part]) -> int:
    return sum(part.size + len(",") for part in parts)


def _part(name: str, block: Mapping[str, Any]) -> Part:
    return Part(name, _sort(block), block, wire_size(block))


def _sort(block: Mapping[str, Any]) -> Sort:
    resource = block.get("resource")
    holder = resource if block.get("type") == "resource" and isinstance(resource, Mapping) else block
    if block.get("type") in {"image", "audio"} or (holder is resource and isinstance(holder.get("blob"), str)):
        return "media"
    if block.get("type") in {"text", "resource"} and isinstance(holder.get("text"), str):
        return "text"
    return "other"


def _said_already(structured: Any, parts: Sequence[Part]) -> bool:
    """Whether the blocks carry the same data: as one JSON document, one text for each member of a list, or themselves.

    Servers wrap what is not an object as `{"result": …}`, and their texts then hold what is in the wrap.
    """
    texts = [part.value["text"] for part in parts if part.sort == "text" and part.value["type"] == "text"]
    wrapped = isinstance(structured, Mapping) and structured.keys() in _WRAPS
    inner = next(iter(structured.values())) if wrapped else structured
    whole = [structured, inner] if wrapped else [structured]
    if any(says(text, value) for value in whole for text in texts):
        return True
    if not isinstance(inner, list) or not inner:
        return False
    if len(inner) == len(texts) and all(map(says, texts, inner)):
        return True
    return len(inner) == len(parts) and to_json(inner) == to_json([part.value for part in parts])
