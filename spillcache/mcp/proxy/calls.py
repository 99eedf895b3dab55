"""Calls of tools: to the upstream whose tool it is, and its result back, spilled where it is too large."""

from __future__ import annotations

from typing import Any, Final

import orjson
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types import HEADER_MISMATCH

from spillcache import SpillCache, defaults
from spillcache.errors import (
    ArgumentsInvalid,
    BudgetTooSmall,
    CursorKeyUnknown,
    CursorRejected,
    PayloadTooLarge,
    SpillError,
    SpillExpired,
    SpillLost,
    SpillNotFound,
)
from spillcache.mcp.proxy.asked import Asked
from spillcache.mcp.proxy.catalogue import Catalogue, KnownTool
from spillcache.mcp.proxy.chain import FurtherIn, with_public_reader
from spillcache.mcp.proxy.failures import handled
from spillcache.mcp.proxy.names import public_name, split_name, with_public_uris
from spillcache.mcp.proxy.questions import answered
from spillcache.mcp.server import protocol_error
from spillcache.terms import Reading
from spillcache.tool.calls import answer_call
from spillcache.tool.definition import ToolOptions
from spillcache.tool.rendering import json_text, tool_result
from spillcache.tool.results import LEAST_BUDGET_BYTES, is_spilled, spill_answer
from spillcache.tool.shapes import check, is_answer


class Calls:
    """Answers tools/call."""

    def __init__(self, cache: SpillCache, options: ToolOptions) -> None:
        self._cache, self._options = cache, options
        self._further_in = FurtherIn()

    async def call(self, asked: Asked) -> dict[str, Any]:
        """The result in wire form. What goes wrong between here and the upstream's tool is a result with `isError`.

        Raises `MCPError` for the upstream's own protocol errors.
        """
        name = str(asked.params.get("name"))
        try:
            with handled():
                return await (self._read(asked) if name == self._options.name else self._relay(asked, name))
        except SpillError as error:
            self._cache.watcher.failed("proxy", error)
            return tool_result(json_text(error.as_dict()), failed=True)

    async def _relay(self, asked: Asked, name: str) -> dict[str, Any]:
        namespace, inner = _target(asked, name)
        catalogue = asked.links.catalogues[namespace]
        known = await catalogue.tool(inner)
        result = with_public_uris(await self._run(asked, catalogue, inner), namespace)
        if known.reads or not is_answer(result):
            return result
        check(result)
        upstream = catalogue.link.upstream
        budget = min(max(asked.budget, LEAST_BUDGET_BYTES), defaults.MAX_PAGE_BYTES)
        options = upstream.options_for(inner, budget)
        if is_spilled(result, options):
            self._further_in.saw(result)
            return _from_further_in(result, catalogue, namespace)
        if not upstream.spills(inner):
            return result
        try:
            return await spill_answer(
                result,
                self._cache,
                tool=name,
                tenant=asked.caller.tenant,
                options=options,
                declared=known.declared,
                reading=Reading(asked.budget, self._options.wire),
            )
        except BudgetTooSmall:
            raise PayloadTooLarge(
                "what the tool's server sent beside the content leaves no room for an answer; nothing of it was kept",
                next_step="Ask the tool for less, or tell the operator. This is a FAILED call, not an empty result.",
            ) from None

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
        """A page. Where a proxy further in has a paging tool of the same name, it is asked for spills not made here."""
        own = await answer_call(
            self._cache,
            asked.params.get("arguments"),
            options=self._options,
            budget=asked.budget,
            full=asked.full,
            tenant=asked.caller.tenant,
        )
        further = asked.links.catalogues.get("")
        if not own["isError"] or further is None or not await self._is_elsewhere(asked, own):
            return own
        if not (await further.tool(self._options.name)).reads:
            return own
        return await self._run(asked, further, self._options.name)

    async def _is_elsewhere(self, asked: Asked, own: dict[str, Any]) -> bool:
        """Whether the spill is not one of ours, by our own error: only then may others see its id and cursor.

        A cursor may be refused, or taken for that of a spill that is gone, because another key ring signed it or the
        same one: then the spill must be unknown here as well.
        """
        code = orjson.loads(own["content"][0]["text"])["code"]
        spill_id = str((asked.params.get("arguments") or {}).get("spill_id"))
        if code == SpillNotFound.code:
            return True
        if code not in _OTHERS_CURSOR and not (code in _GONE and self._further_in.has(spill_id)):
            return False
        try:
            await self._cache.stat(spill_id, tenant=asked.caller.tenant)
        except SpillNotFound:
            return True
        except SpillError:
            return False
        return False


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


_OTHERS_CURSOR: Final = frozenset({CursorRejected.code, CursorKeyUnknown.code})
_GONE: Final = frozenset({SpillLost.code, SpillExpired.code})
