"""What the proxy has itself, beside what its upstreams have: the playbook's prompt, and spills as resources.

What an upstream has under the same name or address stays its own: then ours is left out, and never answers in its
place. So whether it has such a thing is asked before ours answers where it could.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import anyio
from mcp.shared.exceptions import MCPError

from spillcache import SpillCache
from spillcache.errors import SpillError, SpillIdMalformed, SpillNotFound
from spillcache.mcp.proxy import reading
from spillcache.mcp.proxy.asked import Asked
from spillcache.mcp.proxy.link import Link
from spillcache.mcp.proxy.listed import whole_list
from spillcache.mcp.proxy.lists import PAGED, paged
from spillcache.mcp.proxy.names import split_name
from spillcache.mcp.resources import SCHEME, TEMPLATE, read_spill
from spillcache.mcp.server import protocol_error
from spillcache.tool.definition import ToolOptions
from spillcache.tool.playbook import PROMPT_ENTRY, PROMPT_NAME, prompt_answer

_log = logging.getLogger("spillcache")

_PROMPTS: Final = "prompts/list"
_TEMPLATES: Final = "resources/templates/list"
_RESOURCES: Final = "resources/list"

#: Method → what of ours its list ends with.
_ENTRIES: Final[Mapping[str, dict[str, Any]]] = {_PROMPTS: PROMPT_ENTRY, _TEMPLATES: TEMPLATE}

#: Method → the field that says what an entry of its list is called.
_NAMES: Final[Mapping[str, str]] = {_PROMPTS: "name", _TEMPLATES: "uriTemplate", _RESOURCES: "uri"}

#: Seconds that an upstream has to say whether something of ours is its own.
_PATIENCE_S: Final = 5.0

#: No spill of ours is meant.
_PERHAPS_THEIRS: Final = frozenset({SpillNotFound.code, SpillIdMalformed.code})


class Own:
    """Answers for both, ours and the upstreams'."""

    def __init__(self, cache: SpillCache, options: ToolOptions) -> None:
        self._cache, self._options = cache, options

    async def paged(self, asked: Asked) -> dict[str, Any]:
        """A page of a list; the last one has ours at its end. Raises as `lists.paged`."""
        page = await paged(asked)
        if asked.method not in _ENTRIES or page.get("nextCursor"):
            return page
        entry, (field, _) = _ENTRIES[asked.method], PAGED[asked.method]
        if await _is_taken(asked, page[field]):
            if asked.method == _PROMPTS:  # a spill's address is read here first, whoever lists it
                _log.warning("prompt_name_taken", extra={"prompt": PROMPT_NAME})
            return page
        return {**page, field: [*page[field], entry]}

    async def read(self, asked: Asked) -> dict[str, Any]:
        """A resource. Raises `MCPError` for what is wrong with a spill of ours, and as `reading.read`."""
        uri = str(asked.params.get("uri"))
        if not uri.startswith(SCHEME):
            return await reading.read(asked)
        try:
            return await read_spill(self._cache, uri, budget=asked.budget, tenant=asked.caller.tenant)
        except SpillError as error:
            failure = error
        if failure.code in _PERHAPS_THEIRS and await _has_addresses(asked):
            return await reading.read(asked)
        raise protocol_error(failure)

    async def prompted(self, asked: Asked) -> dict[str, Any]:
        """A prompt."""
        if asked.params.get("name") != PROMPT_NAME or await _has_prompt(asked):
            return await reading.prompted(asked)
        return prompt_answer(self._options.name, asked.params.get("arguments"))

    async def completed(self, asked: Asked) -> dict[str, Any]:
        """A completion. For ours none is suggested: nobody is shown which spills there are."""
        reference = asked.params.get("ref") or {}
        if reference.get("type") == "ref/resource":
            ours = await self._is_ours(asked, reference.get("uri"))
        else:
            ours = reference.get("name") == PROMPT_NAME and not await _has_prompt(asked)
        return {"completion": {"values": []}} if ours else await reading.completed(asked)

    async def subscribed(self, asked: Asked) -> dict[str, Any]:
        """A subscription or its end. A spill never changes, so of ours there is nothing to tell."""
        return {} if await self._is_ours(asked, asked.params.get("uri")) else await reading.subscribed(asked)

    async def theirs(self, asked: Asked, uris: Iterable[str]) -> list[str]:
        """Those of these addresses that are an upstream's affair."""
        return [uri for uri in uris if not await self._is_ours(asked, uri)]

    async def _is_ours(self, asked: Asked, uri: object) -> bool:
        return str(uri).startswith(SCHEME) and not await _has_addresses(asked)


async def _is_taken(asked: Asked, page: list[dict[str, Any]]) -> bool:
    """Whether an upstream has an entry that is called as ours is; `page` is the last page of the list."""
    name = _NAMES[asked.method]
    ours = _ENTRIES[asked.method][name]
    single = asked.links.links.get("")
    if single is None:
        return asked.method == _PROMPTS and await _has_prompt(asked)
    if asked.params.get("cursor"):  # it may stand on a page before this one
        return await _lists(single, asked.method, lambda called: bool(called == ours))
    return any(entry[name] == ours for entry in page)


async def _has_prompt(asked: Asked) -> bool:
    """Whether a prompt of our name is an upstream's: of several, of the one under whose namespace it would be."""
    single = asked.links.links.get("")
    if single is None:
        return split_name(PROMPT_NAME)[0] in asked.links.links
    return await _lists(single, _PROMPTS, lambda called: called == PROMPT_NAME)


async def _has_addresses(asked: Asked) -> bool:
    """Whether an upstream has resources of our scheme. Of several none can: theirs begin with their namespaces."""
    single = asked.links.links.get("")
    if single is None:
        return False

    def is_ours(called: str) -> bool:
        return called.startswith(SCHEME)

    return await _lists(single, _TEMPLATES, is_ours) or await _lists(single, _RESOURCES, is_ours)


async def _lists(link: Link, method: str, called: Callable[[str], bool]) -> bool:
    """Whether the upstream has an entry that is called so, as far as it says: one that cannot tell has none.

    Asked anew each time: it is wanted only where an address is not found here, and lists change.
    """
    field, capability = PAGED[method]
    try:
        with anyio.move_on_after(_PATIENCE_S):
            if capability not in (await link.session()).capabilities:
                return False
            return any(called(entry[_NAMES[method]]) for entry in (await whole_list(link, method, field))[field])
    except (SpillError, MCPError) as failure:
        _log.info("upstream_failed", extra={"upstream": link.namespace, "why": type(failure).__name__})
    return False
