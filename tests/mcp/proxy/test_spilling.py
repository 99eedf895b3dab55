"""Which results are spilled, with which budget, by whom, and what happens when they cannot be."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from spillcache.mcp.proxy.config import make_upstream
from spillcache.tool.definition import ToolOptions
from tests.conftest import OwnServer
from tests.mcp.proxy.conftest import Eras
from tests.mcp.proxy.fronts import (
    CODE,
    ROOT,
    answer_of,
    before,
    command,
    program,
    settings,
    text_of,
    walked,
)
from tests.mcp.proxy.upstreams.sizes import metrics
from tests.servers.caches import cache_on


async def test_budgets_go_by_tool_then_by_client_then_by_default(redis_url: str, eras: Eras) -> None:
    """The first pattern that fits; else what is known of the client's host; else the setting."""
    url = eras["modern"].upstream.url
    text = metrics(150)  # about 9 KB
    patterns = make_upstream(url=url, budgets={"b*": 100_000, "*": 5_000})
    async with before(patterns, redis_url) as client:
        assert text_of(await client.call_tool("big", {"points": 150})) == text
    for name, spilled in (("claude-code", False), ("unheard-of", True)):
        async with before(eras["modern"].upstream, redis_url, name=name) as client:
            assert ("completeness" in answer_of(await client.call_tool("big", {"points": 150}))) == spilled
    async with before(eras["modern"].upstream, redis_url, options=ToolOptions(default_budget=50_000)) as client:
        assert text_of(await client.call_tool("big", {"points": 150})) == text


async def test_excluded_tools_pass_with_schema_and_result_as_they_are(redis_url: str, eras: Eras) -> None:
    """However large."""
    upstream = make_upstream(url=eras["modern"].upstream.url, exclude=("typed",))
    async with before(upstream, redis_url) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        large = await client.call_tool("typed", {"rows": 3_000})
        spilled = await client.call_tool("big", {"points": 2_000})
    assert tools["typed"].output_schema is not None
    assert "anyOf" not in tools["typed"].output_schema
    assert large.structured_content == {"rows": [{"n": n} for n in range(3_000)]}
    assert answer_of(spilled)["completeness"] == "truncated"


async def test_schemas_can_be_dropped(redis_url: str, eras: Eras) -> None:
    """Then spilled results are text alone."""
    upstream = make_upstream(url=eras["modern"].upstream.url, drop_output_schema=True)
    async with before(upstream, redis_url) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        large = await client.call_tool("typed", {"rows": 3_000})
    assert tools["typed"].output_schema is None
    assert large.structured_content is None
    assert answer_of(large)["completeness"] == "truncated"


@pytest.mark.parametrize("failure", ["envelope", "pass", "error"])
async def test_without_a_store_the_tool_still_answers(own_server: OwnServer, eras: Eras, failure: str) -> None:
    """By an envelope that says that nothing was stored, with the whole, or with an error, as configured."""
    server = own_server()
    upstream = make_upstream(url=eras["modern"].upstream.url, on_store_failure=failure)
    async with before(upstream, "", cache=cache_on(server.url)) as client:
        await client.list_tools()
        server.kill()
        large = await client.call_tool("big", {"points": 2_000})
        small = await client.call_tool("echo", {"small": True})
    assert answer_of(small) == {"small": True}
    if failure == "pass":
        assert text_of(large) == metrics(2_000)
    elif failure == "error":
        assert large.is_error
        assert answer_of(large)["status"] == "FAILED"
    else:
        assert answer_of(large)["completeness"] == "failed"
        assert "spill_id" not in answer_of(large)


@pytest.mark.parametrize("namespace", ["", "inner"])
async def test_a_proxy_behind_a_proxy_spills_once(redis_url: str, ring: Path, namespace: str) -> None:
    """The inner one's pages are read through the outer one, under the name that its envelope gives."""
    far = program("everything")
    args = command("--budget", "6000", "--", str(far.command), *far.args)
    near = make_upstream(command=sys.executable, args=args[1:], cwd=ROOT, env=settings(redis_url + "/3", ring, **CODE))
    async with before({namespace: near}, redis_url, mode="legacy") as client:
        prefix = f"{namespace}_" if namespace else ""
        names = [tool.name for tool in (await client.list_tools()).tools]
        large = await client.call_tool(f"{prefix}big", {"points": 2_000})
        envelope = answer_of(large)
        reader = f"{prefix}search_query_spill"
        assert await walked(client, envelope["spill_id"], reader) == metrics(2_000)
        own = answer_of(await client.call_tool(f"{prefix}big", {"points": 110}))  # over our budget, not over theirs
        missing = await client.call_tool("search_query_spill", {"spill_id": "a" * 26})
    assert envelope["next"]["tool"] == reader
    assert f"Call {reader} " in envelope["hint"]
    assert names.count("search_query_spill") == 1
    assert names.count(reader) == 1
    assert "results" in own or own["completeness"] == "truncated"
    assert missing.is_error


async def test_the_paging_tool_is_never_spilled(redis_url: str, eras: Eras) -> None:
    """A page as large as a client takes is handed to it as it is."""
    async with before(eras["modern"].upstream, redis_url, name="claude-code") as client:
        envelope = answer_of(await client.call_tool("big", {"points": 5_000}))
        page = answer_of(await client.call_tool("search_query_spill", {"spill_id": envelope["spill_id"]}))
    assert page["status"] == "PARTIAL"
    assert len(page["chunk"]) > 10_000


async def test_hatches_open_before_any_server(redis_url: str, eras: Eras) -> None:
    """Search and full read, the latter as long as the client takes, and each saying what it is not."""
    for name, least, most in (("unheard-of", 30_000, 40_000), ("cursor", 5_000, 7_500)):
        async with before(
            eras["modern"].upstream, redis_url, name=name, options=ToolOptions(full_bytes=40_000)
        ) as client:
            spill_id = answer_of(await client.call_tool("big", {"points": 2_000}))["spill_id"]
            found = answer_of(
                await client.call_tool("search_query_spill", {"spill_id": spill_id, "pattern": "query 4"})
            )
            window = await client.call_tool("search_query_spill", {"spill_id": spill_id, "return_full": True})
        assert (found["status"], found["matches_total"]) == ("PARTIAL", 1)
        assert answer_of(window)["status"] == "PARTIAL"
        assert least < len(window.model_dump_json(by_alias=True, exclude_none=True).encode()) <= most
