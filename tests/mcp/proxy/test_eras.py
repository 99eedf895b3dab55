"""Finding out which era an upstream speaks."""

from __future__ import annotations

import pytest

from tests.mcp.proxy.fronts import before, program, text_of


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_server_that_ends_on_the_question_is_greeted_without_it(redis_url: str, mode: str) -> None:
    """Some old servers end on whatever precedes the handshake; they are started again and asked nothing."""
    async with before(program("impatient"), redis_url, mode=mode) as client:
        assert "fine" in {tool.name for tool in (await client.list_tools()).tools}
        assert text_of(await client.call_tool("fine", {})) == "fine"
