"""Calls of tools: to the upstream whose tool it is, and its result back, spilled where it is too large."""

from __future__ import annotations

from typing import Any

from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types import HEADER_MISMATCH

from spillcache import SpillCache, defaults
from spillcache.errors import ArgumentsInvalid, SpillError
from spillcache.mcp.proxy.asked import Asked
from spillcache.mcp.proxy.catalogue import Catalogue, KnownTool
from spillcache.mcp.proxy.chain import is_spilled, with_public_reader
from spillcache.mcp.proxy.names import public_name, split_name, with_public_uris
from spillcache.mcp.proxy.questions import answered
from spillcache.mcp.server import protocol_error
from spillcache.tool.calls import answer_call
from spillcache.tool.definition import ToolOptions
from spillcache.tool.rendering import json_text, tool_result
from spillcache.tool.results import LEAST_BUDGET_BYTES, spill_result


class Calls:
    """Answers tools/call."""

    def __init__(self, cache: SpillCache, options: ToolOptions) -> None:
        self._cache, self._options = cache, options

    async def call(self, asked: Asked) -> dict[str, Any]:
        """The result in wire form. What goes wrong between here and the upstream's tool is a result with `isError`.

        Raises `MCPError` for the upstream's own protocol errors.
        """
        name = str(asked.params.get("name"))
        try:
            if name == self._options.name:
                return await self._read(asked)
            return await self._relay(asked, name)
        except SpillError as error:
            self._cache.watcher.failed("proxy", error)
            return tool_result(json_text(error.as_dict()), failed=True)

    async def _relay(self, asked: Asked, name: str) -> dict[str, Any]:
        namespace, inner = _target(asked, name)
        catalogue = asked.links.catalogues[namespace]
        known = await catalogue.tool(inner)
        result = with_public_uris(await self._run(asked, catalogue, inner), namespace)
        upstream = catalogue.link.upstream
        if result.get("resultType", "complete") != "complete" or known.reads:
            return result
        if is_spilled(result):
            return _from_further_in(result, catalogue, namespace)
        if not upstream.spills(inner):
            return result
        return await spill_result(
            result,
            self._cache,
            tool=name,
            tenant=asked.caller.tenant,
            options=upstream.options_for(inner, min(max(asked.budget, LEAST_BUDGET_BYTES), defaults.MAX_PAGE_BYTES)),
            declared=known.declared,
        )

    async def _run(self, asked: Asked, catalogue: Catalogue, inner: str) -> dict[str, Any]:
        async def send(params: dict[str, Any], on_progress: ProgressFnT | None = asked.on_progress) -> dict[str, Any]:
            return await catalogue.link.request("tools/call", params, on_progress=on_progress)

        params = {**asked.params, "name": inner}
        if asked.may_be_held and not (await catalogue.link.session()).modern:
            return await asked.links.audience.holding.call(asked.context, params, send)
        try:
            return await answered(asked, params, send)
        except MCPError as error:
            if error.code != HEADER_MISMATCH:
                raise
        # Refused before it ran, because the tool's schema has changed: the protocol's way is to list and call again.
        await catalogue.tools()
        return await answered(asked, params, send)

    async def _read(self, asked: Asked) -> dict[str, Any]:
        """A page. Where a proxy further in has a paging tool of the same name, whoever has the spill answers."""
        own = await answer_call(
            self._cache,
            asked.params.get("arguments"),
            options=self._options,
            budget=asked.budget,
            full=asked.full,
            tenant=asked.caller.tenant,
        )
        further = asked.links.catalogues.get("")
        if not own["isError"] or further is None or not (await further.tool(self._options.name)).reads:
            return own
        theirs = await self._run(asked, further, self._options.name)
        return own if theirs.get("isError") and _is_ours(own) else theirs


def _target(asked: Asked, name: str) -> tuple[str, str]:
    if "" in asked.links.links:
        return "", name
    namespace, inner = split_name(name)
    if namespace not in asked.links.links:
        raise protocol_error(
            ArgumentsInvalid("there is no tool of that name", next_step="List the tools and call one of them.")
        )
    return namespace, inner


def _from_further_in(result: dict[str, Any], catalogue: Catalogue, namespace: str) -> dict[str, Any]:
    readers: list[KnownTool] = [tool for tool in catalogue.last_known() if tool.reads]
    if not readers:
        return result
    reader = str(readers[0].entry.get("name"))
    return with_public_reader(result, reader, public_name(namespace, reader))


def _is_ours(own: dict[str, Any]) -> bool:
    """Whether our error is about a spill that we had, or about the arguments: not "no such thing here"."""
    text = own["content"][0]["text"]
    return not any(f'"code":"{code}"' in text for code in _NOT_HERE)


_NOT_HERE = ("spill_not_found", "cursor_rejected", "cursor_key_unknown")
