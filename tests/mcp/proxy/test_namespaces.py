"""Several upstreams as one server."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from spillcache.mcp.proxy.config import Upstream, make_upstream
from spillcache.tool.definition import ToolOptions
from tests.mcp.proxy.conftest import Eras
from tests.mcp.proxy.fronts import answer_of, before, program, text_of, walked
from tests.servers.waiting import until

TODAY = "note:///today"


@pytest.fixture
def both(eras: Eras) -> dict[str, Upstream]:
    """An old server and a new one."""
    return {"old": eras["legacy"].upstream, "new": eras["modern"].upstream}


async def all_of(client: Client, what: str) -> list[Any]:
    """A list to its last page."""
    found: list[Any] = []
    cursor = None
    while True:
        page = await getattr(client, f"list_{what}")(cursor=cursor)
        found += getattr(page, what)
        cursor = page.next_cursor
        if cursor is None:
            return found


async def test_tools_of_all_are_called_under_their_namespaces(redis_url: str, both: dict[str, Upstream]) -> None:
    """One paging tool reads what any of them spilled."""
    async with before(both, redis_url) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        small = await client.call_tool("new_echo", {"to": "new"})
        large = answer_of(await client.call_tool("old_big", {"points": 2_000}))
        whole = await walked(client, large["spill_id"])
    assert {"old_echo", "new_echo", "search_query_spill"} <= set(names)
    assert names.count("search_query_spill") == 1
    assert "echo" not in names
    assert answer_of(small) == {"to": "new"}
    assert len(whole) == large["size_bytes"]


async def test_a_linked_resource_resolves_through_the_proxy(redis_url: str, both: dict[str, Upstream]) -> None:
    """A link in a tool's result, an embedded resource, a listed one and a template lead back to their own server."""
    async with before(both, redis_url) as client:
        link, embedded = (await client.call_tool("old_link")).content
        assert isinstance(link, types.ResourceLink)
        assert isinstance(embedded, types.EmbeddedResource)
        read = await client.read_resource(link.uri)
        listed = [resource.uri for resource in await all_of(client, "resources")]
        templates = [template.uri_template for template in await all_of(client, "resource_templates")]
    (contents,) = read.contents
    assert isinstance(contents, types.TextResourceContents)
    assert contents.text == f"everything has {TODAY}"
    assert link.uri == contents.uri == embedded.resource.uri == f"old+{TODAY}"
    assert listed == [f"old+{TODAY}", "old+note:///old", f"new+{TODAY}", "new+note:///old"]
    assert templates == ["old+note:///{day}", "new+note:///{day}", "spill://{id}"]


async def test_prompts_and_completions_find_their_server(redis_url: str, both: dict[str, Upstream]) -> None:
    """By prompt name and by resource template."""
    async with before(both, redis_url) as client:
        prompts = [prompt.name for prompt in await all_of(client, "prompts")]
        prompt = await client.get_prompt("new_greet", {"who": "you"})
        by_name = await client.complete(types.PromptReference(name="old_greet"), {"name": "who", "value": "y"})
        by_uri = await client.complete(
            types.ResourceTemplateReference(uri="new+note:///{day}"), {"name": "day", "value": "t"}
        )
    assert prompts == ["old_greet", "new_greet", "read_truncated_result"]
    assert isinstance(prompt.messages[0].content, types.TextContent)
    assert prompt.messages[0].content.text.startswith("greet ")
    assert by_name.completion.values == ["greet:y"]
    assert by_uri.completion.values == ["note:///{day}:t"]


async def test_a_change_of_a_resource_is_told_under_its_namespace(redis_url: str, both: dict[str, Upstream]) -> None:
    """As it was subscribed."""
    heard: list[str] = []

    async def hear(message: object) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            heard.append(message.params.uri)

    async with before(both, redis_url, mode="legacy", message_handler=hear) as client:
        await client.session.send_request(
            types.SubscribeRequest(params=types.SubscribeRequestParams(uri=f"old+{TODAY}")), types.EmptyResult
        )
        await client.call_tool("old_change")
        await anyio.to_thread.run_sync(until, lambda: bool(heard), "the change")
    assert heard[0] == f"old+{TODAY}"


async def test_an_upstream_that_is_down_does_not_take_the_others_along(redis_url: str, eras: Eras) -> None:
    """Lists say that it is missing, and its tools say so when they are called."""
    upstreams = {"up": eras["modern"].upstream, "down": make_upstream(command="false")}
    async with before(upstreams, redis_url) as client:
        listing = await client.list_tools()
        prompts = await client.list_prompts(cursor=(await client.list_prompts()).next_cursor)
        called = await client.call_tool("down_anything")
        works = await client.call_tool("up_echo", {"it": "works"})
    for told in (listing, prompts):
        assert told.meta is not None
        assert told.meta["spillcache/unavailable"]["down"]["code"] == "upstream_unavailable"
    assert called.is_error
    assert "'down'" in answer_of(called)["message"]
    assert answer_of(works) == {"it": "works"}


async def test_when_all_are_down_a_list_is_an_error(redis_url: str) -> None:
    """Never an empty list."""
    upstreams = {name: make_upstream(command="false") for name in ("a", "b")}
    async with before(upstreams, redis_url) as client:
        for attempt in (client.list_tools(), client.list_prompts(), client.list_resources()):
            with pytest.raises(MCPError) as caught:
                await attempt
            assert caught.value.error.data["code"] == "upstream_unavailable"


async def test_a_name_without_a_server_is_refused(redis_url: str, both: dict[str, Upstream]) -> None:
    """With what to do about it; a cursor that is none of ours as well."""
    async with before(both, redis_url) as client:
        for attempt in (
            client.call_tool("echo"),
            client.call_tool("other_echo"),
            client.read_resource(TODAY),
            client.get_prompt("greet"),
            client.list_resources(cursor="none"),
        ):
            with pytest.raises(MCPError) as caught:
                await attempt
            assert caught.value.error.code == types.INVALID_PARAMS
            assert caught.value.error.data["next_step"]


async def test_an_upstreams_tool_of_our_name_is_refused_when_a_client_opens(redis_url: str) -> None:
    """The error names the setting. Under a namespace there is no such conflict."""
    upstream = program("everything", "--extra-tool", "search_query_spill")
    with pytest.RaisesGroup(
        pytest.RaisesExc(MCPError, check=lambda error: "SPILLCACHE_TOOL_NAME" in error.error.data["next_step"]),
        flatten_subgroups=True,
        allow_unwrapped=True,
    ):
        async with before(upstream, redis_url, mode="legacy"):
            raise AssertionError("it opened")
    async with before({"ns": upstream}, redis_url) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert text_of(await client.call_tool("ns_search_query_spill", {"a": 1})) == '{"a": 1}'
    assert {"ns_search_query_spill", "search_query_spill"} <= set(names)


async def test_another_name_for_the_paging_tool_resolves_the_conflict(redis_url: str) -> None:
    """Envelopes name it, and it reads them."""
    upstream = program("everything", "--extra-tool", "search_query_spill")
    async with before(upstream, redis_url, options=ToolOptions(name="read_on")) as client:
        envelope = answer_of(await client.call_tool("big", {"points": 2_000}))
        assert envelope["next"]["tool"] == "read_on"
        assert len(await walked(client, envelope["spill_id"], "read_on")) == envelope["size_bytes"]
