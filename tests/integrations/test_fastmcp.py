"""A server written with FastMCP, seen by the official client in both eras and by FastMCP's own."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client as FastMCPClient
from fastmcp import FastMCP
from fastmcp.server.middleware import MiddlewareContext
from fastmcp.tools import ToolResult
from fastmcp.tools.base import InputRequiredToolResult, RawStructuredToolResult
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ImageContent,
    Implementation,
    InputRequiredResult,
    TextContent,
)

from spillcache import SpillCache
from spillcache.errors import ArgumentsInvalid
from spillcache.integrations.fastmcp import SpillMiddleware, spill_results
from spillcache.tool.definition import ToolOptions
from spillcache.tool.results import MARK, SpillOptions
from tests.integrations.serving import Answer, metrics_server, series, serving
from tests.servers.caches import cache_on
from tests.servers.providers import Provided

ROOT = Path(__file__).resolve().parents[2]
READER = "search_query_spill"


def spilling(cache: SpillCache, **options: Any) -> FastMCP[Any]:
    """The metrics server with large results spilled."""
    server = metrics_server()
    spill_results(server, cache, **options)
    return server


@pytest.fixture(scope="module")
def url(server: Provided) -> Iterator[str]:
    """That server with everything at its default."""
    with serving(server.url, spilling) as served:
        yield served


@pytest.fixture(params=["legacy", "auto"])
def mode(request: pytest.FixtureRequest) -> str:
    """The era of the protocol that the official client speaks."""
    era: str = request.param
    return era


@asynccontextmanager
async def connected(url: str, mode: str) -> AsyncIterator[Client]:
    """A client that knows the tools' schemas."""
    async with Client(url, mode=mode) as client:
        await client.list_tools()
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> CallToolResult:
    """A tool's result."""
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    return result


def text_of(result: CallToolResult) -> str:
    """Its first block, which is text."""
    assert isinstance(result.content[0], TextContent)
    return result.content[0].text


def envelope_in(result: CallToolResult) -> dict[str, Any]:
    """The envelope in a spilled result."""
    envelope: dict[str, Any] = json.loads(text_of(result))
    assert envelope["completeness"] == "truncated"
    assert MARK in (result.meta or {})
    return envelope


async def walk(client: Client, spill_id: str, reader: str = READER) -> bytes:
    """All pages, by the reading tool."""
    parts, cursor = [], ""
    while True:
        page = json.loads(text_of(await call(client, reader, spill_id=spill_id, cursor=cursor)))
        parts.append(page["chunk"])
        if "next_cursor" not in page:
            assert page["status"] == "COMPLETE"
            return "".join(parts).encode()
        cursor = page["next_cursor"]


async def test_a_typed_result_that_does_not_fit_reaches_a_strict_client_and_can_be_walked(url: str, mode: str) -> None:
    """Its envelope fits the declared schema, and the pages give what the tool returned."""
    async with connected(url, mode) as client:
        result = await call(client, "typed", points=3_000)
        envelope = envelope_in(result)
        assert result.structured_content == envelope
        whole = Answer(series=series(3_000), note="read me").model_dump_json().encode()
        assert hashlib.sha256(await walk(client, envelope["spill_id"])).digest() == hashlib.sha256(whole).digest()


@pytest.mark.parametrize(
    ("tool", "arguments", "structured"),
    [
        ("wrapped", {"points": 2_000}, True),
        ("recursive", {"depth": 60}, True),
        ("free", {"rows": 3_000}, False),
        ("array", {"rows": 3_000}, False),
    ],
)
async def test_every_declared_shape_takes_an_envelope(
    url: str, mode: str, tool: str, arguments: dict[str, int], structured: bool
) -> None:
    """Wrapped lists and recursive types as structured content, free objects as text alone."""
    async with connected(url, mode) as client:
        result = await call(client, tool, **arguments)
        assert result.structured_content == (envelope_in(result) if structured else None)


async def test_what_fits_is_what_the_tool_returned(url: str, mode: str) -> None:
    """Text, structured content and meta, with nothing added."""
    async with connected(url, mode) as client:
        result = await call(client, "typed", points=2)
        assert result.structured_content == Answer(series=series(2), note="read me").model_dump(mode="json")
        assert MARK not in (result.meta or {})
        wrapped = await call(client, "wrapped", points=2)
        assert wrapped.structured_content == {"result": [one.model_dump(mode="json") for one in series(2)]}
        assert (await call(client, "plain", size=50)).meta is not None


async def test_meta_of_a_spilled_result_stays(url: str, mode: str) -> None:
    """Beside the mark that keeps a proxy from spilling it again."""
    async with connected(url, mode) as client:
        result = await call(client, "plain", size=50_000)
        assert (result.meta or {})["trace"] == "abc"
        assert await walk(client, envelope_in(result)["spill_id"]) == b"line\n" * 10_000


async def test_a_raised_error_that_does_not_fit_is_spilled_and_stays_an_error(url: str, mode: str) -> None:
    """FastMCP makes a result of it only after all middleware; a short one is told as ever."""
    async with connected(url, mode) as client:
        result = await call(client, "failing", lines=1_500)
        assert result.is_error
        envelope = envelope_in(result)
        assert "begin" in envelope["preview"]
        assert envelope["preview_tail"].endswith("the cause")
        short = await call(client, "failing", lines=1)
        assert short.is_error
        assert text_of(short).endswith("the cause")


async def test_a_picture_passes_whole_beside_a_text_that_does_not_fit(url: str, mode: str) -> None:
    """The envelope is the first block, the picture follows."""
    async with connected(url, mode) as client:
        result = await call(client, "chart", size=9_000)
        assert envelope_in(result)["parts"] == {"spilled": ["content[1]"], "kept": ["content[0]"]}
        assert isinstance(result.content[1], ImageContent)
        assert len(result.content[1].data) == 400_000


async def test_nothing_is_said_in_words(url: str, mode: str) -> None:
    """An empty result has a text that says so."""
    async with connected(url, mode) as client:
        assert "returned no content" in text_of(await call(client, "nothing"))


async def test_the_tools_are_listed_with_the_reader(url: str, mode: str) -> None:
    """Read-only, with its own description; the others' schemas say that an envelope may come."""
    async with connected(url, mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        reader = tools[READER]
        assert reader.annotations is not None
        assert reader.annotations.read_only_hint
        assert reader.output_schema is None
        assert "page by page" in (reader.description or "")
        assert "anyOf" in (tools["typed"].output_schema or {})
        assert tools["free"].output_schema is None


async def test_errors_of_the_reader_say_what_to_do(url: str, mode: str) -> None:
    """Results that the model reads, not exceptions."""
    async with connected(url, mode) as client:
        result = await call(client, READER, spill_id="nonsense")
        assert result.is_error
        said = json.loads(text_of(result))
        assert said["code"] == "spill_id_malformed"
        assert said["next_step"]


async def test_fastmcp_s_own_client_never_reads_an_envelope_as_an_empty_result(url: str) -> None:
    """Its typed data are the envelope's, and a wrapped result that fits still has its type."""
    async with FastMCPClient(url) as client:
        typed = await client.call_tool("typed", {"points": 3_000})
        assert typed.data["completeness"] == "truncated"
        wrapped = await client.call_tool("wrapped", {"points": 2_000})
        assert wrapped.data.completeness == "truncated"
        fits = await client.call_tool("wrapped", {"points": 2})
        assert [one.name for one in fits.data] == ["cpu 0", "cpu 1", "cpu 2"]


async def test_budgets_and_names_decide_what_is_spilled(redis_url: str) -> None:
    """By tool; excluded tools keep their results and their schemas, and so does what is not included."""
    options = {"budgets": {"plain": 20_000}, "include": ["p*", "typed", "free"], "exclude": ["t*"]}
    with serving(redis_url, lambda cache: spilling(cache, **options)) as url:
        async with connected(url, "auto") as client:
            assert text_of(await call(client, "plain", size=15_000)) == "line\n" * 3_000
            envelope_in(await call(client, "plain", size=25_000))
            envelope_in(await call(client, "free", rows=3_000))
            for tool, arguments in (("typed", {"points": 900}), ("wrapped", {"points": 900})):
                assert MARK not in ((await call(client, tool, **arguments)).meta or {})
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert "anyOf" not in (tools["typed"].output_schema or {})


async def test_dropping_schemas_is_an_option(redis_url: str) -> None:
    """Nothing is declared, and the envelope comes as text alone."""
    with serving(redis_url, lambda cache: spilling(cache, options=SpillOptions(structured="drop"))) as url:
        async with connected(url, "auto") as client:
            assert {tool.output_schema is None for tool in (await client.list_tools()).tools} == {True}
            assert (await call(client, "typed", points=3_000)).structured_content is None


async def test_a_server_behind_a_server_is_spilled_once(redis_url: str) -> None:
    """Neither its envelopes nor the pages of its reader, which are larger than what the outer server lets through."""

    def nested(cache: SpillCache) -> FastMCP[Any]:
        outer: FastMCP[Any] = FastMCP("outer")
        outer.mount(spilling(cache, reader=ToolOptions(default_budget=12_000)), namespace="inner")
        spill_results(outer, cache, options=SpillOptions(budget=4_096))
        return outer

    with serving(redis_url, nested) as url:
        async with connected(url, "auto") as client:
            envelope = envelope_in(await call(client, "inner_plain", size=50_000))
            assert envelope["size_bytes"] == 50_000
            page = text_of(await call(client, f"inner_{READER}", spill_id=envelope["spill_id"]))
            assert len(page) > 9_000
            assert await walk(client, envelope["spill_id"], f"inner_{READER}") == b"line\n" * 10_000


async def test_spills_belong_to_the_tenant_that_was_named(redis_url: str) -> None:
    """Written and read as that tenant's; another's reader finds nothing."""
    with serving(redis_url, lambda cache: spilling(cache, tenant="acme")) as url:
        async with connected(url, "auto") as client:
            spill_id = envelope_in(await call(client, "plain", size=50_000))["spill_id"]
            assert await walk(client, spill_id) == b"line\n" * 10_000
    async with cache_on(redis_url) as cache:
        assert (await cache.stat(spill_id, tenant="acme")).tool == "plain"


async def test_the_reader_has_the_name_that_envelopes_tell(redis_url: str) -> None:
    """It is the cache's; another would send agents to a tool that is not there."""
    with serving(redis_url, spilling, tool_name="read_more") as url:
        async with connected(url, "auto") as client:
            envelope = envelope_in(await call(client, "plain", size=50_000))
            assert envelope["next"]["tool"] == "read_more"
            assert await walk(client, envelope["spill_id"], "read_more") == b"line\n" * 10_000
    async with cache_on(redis_url) as cache:
        with pytest.raises(ArgumentsInvalid):
            spilling(cache, reader=ToolOptions(name="read_more"))


@pytest.mark.parametrize("mounted", [False, True], ids=["added later", "mounted"])
async def test_no_other_tool_passes_for_the_reader(redis_url: str, mounted: bool) -> None:
    """The list of tools is an error that says so, and where it hides the reader, so is a call of it."""

    def clashing(cache: SpillCache) -> FastMCP[Any]:
        server = spilling(cache)
        other: FastMCP[Any] = FastMCP("other") if mounted else server

        @other.tool(name=READER)
        def search() -> str:
            return "no results"

        if mounted:
            server.mount(other)
        return server

    with serving(redis_url, clashing) as url:
        async with Client(url, mode="auto") as client:
            with pytest.raises(MCPError, match=READER) as caught:
                await client.list_tools()
            answer = await call(client, READER, spill_id="a" * 26)
    assert caught.value.error.data["code"] == "arguments_invalid"
    assert answer.is_error
    expected = "spill_not_found" if mounted else "arguments_invalid"  # what is mounted does not hide what is here
    assert json.loads(text_of(answer))["code"] == expected


def test_without_fastmcp_the_import_says_what_to_install() -> None:
    """The error names the extra."""
    code = "import sys; sys.modules['fastmcp'] = None; import spillcache.integrations.fastmcp"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert "pip install 'spillcache[fastmcp]'" in ran.stderr


async def test_pages_are_as_large_as_the_client_takes(url: str) -> None:
    """A host that is known to take more, by its name in the handshake or in the User-Agent, gets larger pages."""
    host = Implementation(name="claude-code", version="2")
    async with Client(url, mode="auto") as common, Client(url, mode="auto", client_info=host) as known:
        spill_id = envelope_in(await call(common, "plain", size=50_000))["spill_id"]
        small, large = [len(text_of(await call(client, READER, spill_id=spill_id))) for client in (common, known)]
    assert small <= 7_500 < large


async def test_a_full_read_is_as_long_as_the_client_takes(url: str) -> None:
    """No longer than a page, where the host is known to cut there."""
    host = Implementation(name="cursor", version="2")
    async with Client(url, mode="auto") as common, Client(url, mode="auto", client_info=host) as known:
        spill_id = envelope_in(await call(common, "plain", size=50_000))["spill_id"]
        full = {"spill_id": spill_id, "return_full": True}
        large, small = [len(text_of(await call(client, READER, **full))) for client in (common, known)]
    assert small <= 7_500 < large


@pytest.mark.parametrize(
    "passed",
    [
        InputRequiredToolResult(InputRequiredResult(request_state="x" * 9_000)),
        {"task": "accepted"},
        ToolResult(content=[TextContent(text="fits")], structured_content={"a": 1}),
    ],
    ids=["a question to the client", "a task", "what fits"],
)
async def test_what_is_not_to_be_spilled_is_the_very_same_object(redis_url: str, passed: Any) -> None:
    """Nothing is copied or written anew."""
    assert await through_middleware(redis_url, passed) is passed


async def test_the_envelope_of_a_proxied_list_is_not_taken_for_one(redis_url: str) -> None:
    """FastMCP wraps such results for older clients; an envelope is no list, and comes as an ordinary result."""
    rows = ["row"] * 9_000
    proxied = RawStructuredToolResult([TextContent(text=json.dumps(rows))], rows, meta={"trace": "abc"})
    answer = await through_middleware(redis_url, proxied)
    assert type(answer) is ToolResult
    assert answer.structured_content is None
    assert answer.meta == {"trace": "abc", MARK: {"version": 1}}


async def through_middleware(redis_url: str, passed: Any) -> Any:
    """What the middleware makes of what a tool returns."""

    async def tool(context: object) -> Any:
        return passed

    context = MiddlewareContext(message=CallToolRequestParams(name="tool"), method="tools/call")
    async with cache_on(redis_url) as cache:
        made = SpillMiddleware(
            cache, reader=ToolOptions(), options=SpillOptions(), budgets={}, include=("*",), exclude=(), tenant=None
        )
        return await made.on_call_tool(context, tool)
