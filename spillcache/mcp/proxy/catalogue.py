"""What is known of one link's tools: what each declares, whether it is a paging tool, what it wants in headers.

A call may come to a replica that has not listed the tools yet, so the list is fetched when it is first needed, and
again after a change or a reconnection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map

from spillcache.mcp.proxy.link import Link
from spillcache.mcp.proxy.listed import whole_list
from spillcache.mcp.proxy.session import UpstreamSession
from spillcache.tool.definition import TOOL_MARK
from spillcache.tool.schemas import UNDECLARED, Declared, declare


@dataclass(frozen=True, slots=True)
class KnownTool:
    """`entry` as the upstream lists it. `reads` says that it is a paging tool, of a proxy further in."""

    entry: dict[str, Any]
    declared: Declared
    reads: bool


class Catalogue:
    """The tools of one link."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self._tools: dict[str, KnownTool] = {}
        self._session: UpstreamSession | None = None
        self._rest: dict[str, Any] = {}

    async def tools(self) -> list[KnownTool]:
        """All of them, as they are now. Raises what `Link.request` does."""
        session = await self.link.session()
        listed = await self._list() if "tools" in session.capabilities else []
        entries = [entry for entry in listed if not (session.modern and _is_invalid(entry))]
        self._tools = {str(entry.get("name")): self._known(entry) for entry in entries}
        self._session = session
        session.param_headers = {
            name: x_mcp_header_map(tool.entry.get("inputSchema")) for name, tool in self._tools.items()
        }
        return list(self._tools.values())

    def last_known(self) -> list[KnownTool]:
        """Those of the last time that they could be listed."""
        return list(self._tools.values())

    @property
    def rest(self) -> dict[str, Any]:
        """What the upstream said beside the tools when they were last listed."""
        return self._rest

    async def tool(self, name: str) -> KnownTool:
        """One of them; of one that is not listed nothing is known."""
        if self._session is None or self._session is not self.link.connected or name not in self._tools:
            await self.tools()
        return self._tools.get(name) or KnownTool({}, UNDECLARED, reads=False)

    async def _list(self) -> list[dict[str, Any]]:
        self._rest = await whole_list(self.link, "tools/list", "tools")
        tools: list[dict[str, Any]] = self._rest.pop("tools")
        return tools

    def _known(self, entry: dict[str, Any]) -> KnownTool:
        schema = entry.get("outputSchema")
        declared = declare(schema if isinstance(schema, dict) else None, drop=self.link.upstream.drop_output_schema)
        return KnownTool(entry, declared, reads=TOOL_MARK in (entry.get("_meta") or {}))


def _is_invalid(entry: dict[str, Any]) -> bool:
    """The modern protocol wants such tools left out: their arguments cannot be put into headers."""
    return find_invalid_x_mcp_header(entry.get("inputSchema")) is not None
