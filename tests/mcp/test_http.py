"""The wire over HTTP: what is really sent, what is refused before it is read."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import orjson
import pytest

from spillcache import defaults
from spillcache.tool.definition import ToolOptions
from tests.mcp.serving import serving
from tests.servers.caches import cache_on, metrics, noise
from tests.tool.test_calls import PAYLOADS

LEGACY, MODERN = "2025-11-25", "2026-07-28"
FRAME = len(b'{"jsonrpc":"2.0","id":1,"result":}')


def request(arguments: dict[str, Any], version: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Body and headers of a call, as the protocol of that version wants them."""
    name = "search_query_spill"
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": version}
    if version == MODERN:
        prefix = "io.modelcontextprotocol/"
        params["_meta"] = {f"{prefix}protocolVersion": version, f"{prefix}clientCapabilities": {}}
        headers |= {"mcp-method": "tools/call", "mcp-name": name}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, headers


def sent(web: httpx2.Client, url: str, version: str, **arguments: Any) -> bytes:
    """The JSON-RPC message that answers a call, byte for byte as it came."""
    body, headers = request(arguments, version)
    answer = web.post(url, json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    if answer.headers["content-type"].startswith("application/json"):
        return answer.content
    (data,) = [line.removeprefix(b"data: ") for line in answer.content.splitlines() if line.startswith(b"data: ")]
    return data


@pytest.mark.parametrize(
    "options",
    [ToolOptions(), ToolOptions(rendering="raw"), ToolOptions(structured=True)],
    ids=["json", "raw", "structured"],
)
async def test_no_result_on_the_wire_is_over_the_budget(redis_url: str, options: ToolOptions) -> None:
    """The whole CallToolResult, in both eras, at pages in the middle too; as UTF-8, whatever the wire escapes."""
    async with cache_on(redis_url) as cache:
        spills = [(await cache.put(payload)).spill_id for payload in PAYLOADS.values()]
    with serving(redis_url, options) as url, httpx2.Client(timeout=30) as web:
        for spill_id in spills:
            for version in (LEGACY, MODERN):
                arguments: dict[str, Any] = {"spill_id": spill_id}
                for _ in range(4):
                    message = sent(web, url, version, **arguments)
                    result = json.loads(message)["result"]
                    plain = orjson.dumps(result)
                    assert len(plain) <= 7_500
                    if version == LEGACY or (message.isascii() and b"\\u" not in message):
                        assert len(plain) == len(message) - FRAME
                    cursor = result["content"][0]["text"].rpartition('"next_cursor":"')[2].partition('"')[0]
                    arguments = {"spill_id": spill_id, "cursor": cursor if len(cursor) in (40, 56) else ""}


@pytest.mark.parametrize("version", [LEGACY, MODERN])
async def test_the_largest_page_arrives(redis_url: str, version: str) -> None:
    """At the cap, of text that one era sends at three times its bytes: still less than Python clients take at once."""
    async with cache_on(redis_url) as cache:
        spill_id = (await cache.put("ж" * 400_000)).spill_id
    with serving(redis_url, ToolOptions(default_budget=10**9)) as url, httpx2.Client(timeout=30) as web:
        message = sent(web, url, version, spill_id=spill_id)
    assert len(message) < 1 << 20
    result = json.loads(message)["result"]
    chunk = json.loads(result["content"][0]["text"])["chunk"]
    assert 300_000 < len(chunk.encode()) < defaults.MAX_PAGE_BYTES


async def test_the_same_call_brings_the_same_bytes(redis_url: str) -> None:
    """From two servers, in one era, with one cursor."""
    async with cache_on(redis_url) as cache:
        spill_id = (await cache.put(noise(50_000))).spill_id
    with serving(redis_url) as first, serving(redis_url) as second, httpx2.Client(timeout=30) as web:
        text = json.loads(sent(web, first, LEGACY, spill_id=spill_id))["result"]["content"][0]["text"]
        cursor = json.loads(text)["next_cursor"]
        answers = {sent(web, url, LEGACY, spill_id=spill_id, cursor=cursor) for url in (first, second, first)}
    assert len(answers) == 1


@pytest.mark.parametrize("version", [LEGACY, MODERN])
async def test_a_body_over_the_limit_is_refused(redis_url: str, version: str) -> None:
    """With 413, before it is read."""
    body, headers = request({"spill_id": "x" * 2_000}, version)
    with serving(redis_url, max_request_bytes=1_000) as url, httpx2.Client(timeout=30) as web:
        assert web.post(url, json=body, headers=headers).status_code == 413


@pytest.mark.parametrize("version", [LEGACY, MODERN])
async def test_strange_hosts_and_origins_are_refused(redis_url: str, version: str) -> None:
    """A page of a stranger's site that was rebound to loopback gets nothing; what is allowed by name is served."""
    body, headers = request({"spill_id": "x"}, version)

    def status(url: str, **more: str) -> int:
        with httpx2.Client(timeout=30) as web:
            return web.post(url, json=body, headers=headers | more).status_code

    with serving(redis_url, allowed_hosts=["tools.example:*"]) as url:
        assert status(url) == 200
        assert status(url, host="localhost:1") == status(url, host="tools.example:99") == 200
        assert status(url, host="tools.example") == status(url, origin="http://tools.example") == 200
        assert status(url, host="evil.example") == 421
        assert status(url, origin="http://evil.example") == 403
    with serving(redis_url, allowed_hosts=None) as url:
        assert status(url, host="evil.example") == 200


async def test_a_call_that_is_no_json_is_answered(redis_url: str) -> None:
    """With a JSON-RPC error in both eras, for bytes that are not UTF-8 too."""
    with serving(redis_url) as url, httpx2.Client(timeout=30) as web:
        for version in (LEGACY, MODERN):
            for body in (b"{", b"\xff\xfe", b"[]", b'{"a":"\x00"}', b"[" * 100_000):
                headers = request({}, version)[1] | {"content-type": "application/json"}
                answer = web.post(url, content=body, headers=headers)
                assert answer.status_code == 400
                assert answer.json()["error"]["code"] < 0


async def test_callers_at_the_same_time_get_each_their_own(redis_url: str) -> None:
    """Eight spills at once."""
    async with cache_on(redis_url) as cache:
        spills = [(await cache.put(metrics(points=900 + more))).spill_id for more in range(8)]
        expected = [len(await cache.fetch(spill_id)) for spill_id in spills]
    with serving(redis_url) as url:
        async with httpx2.AsyncClient(timeout=30) as web:
            bodies = [request({"spill_id": spill_id}, LEGACY) for spill_id in spills]
            answers = await asyncio.gather(*(web.post(url, json=body, headers=head) for body, head in bodies))
    assert [f"/{size} " in answer.text for size, answer in zip(expected, answers, strict=True)] == [True] * 8
