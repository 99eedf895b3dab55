"""FastMCP: large results of a server's tools are spilled, and the server gets the tool that reads them.

```python
server = FastMCP("metrics")
spill_results(server, cache)
```

Nothing else changes: tools need no annotation, what fits goes through untouched, and taking the call out again is all
there is to removing it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

try:
    import mcp_types as types
    from fastmcp import FastMCP
    from fastmcp.exceptions import FastMCPError
    from fastmcp.server.dependencies import get_context, get_http_headers
    from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
    from fastmcp.tools import Tool, ToolResult
    from fastmcp.tools.base import InputRequiredToolResult, RawStructuredToolResult
    from mcp.shared.exceptions import MCPError
except ModuleNotFoundError as missing:
    raise ImportError(f"{missing}: run `pip install 'spillcache[fastmcp]'`", name=missing.name) from missing
from pydantic import PrivateAttr

from spillcache import SpillCache
from spillcache.errors import ArgumentsInvalid
from spillcache.terms import Reading
from spillcache.tool.calls import answer_call, error_result
from spillcache.tool.definition import TOOL_MARK, ToolOptions, tool_entry
from spillcache.tool.results import SpillOptions, spill_result
from spillcache.tool.schemas import UNDECLARED, Declared, declare


def spill_results(
    server: FastMCP[Any],
    cache: SpillCache,
    *,
    options: SpillOptions | None = None,
    reader: ToolOptions | None = None,
    budgets: Mapping[str, int] | None = None,
    include: Collection[str] = ("*",),
    exclude: Collection[str] = (),
    tenant: str | None = None,
) -> None:
    """Spill large results of a server's tools into `cache`, and add the tool that reads them.

    `budgets` are bytes by tool, over that of `options`. Tools are named by patterns, with `*` for any characters, here
    as in `include` and `exclude`. `reader` says how the reading tool answers; its name is the cache's `tool_name`.
    Where another tool of the server has that name, now or later, listing the tools is an error, and so is calling it.
    The spills are `tenant`'s, by default the cache's own. Raises `ArgumentsInvalid` for another name, and for a budget
    that cannot hold an envelope.
    """
    reader = reader or ToolOptions(name=cache.tool_name)
    if reader.name != cache.tool_name:
        raise ArgumentsInvalid(f"envelopes tell agents to call {cache.tool_name}: the reader must have that name too")
    server.add_tool(SpillReader.of(cache, reader, tenant))
    server.add_middleware(
        SpillMiddleware(
            cache,
            reader=reader,
            options=options or SpillOptions(),
            budgets=budgets or {},
            include=include,
            exclude=exclude,
            tenant=tenant,
        )
    )


class SpillReader(Tool):
    """The tool that reads spills, as a tool of a FastMCP server. Made by `of`."""

    _cache: SpillCache = PrivateAttr()
    _options: ToolOptions = PrivateAttr()
    _tenant: str | None = PrivateAttr()

    @classmethod
    def of(cls, cache: SpillCache, options: ToolOptions, tenant: str | None) -> SpillReader:
        """The tool for the spills of one tenant, by default the cache's own."""
        entry = types.Tool.model_validate(tool_entry(options))
        made = cls(
            name=entry.name,
            title=entry.title,
            description=entry.description,
            parameters=entry.input_schema,
            output_schema=entry.output_schema,
            annotations=entry.annotations,
            meta=entry.meta,
        )
        made._cache, made._options, made._tenant = cache, options, tenant
        return made

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """A page, an inventory, or an error that says what to do; nothing is raised."""
        page, full = self._options.allowance(_names_of_client())
        answer = await answer_call(
            self._cache, arguments, options=self._options, budget=page, full=full, tenant=self._tenant
        )
        return _from_wire(answer)


class SpillMiddleware(Middleware):
    """Spills results that do not fit, and widens declared output schemas by what then comes in their place.

    Added by `spill_results`, with the tool that reads the spills. Errors that a tool raises are results like others.
    """

    def __init__(
        self,
        cache: SpillCache,
        *,
        reader: ToolOptions,
        options: SpillOptions,
        budgets: Mapping[str, int],
        include: Collection[str],
        exclude: Collection[str],
        tenant: str | None,
    ) -> None:
        self._cache, self._options, self._tenant = cache, options, tenant
        self._by_tool = [(pattern, replace(options, budget=budget)) for pattern, budget in budgets.items()]
        self._reader, self._include, self._exclude = reader, tuple(include), (*exclude, reader.name)

    async def on_list_tools(
        self,
        context: MiddlewareContext[types.ListToolsRequest],
        call_next: CallNext[types.ListToolsRequest, Sequence[Tool]],
    ) -> Sequence[Tool]:
        """The tools, with what their results may be. Raises `MCPError` where one has the reader's name."""
        tools = await call_next(context)
        if any(self._hides_reader(tool) for tool in tools):
            error = self._refused()
            raise MCPError(types.INTERNAL_ERROR, error.message, error.as_dict())
        return [
            tool.model_copy(update={"output_schema": self._declared(tool).schema}) if self._spills(tool) else tool
            for tool in tools
        ]

    async def on_call_tool(
        self,
        context: MiddlewareContext[types.CallToolRequestParams],
        call_next: CallNext[types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """The tool's result, or what stands in its place."""
        name = context.message.name
        if (
            name == self._reader.name
            and (found := await _tool(context, name)) is not None
            and self._hides_reader(found)
        ):
            return _from_wire(error_result(self._refused(), self._reader))
        try:
            result: Any = await call_next(context)
        except FastMCPError as error:
            told = _told(error)
            answer = await self._answer(context, name, told)
            if answer is told:
                raise
            return answer
        # A question to the client, or the receipt of a background task, has no content to spill.
        if isinstance(result, ToolResult) and not isinstance(result, InputRequiredToolResult):
            return await self._answer(context, name, result)
        passed: ToolResult = result
        return passed

    async def _answer(
        self, context: MiddlewareContext[types.CallToolRequestParams], name: str, result: ToolResult
    ) -> ToolResult:
        tool = await _tool(context, name)
        if not self._named(name) or (tool is not None and not self._spills(tool)):
            return result
        sent = _to_wire(result)
        answer = await spill_result(
            sent,
            self._cache,
            tool=name,
            tenant=self._tenant,
            options=self._options_for(name),
            declared=UNDECLARED if tool is None else self._declared(tool),
            reading=self._reading() if context.fastmcp_context is not None else None,
        )
        return result if answer is sent else _replaced(result, answer)

    def _reading(self) -> Reading:
        """How this client's calls of the reader are answered."""
        page, _ = self._reader.allowance(_names_of_client())
        return Reading(page, self._reader.wire)

    def _options_for(self, tool: str) -> SpillOptions:
        """How results of this tool are spilled: as the first pattern says that its name fits."""
        return next((options for pattern, options in self._by_tool if fnmatchcase(tool, pattern)), self._options)

    def _hides_reader(self, tool: Tool) -> bool:
        """Whether a tool that reads no spills has the name of the one that does."""
        return tool.name == self._reader.name and TOOL_MARK not in (tool.meta or {})

    def _refused(self) -> ArgumentsInvalid:
        error = ArgumentsInvalid(
            f"another tool of this server is called {self._reader.name}, as the one that reads spilled results is",
            next_step="Tell the operator: give one of them another name. This is a FAILED call, not empty data.",
        )
        self._cache.watcher.failed("tool", error)
        return error

    def _declared(self, tool: Tool) -> Declared:
        return declare(tool.output_schema, drop=self._options.structured == "drop")

    def _spills(self, tool: Tool) -> bool:
        """Whether results of a tool may be spilled: not those of one that reads spills, here or on a server behind."""
        return self._named(tool.name) and TOOL_MARK not in (tool.meta or {})

    def _named(self, name: str) -> bool:
        included = any(fnmatchcase(name, pattern) for pattern in self._include)
        return included and not any(fnmatchcase(name, pattern) for pattern in self._exclude)


async def _tool(context: MiddlewareContext[types.CallToolRequestParams], name: str) -> Tool | None:
    """The tool that is called; None when it is called by a name under which it is not listed."""
    return await context.fastmcp_context.fastmcp.get_tool(name) if context.fastmcp_context is not None else None


def _names_of_client() -> Iterator[str]:
    """What the caller's host is called: by the handshake, else by its HTTP client."""
    request = get_context().request_context
    if request is not None and request.session.client_params is not None:
        yield request.session.client_params.client_info.name
    yield get_http_headers(include={"user-agent"}).get("user-agent", "")


def _told(error: FastMCPError) -> ToolResult:
    """What FastMCP makes of an error that a tool raised."""
    return ToolResult.model_construct(content=[types.TextContent(text=str(error))], is_error=True)


def _to_wire(result: ToolResult) -> dict[str, Any]:
    """A result as it travels. Its structured content is not written anew: at 1.6 MB that takes 80 ms."""
    content = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in result.content]
    sent: dict[str, Any] = {"content": content}
    if result.structured_content is not None:
        sent["structuredContent"] = result.structured_content
    sent["isError"] = result.is_error
    return sent | ({"_meta": result.meta} if result.meta is not None else {})


def _from_wire(sent: dict[str, Any]) -> ToolResult:
    """A result from what travels. `ToolResult(…)` would write its structured content anew."""
    return ToolResult.model_construct(**_fields(sent))


def _replaced(result: ToolResult, sent: dict[str, Any]) -> ToolResult:
    """A result with the content of another."""
    if isinstance(result, RawStructuredToolResult):  # would be wrapped, and an envelope is not what it declares
        return _from_wire(sent)
    return result.model_copy(update=_fields(sent))


def _fields(sent: dict[str, Any]) -> dict[str, Any]:
    parsed = types.CallToolResult.model_validate(sent)
    return {
        "content": parsed.content,
        "structured_content": sent.get("structuredContent"),
        "meta": sent.get("_meta"),
        "is_error": parsed.is_error,
    }
