"""Lists of several upstreams as one: tools whole, everything else page by page, one upstream after the other.

A list that lacks an upstream says so in its `_meta`, and a change is announced when that upstream is there again.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

import anyio
import orjson
from mcp.shared.exceptions import MCPError

from spillcache.errors import ArgumentsInvalid, SpillError, UpstreamUnavailable
from spillcache.mcp.proxy.asked import Asked
from spillcache.mcp.proxy.catalogue import Catalogue, KnownTool
from spillcache.mcp.proxy.links import CallerLinks
from spillcache.mcp.proxy.listed import list_page
from spillcache.mcp.proxy.names import public_name, with_public_uris
from spillcache.mcp.server import protocol_error
from spillcache.tool.definition import ToolOptions, tool_entry

UNAVAILABLE: Final = "spillcache/unavailable"

#: Method → the field of its result, and the capability of a server that has such a list.
PAGED: Final[Mapping[str, tuple[str, str]]] = {
    "resources/list": ("resources", "resources"),
    "resources/templates/list": ("resourceTemplates", "resources"),
    "prompts/list": ("prompts", "prompts"),
}


class ToolLists:
    """Answers tools/list."""

    def __init__(self, options: ToolOptions) -> None:
        self._options = options

    async def tools(self, asked: Asked) -> dict[str, Any]:
        """All tools of all upstreams, with the paging tool.

        Raises `UpstreamUnavailable` when no upstream can be asked or was before, `ArgumentsInvalid` where a
        tool of an upstream has the paging tool's name, `MCPError`.
        """
        if asked.params.get("cursor"):
            raise protocol_error(ArgumentsInvalid("this list has one page", next_step="Ask without a cursor."))
        missing: dict[str, Exception] = {}
        found: dict[str, list[KnownTool]] = {}

        async def ask(namespace: str, catalogue: Catalogue) -> None:
            try:
                found[namespace] = await catalogue.tools()
            except (SpillError, MCPError) as error:
                found[namespace] = catalogue.last_known()
                missing[namespace] = error

        async with anyio.create_task_group() as tasks:
            for namespace, catalogue in asked.links.catalogues.items():
                tasks.start_soon(ask, namespace, catalogue)
        if not any(found.values()) and missing:
            raise next(iter(missing.values()))
        entries = [
            self._shown(tool, namespace, asked) for namespace in asked.links.catalogues for tool in found[namespace]
        ]
        return self._page(asked, entries, missing)

    async def checked(self, links: CallerLinks) -> None:
        """Raise `ArgumentsInvalid` where a tool of an upstream that can be asked now has the paging tool's name."""
        for namespace, catalogue in links.catalogues.items():
            if catalogue.link.connected is None:
                continue
            for tool in await catalogue.tools():
                self._refuse(tool, public_name(namespace, str(tool.entry.get("name"))))

    def _refuse(self, tool: KnownTool, name: str) -> None:
        if name == self._options.name and not tool.reads:
            raise ArgumentsInvalid(
                f"the server behind the proxy has a tool named {name!r} itself",
                next_step="Give the paging tool another name with --tool-name or SPILLCACHE_TOOL_NAME.",
            )

    def _page(self, asked: Asked, entries: list[dict[str, Any]], missing: dict[str, Exception]) -> dict[str, Any]:
        taken = next((entry for entry in entries if entry.get("name") == self._options.name), None)
        if taken is None:
            entries.append(tool_entry(self._options))
        single = asked.links.catalogues.get("")
        page = {**(single.rest if single is not None else {}), "tools": entries}
        return _saying(page, missing)

    def _shown(self, tool: KnownTool, namespace: str, asked: Asked) -> dict[str, Any]:
        name = str(tool.entry.get("name"))
        entry = {**tool.entry, "name": public_name(namespace, name)}
        self._refuse(tool, entry["name"])
        if tool.reads or not asked.links.links[namespace].upstream.spills(name):
            return entry
        entry.pop("outputSchema", None)
        if tool.declared.schema is not None:
            entry["outputSchema"] = dict(tool.declared.schema)
        return entry


async def paged(asked: Asked) -> dict[str, Any]:
    """A page of another list. Raises as `ToolLists.tools`."""
    field, capability = PAGED[asked.method]
    namespaces = list(asked.links.links)
    if namespaces == [""]:
        return await _one(asked, "", capability, field, asked.params)
    at, cursor = _place(asked.params.get("cursor"), namespaces)
    missing: dict[str, Exception] = {}
    page: dict[str, Any] = {field: []}
    for number in range(at, len(namespaces)):
        namespace = namespaces[number]
        try:
            page = await _one(asked, namespace, capability, field, {} if cursor is None else {"cursor": cursor})
        except UpstreamUnavailable as error:
            missing[namespace] = error
            page = {field: []}
        following = page.pop("nextCursor", None)
        if following is not None or (page.get(field) and number + 1 < len(namespaces)):
            target = (namespace, following) if following is not None else (namespaces[number + 1], None)
            return _saying({**page, "nextCursor": _cursor(*target)}, missing)
        if page.get(field):
            break
        cursor = None
    if len(missing) == len(namespaces):
        raise next(iter(missing.values()))
    return _saying(page, missing)


async def _one(asked: Asked, namespace: str, capability: str, field: str, params: Mapping[str, Any]) -> dict[str, Any]:
    link = asked.links.links[namespace]
    if capability not in (await link.session()).capabilities:
        return {field: []}
    shown = with_public_uris(await list_page(link, asked.method, field, params), namespace)
    if field == "prompts":
        shown[field] = [{**entry, "name": public_name(namespace, entry["name"])} for entry in shown[field]]
    return shown


def _saying(page: dict[str, Any], missing: Mapping[str, Exception]) -> dict[str, Any]:
    """The page, which names the upstreams that are not in it."""
    if not missing:
        return page
    said = {namespace: _as_dict(error) for namespace, error in missing.items()}
    return {**page, "_meta": {**(page.get("_meta") or {}), UNAVAILABLE: said}}


def _as_dict(error: Exception) -> dict[str, Any]:
    if isinstance(error, SpillError):
        return error.as_dict()
    return UpstreamUnavailable("the server answered the list with an error of its own").as_dict()


def _cursor(namespace: str, cursor: str | None) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([namespace, cursor])).decode()


def _place(cursor: object, namespaces: list[str]) -> tuple[int, str | None]:
    if cursor is None:
        return 0, None
    try:
        namespace, inner = orjson.loads(base64.urlsafe_b64decode(str(cursor)))
        return namespaces.index(namespace), inner
    except (ValueError, TypeError, binascii.Error):
        raise protocol_error(
            ArgumentsInvalid("this is no cursor of this list", next_step="Ask for the list from its beginning.")
        ) from None
