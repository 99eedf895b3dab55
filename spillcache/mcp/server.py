"""The MCP face on the official SDK's low-level server: handlers that find out who asks, and translate.

Nothing is kept between requests, so any number of replicas serve one agent by turns, in both eras of the protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.metadata import version
from typing import Any, Final, TypeAlias

import mcp_types as types
import structlog
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from spillcache import SpillCache
from spillcache.caller import Caller, caller_of
from spillcache.errors import ArgumentsInvalid, SpillError
from spillcache.mcp.resources import TEMPLATE, read_spill
from spillcache.tool.calls import answer_call
from spillcache.tool.definition import Allowance, ToolOptions, tool_entry
from spillcache.tool.playbook import PROMPT_ENTRY, PROMPT_NAME, prompt_answer

SERVER_NAME: Final = "spillcache"
_LONGEST_ID: Final = 64

# What the 2026-07-28 protocol wants in results; the SDK leaves it out for clients of the handshake era.
_COMPLETE: Final = {"resultType": "complete"}
_NOT_TO_BE_KEPT: Final = {"ttlMs": 0, "cacheScope": "private"}  # each read begins a walk of its own

Context: TypeAlias = ServerRequestContext[Any, Any]


def build_server(cache: SpillCache, options: ToolOptions, *, caller: Caller | None = None) -> Server[Any]:
    """A server with the one tool, the resource template and the prompt.

    `caller` is whose requests these are where no edge says so (stdio); over HTTP each request's own caller counts.
    """
    face = _Face(cache, options, caller)
    server: Server[Any] = Server(
        SERVER_NAME,
        version=version("spillcache"),
        # For arguments that travel as headers too, which none does; else every call would list the tools for it.
        get_tool_input_schema=lambda _name: None,
        on_list_tools=face.list_tools,
        on_list_resources=face.list_resources,
        on_list_resource_templates=face.list_templates,
        on_list_prompts=face.list_prompts,
        on_get_prompt=face.get_prompt,
    )
    # Registered by name, because these answer in wire form.
    server.add_request_handler("tools/call", types.CallToolRequestParams, face.call_tool)
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, face.read_resource)
    return server


def names_of_client(context: Context, caller: Caller) -> Iterator[str]:
    """What the caller's host is called, as far as anybody says: itself, its HTTP client, its platform, in that order.

    Handshake-era HTTP without sessions tells the name only once, to whichever replica was asked.
    """
    if context.session.client_params is not None:
        yield context.session.client_params.client_info.name
    if context.request is not None:
        yield context.request.headers.get("user-agent", "")
    yield caller.client


def named_in_log(context: Context, caller: Caller) -> AbstractContextManager[object]:
    """What is logged meanwhile names the request; on stdio, where all have one caller, also by its JSON-RPC id."""
    request_id = caller.request_id or str(context.request_id)
    if context.request is None:
        request_id = f"{caller.request_id}-{str(context.request_id)[:_LONGEST_ID]}"
    elif structlog.contextvars.get_contextvars().get("request_id") == request_id:  # the edge has named it
        return nullcontext()
    return structlog.contextvars.bound_contextvars(request_id=request_id)


def protocol_error(error: SpillError) -> MCPError:
    """An error where the protocol has no result that could carry it: code and next step travel as its data."""
    callers_fault = error.http_status < 500 and not error.retryable
    code = types.INVALID_PARAMS if callers_fault else types.INTERNAL_ERROR
    return MCPError(code, error.message, error.as_dict())


class _Face:
    """The handlers. Each finds the caller of its own request."""

    def __init__(self, cache: SpillCache, options: ToolOptions, caller: Caller | None) -> None:
        self._cache, self._options, self._caller = cache, options, caller
        self._tools = types.ListToolsResult(tools=[types.Tool.model_validate(tool_entry(options))])

    async def list_tools(self, _context: Context, _params: object) -> types.ListToolsResult:
        return self._tools

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        if params.name != self._options.name:
            raise self._nothing_of_that_name("tool", self._options.name)
        with self._request(context) as (caller, allowed):
            answer = await answer_call(
                self._cache,
                params.arguments,
                options=self._options,
                budget=allowed.page,
                full=allowed.full,
                tenant=caller.tenant,
            )
        return _COMPLETE | answer

    async def list_resources(self, _context: Context, _params: object) -> types.ListResourcesResult:
        """None: whoever has a spill's id was given it, and nobody is shown the others."""
        return types.ListResourcesResult(resources=[])

    async def list_templates(self, _context: Context, _params: object) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[types.ResourceTemplate.model_validate(TEMPLATE)])

    async def read_resource(self, context: Context, params: types.ReadResourceRequestParams) -> dict[str, Any]:
        with self._request(context) as (caller, allowed):
            try:
                found = await read_spill(self._cache, params.uri, budget=allowed.page, tenant=caller.tenant)
            except SpillError as error:
                raise protocol_error(error) from None
        return _COMPLETE | _NOT_TO_BE_KEPT | found

    async def list_prompts(self, _context: Context, _params: object) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[types.Prompt.model_validate(PROMPT_ENTRY)])

    async def get_prompt(self, _context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != PROMPT_NAME:
            raise self._nothing_of_that_name("prompt", PROMPT_NAME)
        return types.GetPromptResult.model_validate(prompt_answer(self._options.name, params.arguments))

    def _nothing_of_that_name(self, what: str, name: str) -> MCPError:
        error = ArgumentsInvalid(f"there is no {what} of that name", next_step=f"Call again for {name}.")
        self._cache.watcher.failed(what, error)
        return protocol_error(error)

    @contextmanager
    def _request(self, context: Context) -> Iterator[tuple[Caller, Allowance]]:
        """Whose request it is and how many bytes its answers may have; what is logged meanwhile names the request."""
        caller = self._caller or caller_of(context.request.scope if context.request is not None else {})
        allowed = self._options.allowance(names_of_client(context, caller))
        with named_in_log(context, caller):
            yield caller, allowed
