"""What a result of the tool says, as the official client hands it on."""

from __future__ import annotations

import json
from typing import Any

from mcp import Client
from mcp_types import CallToolResult, TextContent

TOOL = "search_query_spill"


def text_of(result: Any) -> str:
    """The text of a result that has one block, and is a whole one."""
    assert isinstance(result, CallToolResult)
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def call(client: Client, **arguments: Any) -> dict[str, Any]:
    """The answer of a call that succeeds."""
    result = await client.call_tool(TOOL, arguments)
    assert not result.is_error, result
    answer: dict[str, Any] = json.loads(text_of(result))
    return answer
