"""An upstream with a paging tool of the same name: what it is shown of our spills, and lists that are not in order."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from tests.mcp.proxy.conftest import Behind
from tests.mcp.proxy.fronts import answer_of, before, program
from tests.servers.caches import cache_on

READER = "search_query_spill"


@pytest.fixture
def nosy(tmp_path: Path) -> Behind:
    """A server whose paging tool is not ours, and which tells when it is asked."""
    trace = tmp_path / "trace"
    trace.touch()
    return Behind(program("nosy", env={"TRACE": str(trace)}), trace)


async def failed(client: Client, **arguments: object) -> str:
    """The code of a call of the paging tool that fails."""
    result = await client.call_tool(READER, dict(arguments))
    assert result.is_error
    code: str = answer_of(result)["code"]
    return code


async def test_an_error_about_a_spill_of_ours_is_ours(redis_url: str, nosy: Behind) -> None:
    """A budget too small, an altered cursor, a spill that is lost: nobody else sees its id, nor answers for it."""
    async with before(nosy.upstream, redis_url) as client, cache_on(redis_url) as store:
        spill_id = answer_of(await client.call_tool("big"))["spill_id"]
        cursor = answer_of(await client.call_tool(READER, {"spill_id": spill_id}))["next_cursor"]
        altered = cursor[:-6] + ("A" if cursor[-6] != "A" else "B") + cursor[-5:]
        assert await failed(client, spill_id=spill_id, max_bytes=1) == "budget_too_small"
        assert await failed(client, spill_id=spill_id, cursor=altered) in ("cursor_rejected", "cursor_malformed")
        assert await failed(client, spill_id=spill_id, result="no such") == "result_not_found"
        await store.delete(spill_id)
        assert await failed(client, spill_id=spill_id, cursor=cursor) == "spill_lost"
    assert nosy.told("asked") == 0


async def test_a_spill_that_is_not_ours_may_be_theirs(redis_url: str, nosy: Behind) -> None:
    """Whoever lists a paging tool is asked for what is unknown here."""
    async with before(nosy.upstream, redis_url) as client:
        page = answer_of(await client.call_tool(READER, {"spill_id": "a" * 26}))
    assert page["chunk"] == "of my making"
    assert nosy.told("asked") == 1


async def test_a_malformed_entry_costs_no_other_its_place(redis_url: str, nosy: Behind) -> None:
    """It is left out of the list of tools; the others are there, and work."""
    async with before(nosy.upstream, redis_url) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert answer_of(await client.call_tool("big"))["completeness"] == "truncated"
    assert names == ["big", READER, "odd-schema"]


async def test_what_is_no_list_is_an_error_and_not_an_empty_list(redis_url: str, nosy: Behind) -> None:
    """With a code and a next step."""
    async with before(nosy.upstream, redis_url) as client:
        with pytest.raises(MCPError) as error:
            await client.list_prompts()
    assert error.value.error.data["code"] == "upstream_invalid"
    assert error.value.error.data["next_step"]
