"""A proxy behind this one: what it has spilled stays its own, and says under which name it is read on from here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from spillcache.tool.results import MARK


def is_spilled(result: Mapping[str, Any]) -> bool:
    """Whether a proxy further in made a spill of this result."""
    return MARK in (result.get("_meta") or {})


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
