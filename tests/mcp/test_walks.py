"""Walks with the official client: both eras of the protocol, HTTP and stdio, several servers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from spillcache import Keyring, SpillCache, verify_receipt
from spillcache.tool.definition import ToolOptions
from tests.mcp.serving import MODES, http_client, serving, stdio_client
from tests.mcp.texts import TOOL, call, text_of
from tests.samples import DATA, payload_of
from tests.servers.caches import KEYRING, cache_on

SAMPLE = payload_of(DATA / "prom_query_range_matrix_cpu.json")


async def walk(clients: Sequence[Client], spill_id: str) -> tuple[bytes, dict[str, Any]]:
    """The bytes of a walk whose pages are asked of the clients by turns, and its last answer."""
    parts: list[str] = []
    answer = await call(clients[0], spill_id=spill_id)
    while True:
        parts.append(answer["chunk"])
        if "next_cursor" not in answer:
            return "".join(parts).encode(), answer
        client = clients[len(parts) % len(clients)]
        answer = await call(client, spill_id=spill_id, cursor=answer["next_cursor"])


@pytest.fixture
async def spill_id(redis_url: str) -> str:
    """A stored sample."""
    async with cache_on(redis_url) as cache:
        return (await cache.put(SAMPLE, tool="prometheus")).spill_id


@pytest.mark.parametrize("mode", MODES)
async def test_a_walk_over_http_brings_the_payload(redis_url: str, spill_id: str, mode: str) -> None:
    """Byte for byte, to a COMPLETE page whose receipt holds."""
    with serving(redis_url) as url:
        async with http_client(url, mode) as client:
            data, last = await walk([client], spill_id)
    assert data == SAMPLE
    assert last["status"] == "COMPLETE"
    assert verify_receipt(last["receipt"], KEYRING, tenant="default").size == len(SAMPLE)


@pytest.mark.parametrize("mode", MODES)
async def test_a_walk_over_stdio_brings_the_payload(redis_url: str, mode: str, ring: Path) -> None:
    """From a process of its own that shares nothing but Redis and the key ring."""
    async with SpillCache.from_url(redis_url, keyring=Keyring.from_file(ring)) as cache:
        spill_id = (await cache.put(SAMPLE)).spill_id
    async with stdio_client(redis_url, ring, mode) as client:
        data, last = await walk([client], spill_id)
    assert (data, last["status"]) == (SAMPLE, "COMPLETE")


@pytest.mark.parametrize("modes", [("legacy", "2026-07-28"), ("auto", "legacy")])
async def test_two_servers_by_turns_serve_one_walk(redis_url: str, spill_id: str, modes: tuple[str, str]) -> None:
    """Nothing is kept in either, nor does the era matter."""
    with serving(redis_url) as first, serving(redis_url) as second:
        async with AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(http_client(url, mode))
                for url, mode in zip((first, second), modes, strict=True)
            ]
            data, last = await walk(clients, spill_id)
    assert (data, last["status"]) == (SAMPLE, "COMPLETE")


@pytest.mark.parametrize("mode", MODES)
async def test_a_strict_typed_client_accepts_every_answer(redis_url: str, spill_id: str, mode: str) -> None:
    """The client validates structured content against the schema that was listed, errors included."""
    with serving(redis_url, ToolOptions(structured=True)) as url:
        async with http_client(url, mode) as client:
            (tool,) = (await client.list_tools()).tools
            assert tool.output_schema is not None
            answer: dict[str, Any] = {"next_cursor": None}
            data = b""
            while "next_cursor" in answer:
                result = await client.call_tool(TOOL, {"spill_id": spill_id, "cursor": answer["next_cursor"]})
                answer = json.loads(text_of(result))
                assert result.structured_content == answer
                data += answer["chunk"].encode()
            assert data == SAMPLE
            listed = await client.call_tool(TOOL, {"spill_id": spill_id, "inventory": True})
            failed = await client.call_tool(TOOL, {"spill_id": "typo"})
    assert listed.structured_content == json.loads(text_of(listed))
    assert failed.is_error
    assert failed.structured_content == json.loads(text_of(failed))
