"""One call of the tool: arguments → one verb of the cache → tool result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from spillcache import SpillCache
from spillcache.errors import BudgetTooSmall, SpillError
from spillcache.tool.arguments import ToolCall, parse_arguments
from spillcache.tool.definition import ToolOptions
from spillcache.tool.rendering import json_text, raw_text, tool_result


class Answer(Protocol):
    """What every verb that reads gives: a page, a list, or matches."""

    def as_dict(self) -> dict[str, Any]:
        """The answer as it is sent, in the same words on every face."""
        ...


async def answer_call(
    cache: SpillCache,
    arguments: Mapping[str, Any] | None,
    *,
    options: ToolOptions,
    budget: int,
    full: int | None = None,
    tenant: str | None,
) -> dict[str, Any]:
    """Answer a call with a CallToolResult in wire form, of at most `budget` bytes as `options.wire` counts them.

    A full read may take `full` bytes, by default what the options allow. `tenant` None is the cache's own.

    Whatever goes wrong with the spill, the store or the arguments is a result with `isError`, not an exception, so that
    the model reads what to do next.
    """
    try:
        call = parse_arguments(arguments)
    except SpillError as error:
        cache.watcher.failed("tool", error)
        return error_result(error, options)
    allowed = min(full or options.most_bytes if call.full else budget, options.limits.cap)
    try:
        answer = await _answer(cache, call, options, min(allowed, call.max_bytes or allowed), tenant)
    except SpillError as error:
        return error_result(_for_this_client(error, allowed), options)
    text = raw_text(answer) if options.rendering == "raw" else json_text(answer)
    return tool_result(text, structured=answer if options.structured else None)


def error_result(error: SpillError, options: ToolOptions) -> dict[str, Any]:
    """An error as a tool result: the same JSON object in every rendering."""
    answer = error.as_dict()
    return tool_result(json_text(answer), failed=True, structured=answer if options.structured else None)


async def _answer(
    cache: SpillCache, call: ToolCall, options: ToolOptions, budget: int, tenant: str | None
) -> Mapping[str, Any]:
    spill_id, cursor, result, wire = call.spill_id, call.cursor, call.result, options.wire
    answer: Answer
    if call.inventory:
        answer = await cache.inventory(spill_id, cursor=cursor, budget=budget, tenant=tenant, wire=wire)
    elif call.series:
        answer = await cache.series(spill_id, result=result, cursor=cursor, budget=budget, tenant=tenant, wire=wire)
    elif call.search is not None:
        pattern, how = call.search.pattern, call.search.options
        answer = await cache.grep(spill_id, pattern, result=result, budget=budget, tenant=tenant, wire=wire, **how)
    elif call.full:
        answer = await cache.full(spill_id, cursor=cursor, cap=budget, tenant=tenant, wire=wire)
    else:
        answer = await cache.page(
            spill_id, cursor=cursor, result=result, view=call.view, budget=budget, tenant=tenant, wire=wire
        )
    return answer.as_dict()


def _for_this_client(error: SpillError, allowed: int) -> SpillError:
    """The error, unless its advice cannot be followed: `max_bytes` only ever lowers what a client may have."""
    if isinstance(error, BudgetTooSmall) and error.minimum > allowed:
        error.next_step = (
            f"Tell the operator: this client's budget of {allowed} bytes must be at least {error.minimum}. "
            "This is a FAILED retrieval, not empty data."
        )
    return error
