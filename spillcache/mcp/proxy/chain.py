"""A proxy behind this one: what it has spilled stays its own, and says under which name it is read on from here."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

import orjson

_REMEMBERED: Final = 10_000


class FurtherIn:
    """Which spills proxies further in have made, of those that came by lately."""

    def __init__(self) -> None:
        self._ids: OrderedDict[str, None] = OrderedDict()

    def saw(self, result: Mapping[str, Any]) -> None:
        """A spilled result came from further in."""
        first: dict[str, Any] = next(iter(result.get("content") or ()), {})
        spill_id = (_parsed(first.get("text")) or {}).get("spill_id")
        if isinstance(spill_id, str):
            self._ids[spill_id] = None
            self._ids.move_to_end(spill_id)
            if len(self._ids) > _REMEMBERED:
                self._ids.popitem(last=False)

    def has(self, spill_id: str) -> bool:
        """Whether this is one of them."""
        return spill_id in self._ids


def with_public_reader(result: dict[str, Any], reader: str, public: str) -> dict[str, Any]:
    """The envelope of a spilled result with the paging tool `reader` under its public name, in every copy of it."""
    if reader == public:
        return result
    changed = dict(result)
    content = [*(changed.get("content") or [])]
    if content and isinstance(content[0], dict) and content[0].get("type") == "text":
        envelope = _parsed(content[0].get("text"))
        if envelope is not None:
            text = orjson.dumps(_renamed(envelope, reader, public)).decode()
            changed["content"] = [{**content[0], "text": text}, *content[1:]]
    if isinstance(changed.get("structuredContent"), dict):
        changed["structuredContent"] = _renamed(changed["structuredContent"], reader, public)
    return changed


def _parsed(text: object) -> dict[str, Any] | None:
    try:
        found = orjson.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return found if isinstance(found, dict) and "completeness" in found else None


def _renamed(envelope: dict[str, Any], reader: str, public: str) -> dict[str, Any]:
    """Only our own words change, never the preview: it is the payload's."""
    changed = dict(envelope)
    if isinstance(changed.get("hint"), str):
        changed["hint"] = changed["hint"].replace(f"Call {reader} ", f"Call {public} ")
    following = changed.get("next")
    if isinstance(following, dict) and following.get("tool") == reader:
        changed["next"] = {**following, "tool": public}
    return changed
