"""The MCP Inspector's command line against `spillcache serve` and the proxy."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from spillcache import defaults
from tests.foreign.node import Ended, run_npm
from tests.foreign.serving import COMMAND, Served, serving
from tests.foreign.upstreams.commands import filesystem
from tests.servers.caches import metrics
from tests.servers.requirements import requires

pytestmark = [requires("npm packages"), pytest.mark.usefixtures("redis_url")]

every_era = pytest.mark.parametrize("era", ["legacy", "auto", "modern"])


@dataclass(frozen=True, slots=True)
class Inspector:
    """The Inspector before a server: `target` says which, `home` is where it keeps things."""

    target: tuple[str, ...]
    home: Path
    era: str

    async def run(self, *arguments: str) -> Ended:
        """Run one command of it."""
        options = ("--protocol-era", self.era, "--format", "json", "--quiet", *arguments)
        return await run_npm("@modelcontextprotocol/inspector", "--cli", *options, *self.target, directory=self.home)

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; the tool result."""
        given = ("--tool-name", tool, "--tool-args-json", json.dumps(arguments))
        ended = await self.run("--method", "tools/call", *given)
        assert ended.output, ended.errors
        result: dict[str, Any] = json.loads(ended.output)["result"]
        return result

    async def walk(self, spill_id: str) -> tuple[bytes, str]:
        """Read a spill to its end, with one process for each page; the bytes and the last page's status."""
        arguments, read = {"spill_id": spill_id}, ""
        while True:
            page = json.loads((await self.call(defaults.TOOL_NAME, **arguments))["content"][0]["text"])
            read += page["chunk"]
            if "next_cursor" not in page:
                return read.encode(), page["status"]
            arguments["cursor"] = page["next_cursor"]


def over_http(url: str, home: Path, era: str) -> Inspector:
    """The Inspector before a URL."""
    return Inspector(("--server-url", url, "--transport", "http"), home, era)


@every_era
async def test_the_inspector_walks_a_spill(served: Served, home: Path, era: str) -> None:
    """One process for each page, so that nothing but the cursor carries over; the bytes are the stored ones."""
    payload = metrics(results=2, points=500)
    assert await over_http(served.mcp, home, era).walk(served.put(payload)) == (payload, "COMPLETE")


@every_era
async def test_the_inspector_finds_nothing_wrong_with_the_schemas(served: Served, home: Path, era: str) -> None:
    """Its strict look at tools/list, for what some hosts do not understand, ends without a complaint."""
    ended = await over_http(served.mcp, home, era).run("--method", "tools/list", "--strict")
    assert ended.code == 0, ended.errors
    assert [one["name"] for one in json.loads(ended.output)["result"]["tools"]] == [defaults.TOOL_NAME]


async def test_the_inspector_shows_an_error_with_its_next_step(served: Served, home: Path) -> None:
    """A failed retrieval is a tool result that its reader sees."""
    result = await over_http(served.mcp, home, "legacy").call(defaults.TOOL_NAME, spill_id="no-id")
    assert result["isError"]
    assert json.loads(result["content"][0]["text"])["next_step"]


@pytest.mark.parametrize("front", ["stdio", "http"])
async def test_the_inspector_reads_a_file_through_the_proxy(
    proxy_settings: dict[str, str], home: Path, tmp_path: Path, front: str
) -> None:
    """A file too large for one answer, from a server that declares its output; on stdio each page has a new proxy."""
    payload = metrics(results=2, points=500)
    (home / "big.json").write_bytes(payload)
    with ExitStack() as stack:
        if front == "http":
            command = ["proxy", "--http", "--", *filesystem(home)]
            url = stack.enter_context(serving(command, proxy_settings, tmp_path)).mcp
            inspector = over_http(url, home, "auto")
        else:
            variables = [part for pair in proxy_settings.items() for part in ("-e", "=".join(pair))]
            inspector = Inspector((*variables, "--", *COMMAND, "proxy", "--", *filesystem(home)), home, "auto")
        result = await inspector.call("read_text_file", path=str(home / "big.json"))
        envelope = json.loads(result["content"][0]["text"])
        assert envelope["completeness"] == "truncated"
        assert await inspector.walk(envelope["spill_id"]) == (payload, "COMPLETE")
