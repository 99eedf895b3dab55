"""Which results are a tool's whole answer, and whether they are made as the protocol says.

Servers answer calls with other things too: the receipt of a task that runs on, the `toolResult` of early protocols,
and what later ones may bring. Of those nothing is known, so nothing may be said about them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spillcache.errors import UpstreamInvalid
from spillcache.tool.parts import STRUCTURED


def is_answer(result: Mapping[str, Any]) -> bool:
    """Whether a result is complete and holds what a tool says, however badly that is made."""
    return result.get("resultType", "complete") == "complete" and not {"content", STRUCTURED}.isdisjoint(result)


def check(result: Mapping[str, Any]) -> None:
    """Raises `UpstreamInvalid` for an answer that is not made as the protocol says, which repeats nothing of it.

    Checked is what decides whether its data can be told: clients would refuse it as well, and some would show nothing.
    """
    blocks = result.get("content")
    if blocks is None and STRUCTURED in result:
        blocks = []
    if not isinstance(blocks, list):
        raise UpstreamInvalid("the tool's server sent a result whose content is not a list")
    for number, block in enumerate(blocks):
        if not _is_block(block):
            raise UpstreamInvalid(f"the tool's server sent a result whose content[{number}] is not a content block")
    if not isinstance(result.get("_meta", {}), Mapping | None):
        raise UpstreamInvalid("the tool's server sent a result whose _meta is not an object")


def _is_block(block: Any) -> bool:
    if not isinstance(block, Mapping) or not isinstance(block.get("type"), str):
        return False
    match block["type"]:
        case "text":
            return isinstance(block.get("text"), str)
        case "image" | "audio":
            return isinstance(block.get("data"), str)
        case "resource":
            return _is_resource(block.get("resource"))
    return True


def _is_resource(resource: Any) -> bool:
    """An embedded resource holds a text, or base64."""
    if not isinstance(resource, Mapping):
        return False
    held = [resource[key] for key in ("text", "blob") if resource.get(key) is not None]
    return bool(held) and all(isinstance(value, str) for value in held)
