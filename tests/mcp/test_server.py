"""What the MCP face lists, refuses, and finds out about who asks."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import structlog
from mcp import Client, MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, TextContent, TextResourceContents

from spillcache import Keyring, SpillCache
from spillcache.caller import Caller
from spillcache.errors import SpillError
from spillcache.ids import new_id
from spillcache.mcp.server import build_server
from spillcache.tool.clients import KNOWN_LIMITS
from spillcache.tool.definition import ToolOptions
from spillcache.watch import Watcher
from tests.conftest import OwnServer
from tests.mcp.serving import MODES, http_client, serving, stdio_client
from tests.mcp.texts import TOOL, call, text_of
from tests.servers.caches import cache_on, metrics


@pytest.fixture
async def spill_id(redis_url: str) -> str:
    """A stored payload."""
    async with cache_on(redis_url) as cache:
        return (await cache.put(metrics())).spill_id


async def asked(url: str, mode: str, spill_id: str, name: str = "test", **headers: str) -> dict[str, Any]:
    """The answer to a first call by a client of that name and with those headers."""
    async with http_client(url, mode, name, {key.replace("_", "-"): value for key, value in headers.items()}) as client:
        result = await client.call_tool(TOOL, {"spill_id": spill_id})
        answer: dict[str, Any] = json.loads(text_of(result))
        return answer


@pytest.mark.parametrize("mode", MODES)
async def test_what_is_listed(redis_url: str, spill_id: str, mode: str) -> None:
    """One tool under its configured name, one template, one prompt, and no resource: nobody sees others' spills."""
    with serving(redis_url, ToolOptions(name="read_more")) as url:
        async with http_client(url, mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["read_more"]
            assert (await client.list_resources()).resources == []
            templates = (await client.list_resource_templates()).resource_templates
            assert [template.uri_template for template in templates] == ["spill://{id}"]
            assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["read_truncated_result"]
            prompt = await client.get_prompt("read_truncated_result", {"spill_id": spill_id})
    (message,) = prompt.messages
    assert isinstance(message.content, TextContent)
    assert f'read_more with {{"spill_id": "{spill_id}"}}' in message.content.text


@pytest.mark.parametrize("mode", MODES)
async def test_a_spill_read_as_a_resource_is_page_1(redis_url: str, spill_id: str, mode: str) -> None:
    """As JSON text, within the budget, and saying that it is not all."""
    with serving(redis_url) as url:
        async with http_client(url, mode) as client:
            read = await client.read_resource(f"spill://{spill_id}")
    (contents,) = read.contents
    assert isinstance(contents, TextResourceContents)
    assert contents.mime_type == "application/json"
    page = json.loads(contents.text)
    assert metrics().startswith(page["chunk"].encode())
    assert (page["status"], "next_cursor" in page) == ("PARTIAL", True)
    assert len(read.model_dump_json(by_alias=True, exclude_none=True).encode()) <= 7_500


@pytest.mark.parametrize("mode", MODES)
async def test_what_has_no_result_is_a_protocol_error_with_code_and_next_step(redis_url: str, mode: str) -> None:
    """A resource that is gone or none of ours, an unknown tool, an unknown prompt."""
    with serving(redis_url) as url:
        async with http_client(url, mode) as client:
            for code, attempt in (
                ("spill_not_found", lambda: client.read_resource(f"spill://{new_id(bytes(15))}")),
                ("spill_id_malformed", lambda: client.read_resource("spill://typo")),
                ("arguments_invalid", lambda: client.read_resource("file:///etc/hosts")),
                ("arguments_invalid", lambda: client.call_tool("no_such_tool", {})),
                ("arguments_invalid", lambda: client.get_prompt("no_such_prompt", {})),
            ):
                with pytest.raises(MCPError) as refused:
                    await attempt()
                assert refused.value.code == INVALID_PARAMS
                assert (refused.value.data["status"], refused.value.data["code"]) == ("FAILED", code)
                assert refused.value.data["next_step"]


async def test_a_store_that_is_down_is_said_to_be(own_server: OwnServer) -> None:
    """The tool answers isError, the resource a JSON-RPC error; both say that this is not empty data."""
    redis_server = own_server()
    with serving(redis_server.url) as url:
        async with http_client(url, "auto") as client:
            async with cache_on(redis_server.url) as cache:
                spill_id = (await cache.put(metrics())).spill_id
            redis_server.kill()
            result = await client.call_tool(TOOL, {"spill_id": spill_id})
            with pytest.raises(MCPError) as refused:
                await client.read_resource(f"spill://{spill_id}")
    assert result.is_error
    answer = json.loads(text_of(result))
    assert answer["code"] == refused.value.data["code"] == "store_unavailable"
    assert refused.value.code == INTERNAL_ERROR
    assert "not empty data" in answer["next_step"]


@pytest.mark.parametrize("mode", MODES)
async def test_anothers_spill_answers_exactly_as_none(redis_url: str, mode: str) -> None:
    """As a tool result and as a resource; the owner reads it."""
    async with cache_on(redis_url) as cache:
        theirs = (await cache.put(metrics(), tenant="theirs")).spill_id
    nobodys = new_id(bytes(15))
    with serving(redis_url) as url:
        async with http_client(url, mode, headers={"x-tenant": "mine"}) as client:
            results = [await client.call_tool(TOOL, {"spill_id": one}) for one in (theirs, nobodys)]
            errors = []
            for one in (theirs, nobodys):
                with pytest.raises(MCPError) as refused:
                    await client.read_resource(f"spill://{one}")
                errors.append(refused.value.error)
        async with http_client(url, mode, headers={"x-tenant": "theirs"}) as client:
            assert (await call(client, spill_id=theirs))["status"] == "PARTIAL"
    assert results[0] == results[1]
    assert errors[0] == errors[1]


async def test_the_page_is_as_large_as_the_client_takes(redis_url: str, spill_id: str) -> None:
    """By the name in the handshake, else the User-Agent, else what the platform says, else the default."""
    limits = KNOWN_LIMITS.extended({"small": 3_000, "large": 30_000})
    sizes = {}
    with serving(redis_url, ToolOptions(limits=limits, default_budget=12_000)) as url:
        for mode, name, headers in (
            ("2026-07-28", "small", {"user_agent": "large/1.0", "x_client": "large"}),
            ("2026-07-28", "test", {"user_agent": "large/1.0", "x_client": "small"}),
            ("2026-07-28", "test", {"user_agent": "curl/8", "x_client": "small"}),
            ("2026-07-28", "test", {}),
            ("legacy", "small", {"user_agent": "large/1.0"}),  # without sessions the handshake is forgotten
            ("legacy", "test", {"user_agent": "curl/8", "x_client": "small"}),
            ("legacy", "test", {}),
        ):
            answer = await asked(url, mode, spill_id, name, **headers)
            sizes[mode, name, *headers.values()] = round(len(answer["chunk"]), -4)
    assert list(sizes.values()) == [0, 30_000, 0, 10_000, 30_000, 0, 10_000]


async def test_over_stdio_the_handshake_says_who_reads(redis_url: str, ring: Path) -> None:
    """In both eras."""
    async with SpillCache.from_url(redis_url, keyring=Keyring.from_file(ring)) as cache:
        spill_id = (await cache.put(metrics())).spill_id
    for mode in ("legacy", "2026-07-28"):
        async with stdio_client(redis_url, ring, mode, name="claude-code") as client:
            assert len((await call(client, spill_id=spill_id))["chunk"]) > 15_000


class Logging(Watcher):
    """Logs what is served and what is refused before any act."""

    def page_served(self, served: object) -> None:
        """Log it."""
        logging.getLogger("test").warning("%s", structlog.contextvars.get_contextvars())

    def failed(self, where: str, error: SpillError) -> None:
        """Log it too."""
        logging.getLogger("test").warning("%s %s", where, structlog.contextvars.get_contextvars())


@pytest.mark.parametrize("mode", MODES)
async def test_what_is_logged_during_a_call_bears_its_request_id(
    redis_url: str, spill_id: str, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The edge's, over HTTP."""
    with serving(redis_url, watcher=Logging()) as url:
        async with http_client(url, mode, headers={"x-request": "r-17"}) as client:
            await call(client, spill_id=spill_id)
            await client.call_tool(TOOL, {})
    said = [record.getMessage() for record in caplog.records if record.name == "test"]
    assert said == ["{'request_id': 'r-17'}", "tool {'request_id': 'r-17'}"]


async def test_a_request_that_came_past_the_edge_is_refused(redis_url: str, spill_id: str) -> None:
    """Without a caller there is no tenant, and none is assumed."""
    async with cache_on(redis_url) as cache:
        async with Client(build_server(cache, ToolOptions())) as client:
            with pytest.raises(MCPError):
                await client.call_tool(TOOL, {"spill_id": spill_id})
        async with Client(build_server(cache, ToolOptions(), caller=Caller())) as client:
            assert (await call(client, spill_id=spill_id))["status"] == "PARTIAL"


@pytest.mark.parametrize(("name", "least", "most"), [("claude-code", 40_000, 50_000), ("cursor", 5_000, 7_500)])
async def test_a_full_read_is_as_long_as_the_client_takes(redis_url: str, name: str, least: int, most: int) -> None:
    """The platform's cap where the host reads it from the entry, which says it; a page where it is known to cut."""
    async with cache_on(redis_url) as cache:
        spill_id = (await cache.put(metrics())).spill_id
    with serving(redis_url, ToolOptions(full_bytes=50_000)) as url:
        async with http_client(url, "auto", name) as client:
            (tool,) = (await client.list_tools()).tools
            result = await client.call_tool(TOOL, {"spill_id": spill_id, "return_full": True})
    assert tool.meta is not None
    assert tool.meta["anthropic/maxResultSizeChars"] == 50_000
    assert least < len(result.model_dump_json(by_alias=True, exclude_none=True).encode()) <= most
