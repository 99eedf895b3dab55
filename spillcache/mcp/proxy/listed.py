"""Entries of an upstream's lists: those made as the protocol says, as one that is not would cost a client all."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND

from spillcache.errors import UpstreamInvalid
from spillcache.mcp.proxy.link import Link

_log = logging.getLogger("spillcache")

#: Field of a list's result → what each of its entries must have, and of which type.
_NEEDED: Final[Mapping[str, Mapping[str, type]]] = {
    "tools": {"name": str, "inputSchema": dict},
    "prompts": {"name": str},
    "resources": {"uri": str, "name": str},
    "resourceTemplates": {"uriTemplate": str, "name": str},
}

#: What they may have, and where wrong things would be read.
_OPTIONAL: Final[Mapping[str, type]] = {"_meta": dict, "annotations": dict, "outputSchema": dict, "description": str}

MAX_PAGES: Final = 1_000  # of a list: an upstream whose list never ends must not hang us


async def whole_list(link: Link, method: str, field: str) -> dict[str, Any]:
    """A list to its last page: the first page, with the entries of all. Raises as `list_page`, also without an end."""
    first: dict[str, Any] = {}
    entries: list[dict[str, Any]] = []
    params: dict[str, Any] = {}
    for _ in range(MAX_PAGES):
        page = await list_page(link, method, field, params)
        entries += page[field]
        first = first or page
        if not page.get("nextCursor"):
            return {**{key: value for key, value in first.items() if key != "nextCursor"}, field: entries}
        params = {"cursor": page["nextCursor"]}
    raise UpstreamInvalid(f"the tool's server has a list of {field} without an end: {MAX_PAGES} pages and more")


async def list_page(link: Link, method: str, field: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """A page of a list, with its sound entries. Raises what `Link.request` does, and `UpstreamInvalid`.

    A server may have resources and no templates of them; that list has no capability of its own.
    """
    try:
        page = await link.request(method, params)
    except MCPError as error:
        if error.code == METHOD_NOT_FOUND and field == "resourceTemplates":
            return {field: []}
        raise
    return {**page, field: _entries_of(page, field, link.namespace)}


def _entries_of(page: Mapping[str, Any], field: str, namespace: str) -> list[dict[str, Any]]:
    """The entries of a page; of those that are left out the log says how many.

    Raises `UpstreamInvalid` where there is no list at all, which is not an empty one.
    """
    listed = page.get(field)
    if not isinstance(listed, list):
        raise UpstreamInvalid(f"the tool's server answered a list of {field} with something else")
    entries = [entry for entry in listed if _is_sound(entry, _NEEDED[field])]
    if len(entries) < len(listed):
        left_out = {"upstream": namespace, "field": field, "count": len(listed) - len(entries)}
        _log.warning("upstream_entries_left_out", extra=left_out)
    return entries


def _is_sound(entry: object, needed: Mapping[str, type]) -> bool:
    return (
        isinstance(entry, dict)
        and all(isinstance(entry.get(name), kind) for name, kind in needed.items())
        and all(isinstance(entry[name], kind | None) for name, kind in _OPTIONAL.items() if name in entry)
    )
