"""The MCP Inspector's command line against `spillcache serve`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spillcache import defaults
from tests.foreign.node import Ended, run_npm
from tests.foreign.payloads import sha256
from tests.foreign.serving import Served
from tests.servers.caches import metrics
from tests.servers.requirements import requires

pytestmark = [requires("npm packages"), pytest.mark.usefixtures("redis_url")]

every_era = pytest.mark.parametrize("era", ["legacy", "auto", "modern"])


async def inspector(served: Served, home: Path, era: str, *arguments: str) -> Ended:
    """Run one command of it."""
    target = ("--cli", served.mcp, "--transport", "http", "--protocol-era", era, "--format", "json", "--quiet")
    return await run_npm("@modelcontextprotocol/inspector", *target, *arguments, directory=home)


async def call(served: Served, home: Path, era: str, **arguments: Any) -> dict[str, Any]:
    """Call the paging tool; the tool result."""
    given = ("--tool-name", defaults.TOOL_NAME, "--tool-args-json", json.dumps(arguments))
    ended = await inspector(served, home, era, "--method", "tools/call", *given)
    result: dict[str, Any] = json.loads(ended.output)["result"]
    return result


@every_era
async def test_the_inspector_walks_a_spill(served: Served, home: Path, era: str) -> None:
    """One process for each page, so that nothing but the cursor carries over; the bytes are the stored ones."""
    payload = metrics(results=2, points=500)
    arguments = {"spill_id": served.put(payload)}
    read = ""
    while True:
        page = json.loads((await call(served, home, era, **arguments))["content"][0]["text"])
        read += page["chunk"]
        if "next_cursor" not in page:
            break
        arguments["cursor"] = page["next_cursor"]
    assert sha256(read.encode()) == sha256(payload)
    assert page["status"] == "COMPLETE"


@every_era
async def test_the_inspector_finds_nothing_wrong_with_the_schemas(served: Served, home: Path, era: str) -> None:
    """Its strict look at tools/list, for what some hosts do not understand, ends without a complaint."""
    ended = await inspector(served, home, era, "--method", "tools/list", "--strict")
    assert ended.code == 0, ended.errors
    assert [one["name"] for one in json.loads(ended.output)["result"]["tools"]] == [defaults.TOOL_NAME]


async def test_the_inspector_shows_an_error_with_its_next_step(served: Served, home: Path) -> None:
    """A failed retrieval is a tool result that its reader sees."""
    result = await call(served, home, "legacy", spill_id="no-id")
    assert result["isError"]
    assert json.loads(result["content"][0]["text"])["next_step"]
