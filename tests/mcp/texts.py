"""What a result of the tool says, as the official client hands it on."""

from __future__ import annotations

from typing import Any

from mcp_types import CallToolResult, TextContent


def text_of(result: Any) -> str:
    """The text of a result that has one block, and is a whole one."""
    assert isinstance(result, CallToolResult)
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text
