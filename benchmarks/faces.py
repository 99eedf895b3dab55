"""The faces: a page over MCP against a call that does nothing, the proxy against the upstream, pings during a spill."""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import orjson
from mcp import Client, StdioServerParameters

from benchmarks import corpora
from benchmarks.figure import Figure, Findings, Spread, Table
from benchmarks.place import served, spread
from benchmarks.scale import Scale, say
from benchmarks.timing import Times, interleave_async
from benchmarks.toolserver import BIG, BIG_BYTES, NOOP
from spillcache import defaults
from spillcache.keyring import Keyring, format_ring
from spillcache.sync import SpillCache

BAR_PAGE, BAR_PROXY, BAR_STALL_MS = 1.3, 2.0, 50.0
_MODERN = "2026-07-28"
_BARE = "bare HTTP client"
_SERVER = [sys.executable, "-m", "benchmarks.toolserver"]
_PROXY = [sys.executable, "-m", "spillcache.cli", "proxy"]


def measure(scale: Scale) -> Findings:
    """All of this file's figures."""
    with served() as server, tempfile.TemporaryDirectory() as directory:
        ring = Path(directory) / "keyring.json"
        ring.write_text(format_ring({"bench": secrets.token_bytes(32)}, "bench"), encoding="utf-8")
        environment = {**os.environ, "SPILLCACHE_REDIS_URL": server.url, "SPILLCACHE_KEYRING_FILE": str(ring)}
        environment |= {"SPILLCACHE_METRICS_PORT": "-1", "SPILLCACHE_LOG_FORMAT": "json"}
        with SpillCache.from_url(server.url, keyring=Keyring.from_file(ring)) as cache:
            spill_id = cache.put(corpora.batch()).spill_id
        pages = _pages(scale, environment, spill_id)
        proxied = _proxied(scale, environment)
        stalls = _stalls(scale, environment)
    return Findings(
        (*_page_figures(pages), *_proxy_figures(proxied), _stall_figure(stalls)), (_detail(pages, proxied, stalls),)
    )


@contextmanager
def _listening(command: Sequence[str], environment: dict[str, str]) -> Iterator[str]:
    """A process that serves MCP over HTTP, and its URL. Its log goes nowhere once it listens."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            yield _url(process, log)
        finally:
            process.kill()
            process.wait()


def _url(process: subprocess.Popen[bytes], log: Any) -> str:
    while process.poll() is None:
        log.seek(0)
        for line in log.read().splitlines():
            if line.startswith(b"{") and (said := orjson.loads(line)).get("event") == "listening":
                return str(said["mcp"])
        time.sleep(0.05)
    log.seek(0)
    raise RuntimeError(f"{process.args!r} ended before it listened: {log.read().decode(errors='replace')[-2000:]}")


def _pages(scale: Scale, environment: dict[str, str], spill_id: str) -> dict[str, list[Times]]:
    with _listening([*_SERVER, "serve"], environment) as url:
        runs: dict[str, list[Times]] = {}
        for client in (_MODERN, "legacy", _BARE):
            say(f"faces: pages, {client}")
            ask = _pages_bare if client == _BARE else _pages_by_client
            runs[client] = [asyncio.run(ask(url, client, spill_id, scale)) for _ in range(scale.repeats)]
    return runs


async def _pages_by_client(url: str, mode: str, spill_id: str, scale: Scale) -> Times:
    async with Client(url, mode=mode) as client:
        cursors = await _cursors(client, spill_id)

        async def page(at: int) -> Any:
            arguments = {"spill_id": spill_id, "cursor": cursors[at % len(cursors)]}
            return await client.call_tool(defaults.TOOL_NAME, arguments)

        async def noop(_: int) -> Any:
            return await client.call_tool(NOOP, {})

        return await interleave_async({"page": page, "noop": noop}, scale.call_rounds)


async def _pages_bare(url: str, _: str, spill_id: str, scale: Scale) -> Times:
    """A client that only posts and reads: nothing of its own hides what the server takes."""
    async with Client(url, mode=_MODERN) as client:
        cursors = await _cursors(client, spill_id)
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    headers |= {"mcp-protocol-version": _MODERN, "mcp-method": "tools/call"}
    meta = {
        "io.modelcontextprotocol/protocolVersion": _MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "bare", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    async with httpx.AsyncClient() as http:

        async def call(tool: str, arguments: dict[str, Any]) -> bytes:
            params = {"name": tool, "arguments": arguments, "_meta": meta}
            body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
            answer = await http.post(url, content=body, headers={**headers, "mcp-name": tool})
            assert b'"isError":false' in answer.content, answer.content[:500]
            return answer.content

        async def page(at: int) -> bytes:
            arguments = {"spill_id": spill_id, "cursor": cursors[at % len(cursors)]}
            return await call(defaults.TOOL_NAME, arguments)

        return await interleave_async({"page": page, "noop": lambda _: call(NOOP, {})}, scale.call_rounds)


async def _cursors(client: Client, spill_id: str) -> list[str]:
    found, arguments = list[str](), {"spill_id": spill_id}
    while True:
        page = orjson.loads(_text(await client.call_tool(defaults.TOOL_NAME, arguments)))
        if "next_cursor" not in page:
            return found
        found.append(page["next_cursor"])
        arguments = {"spill_id": spill_id, "cursor": found[-1]}


def _text(result: Any) -> str:
    return str(result.content[0].text)


def _proxied(scale: Scale, environment: dict[str, str]) -> dict[str, list[Times]]:
    say("faces: proxy on stdio")
    runs = {"stdio": [asyncio.run(_proxied_stdio(scale, environment)) for _ in range(scale.repeats)]}
    with (
        _listening([*_SERVER, "http"], environment) as upstream,
        _listening([*_PROXY, "--upstream", upstream, "--http", "--port", "0"], environment) as proxy,
    ):
        for mode in (_MODERN, "legacy"):
            say(f"faces: proxy on HTTP, {mode}")
            runs[f"HTTP, {mode}"] = [
                asyncio.run(_proxied_http(scale, upstream, proxy, mode)) for _ in range(scale.repeats)
            ]
    return runs


async def _proxied_stdio(scale: Scale, environment: dict[str, str]) -> Times:
    direct = StdioServerParameters(command=_SERVER[0], args=[*_SERVER[1:], "stdio"], env=environment)
    through = StdioServerParameters(command=_PROXY[0], args=[*_PROXY[1:], "--", *_SERVER, "stdio"], env=environment)
    async with Client(direct) as one, Client(through) as other:
        return await _both(one, other, scale)


async def _proxied_http(scale: Scale, upstream: str, proxy: str, mode: str) -> Times:
    async with Client(upstream, mode=mode) as one, Client(proxy, mode=mode) as other:
        return await _both(one, other, scale)


async def _both(direct: Client, through: Client, scale: Scale) -> Times:
    calls = {"direct": lambda _: direct.call_tool(NOOP, {}), "through the proxy": lambda _: through.call_tool(NOOP, {})}
    return await interleave_async(calls, scale.call_rounds)


def _stalls(scale: Scale, environment: dict[str, str]) -> dict[str, list[float]]:
    """The longest ping in ms while the proxy spills results of 5 MB, and while it does nothing."""
    say("faces: pings while 5 MB are spilled")
    with (
        spread(),
        _listening([*_SERVER, "http"], environment) as upstream,
        _listening([*_PROXY, "--upstream", upstream, "--http", "--port", "0"], environment) as proxy,
    ):
        runs = [asyncio.run(_stalled(proxy)) for _ in range(max(3, scale.repeats))]
    return {"idle": [idle for idle, _ in runs], "spilling": [busy for _, busy in runs]}


async def _stalled(proxy: str) -> tuple[float, float]:
    async with Client(proxy, mode="legacy") as caller, _pinging(proxy) as pings:
        await caller.call_tool(BIG, {})
        pings.clear()
        await asyncio.sleep(1.0)
        idle = max(pings)
        pings.clear()
        answer = await caller.call_tool(BIG, {})
        assert '"completeness":"truncated"' in _text(answer), _text(answer)[:300]
        return idle, max(pings)


@asynccontextmanager
async def _pinging(url: str) -> AsyncIterator[list[float]]:
    """Pings in a process of its own would be fairer still; here each is one small POST, timed from sending on."""
    times: list[float] = []
    ping = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}

    async def go_on() -> None:
        async with httpx.AsyncClient() as http:
            while True:
                begin = time.perf_counter()
                await http.post(url, content=ping, headers=headers)
                times.append((time.perf_counter() - begin) * 1000)
                await asyncio.sleep(0.002)

    task = asyncio.create_task(go_on())
    try:
        yield times
    finally:
        task.cancel()


def _page_figures(runs: dict[str, list[Times]]) -> list[Figure]:
    return [
        Figure(
            f"page over MCP HTTP, {client}: p50 over a tool that does nothing on the same server",
            Spread.of(times["page"] / times["noop"] for times in found),
            bar=f"≤ {BAR_PAGE} ×",
            limit=BAR_PAGE,
            note=f"page {_p50(found, 'page')}, no-op {_p50(found, 'noop')}",
        )
        for client, found in runs.items()
    ]


def _proxy_figures(runs: dict[str, list[Times]]) -> list[Figure]:
    return [
        Figure(
            f"small result through the proxy, {transport}: p50 over calling the upstream",
            Spread.of(times["through the proxy"] / times["direct"] for times in found),
            bar=f"≤ {BAR_PROXY} ×",
            limit=BAR_PROXY,
            note=f"proxy {_p50(found, 'through the proxy')}, direct {_p50(found, 'direct')}",
        )
        for transport, found in runs.items()
    ]


def _stall_figure(stalls: dict[str, list[float]]) -> Figure:
    return Figure(
        f"longest ping of the proxy while it spills {BIG_BYTES >> 20} MiB",
        Spread.of(stalls["spilling"]),
        unit="ms",
        bar=f"≤ {BAR_STALL_MS:.0f} ms",
        limit=BAR_STALL_MS,
        digits=1,
        note=f"longest in a second of idling {Spread.of(stalls['idle']).median:.1f} ms",
    )


def _p50(runs: list[Times], call: str) -> str:
    return f"{Spread.of(times[call] for times in runs).median:.0f} µs"


def _detail(pages: dict[str, list[Times]], proxied: dict[str, list[Times]], stalls: dict[str, list[float]]) -> Table:
    rows = [
        (where, call, f"{Spread.of(times[call] for times in found).median:.0f} µs")
        for where, found in {**pages, **proxied}.items()
        for call in found[0]
    ]
    rows += [("proxy, HTTP", f"longest ping, {state}", f"{max(found):.1f} ms") for state, found in stalls.items()]
    return Table("Faces: p50 of each call, interleaved call by call", ("where", "call", ""), tuple(rows))
