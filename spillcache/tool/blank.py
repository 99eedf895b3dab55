"""Results without content are said in words: an empty text is an error to some hosts, and no data to every model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spillcache.payload import to_json
from spillcache.tool.parts import STRUCTURED

_MOST_SHOWN_BYTES: Final = 400


def in_words(result: dict[str, Any]) -> dict[str, Any]:
    """The answer of a tool; one without any content gets a text block that says so, and what there is instead.

    One that has a picture, a link or a text that is not blank is returned as it is. Blank text stands in the words, or
    stays behind them where it is long.
    """
    blocks = result.get("content") or []
    if not all(block["type"] == "text" and not block["text"].strip() for block in blocks):
        return result
    blank = to_json("".join(block["text"] for block in blocks)).decode() if blocks else ""
    is_shown = len(blank) <= _MOST_SHOWN_BYTES
    said = "returned only blank text" if blocks else "returned no content"
    said += (f": {blank}" if is_shown else ", which follows") if blocks else ""
    words = {"type": "text", "text": _words(result, said)}
    return result | {"content": [words] if is_shown else [words, *(block for block in blocks if block["text"])]}


def _words(result: Mapping[str, Any], said: str) -> str:
    who = "The tool reported an error and" if result.get("isError") else "The tool"
    if STRUCTURED not in result:
        return f"{who} {said}. This is its whole answer; nothing was cut off."
    value = to_json(result[STRUCTURED]).decode()
    where = f"its structured result: {value}" if len(value) <= _MOST_SHOWN_BYTES else "in structuredContent"
    return f"{who} {said}; its whole answer is {where}"
