"""Results without content are said in words: an empty text is an error to some hosts, and no data to every model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spillcache.payload import to_json
from spillcache.tool.parts import STRUCTURED

_MOST_SHOWN_BYTES: Final = 400


def in_words(result: dict[str, Any]) -> dict[str, Any]:
    """The result; one without any content gets a text block that says so, and what there is instead of content.

    A result that has a picture, a link or a text that is not blank is returned as it is.
    """
    blocks = result.get("content") or []
    if not all(block.get("type") == "text" and not (block.get("text") or "").strip() for block in blocks):
        return result
    return result | {"content": [{"type": "text", "text": _words(result, [block.get("text") for block in blocks])}]}


def _words(result: Mapping[str, Any], texts: list[str | None]) -> str:
    who = "The tool reported an error and" if result.get("isError") else "The tool"
    said = "returned no content"
    if texts:
        blank = to_json("".join(text or "" for text in texts)).decode()
        said = "returned only blank text" + f": {blank}" * (len(blank) <= _MOST_SHOWN_BYTES)
    if STRUCTURED not in result:
        return f"{who} {said}. This is its whole answer; nothing was cut off."
    value = to_json(result[STRUCTURED]).decode()
    where = f"its structured result: {value}" if len(value) <= _MOST_SHOWN_BYTES else "in structuredContent"
    return f"{who} {said}; its whole answer is {where}"
