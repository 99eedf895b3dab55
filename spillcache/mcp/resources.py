"""A spill as a resource: `spill://{id}` is page 1, for hosts that read resources themselves."""

from __future__ import annotations

from typing import Any, Final

from spillcache import SpillCache
from spillcache.errors import ArgumentsInvalid
from spillcache.tool.rendering import JSON_WIRE, json_text
from spillcache.wire import Wire

SCHEME: Final = "spill://"
MIME_TYPE: Final = "application/json"

TEMPLATE: Final[dict[str, Any]] = {
    "uriTemplate": SCHEME + "{id}",
    "name": "spill",
    "title": "First page of a stored tool result",
    "description": "Page 1 of the spill with this id, as the paging tool gives it: a part of the data, not all of it.",
    "mimeType": MIME_TYPE,
}
"""The entry of a list of resource templates, in wire form."""

# What a read adds to a tool result's frame: the address with its id, the type, and the two hints on caching that the
# 2026-07-28 protocol wants.
_FRAME_BYTES: Final = 128
_WIRE: Final = Wire(copies=(2,), wrapper=JSON_WIRE.wrapper + _FRAME_BYTES)


async def read_spill(cache: SpillCache, uri: str, *, budget: int, tenant: str) -> dict[str, Any]:
    """A ReadResourceResult in wire form with page 1, of at most `budget` bytes. Raises `SpillError`."""
    if not uri.startswith(SCHEME):
        error = ArgumentsInvalid("this is not the address of a spill", next_step=f"Read {SCHEME} and a spill_id.")
        cache.watcher.failed("resource", error)
        raise error
    page = await cache.page(uri.removeprefix(SCHEME), budget=budget, tenant=tenant, wire=_WIRE)
    return {"contents": [{"uri": uri, "mimeType": MIME_TYPE, "text": json_text(page.as_dict())}]}
