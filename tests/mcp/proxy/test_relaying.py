"""What passes through the proxy, in every pairing of eras: a real child behind it, the official client before it."""

from __future__ import annotations

import json
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.client import ClientRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import ConfigDict, FileUrl

from spillcache.mcp.proxy.config import make_upstream
from tests.mcp.proxy.conftest import Eras
from tests.mcp.proxy.fronts import answer_of, before, text_of, walked
from tests.mcp.proxy.upstreams.sizes import metrics
from tests.servers.waiting import until

TODAY = "note:///today"

pairings = pytest.mark.parametrize(
    ("mode", "era"), [("legacy", "legacy"), ("legacy", "modern"), ("auto", "legacy"), ("auto", "modern")]
)


@pairings
async def test_the_tool_of_any_era_is_there_for_a_client_of_any_era(
    redis_url: str, eras: Eras, mode: str, era: str
) -> None:
    """Listed with the paging tool; a small result as it is, a large one spilled and walked to its last byte."""
    async with before(eras[era].upstream, redis_url, mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        small = await client.call_tool("echo", {"a": [1, None, "é"]})
        large = await client.call_tool("big", {"points": 5_000})
        envelope = answer_of(large)
        whole = await walked(client, envelope["spill_id"])
    assert {"echo", "big", "search_query_spill"} <= set(tools)
    assert answer_of(small) == {"a": [1, None, "é"]}
    assert envelope["completeness"] == "truncated"
    assert envelope["inventory"]["results"] == 6
    assert whole == metrics(5_000)


@pairings
async def test_a_typed_result_stays_valid(redis_url: str, eras: Eras, mode: str, era: str) -> None:
    """The declared schema takes both the upstream's own results and envelopes; the client checks that."""
    async with before(eras[era].upstream, redis_url, mode=mode) as client:
        await client.list_tools()
        small = await client.call_tool("typed", {"rows": 3})
        large = await client.call_tool("typed", {"rows": 3_000})
        assert small.structured_content == {"rows": [{"n": 0}, {"n": 1}, {"n": 2}]}
        assert large.structured_content is not None
        assert large.structured_content["completeness"] == "truncated"
        whole = json.loads(await walked(client, large.structured_content["spill_id"]))
    assert whole == {"rows": [{"n": n} for n in range(3_000)]}


@pairings
async def test_progress_and_cancellation_pass(redis_url: str, eras: Eras, mode: str, era: str) -> None:
    """Each step reaches who waits; a call that is given up is given up upstream."""
    behind = eras[era]
    waits = behind.told("waiting")
    steps: list[tuple[float, float | None, str | None]] = []

    async def told(progress: float, total: float | None, message: str | None) -> None:
        steps.append((progress, total, message))

    async with before(behind.upstream, redis_url, mode=mode) as client:
        done = await client.call_tool("slow", {"ends": True}, progress_callback=told)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "slow")
            await behind.tells("waiting", waits + 1)
            tasks.cancel_scope.cancel()
        await behind.tells("cancelled", waits + 1)
        assert answer_of(await client.call_tool("echo", {"still": "there"})) == {"still": "there"}
    assert text_of(done) == "done"
    assert steps == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


@pairings
async def test_resources_prompts_and_completions_pass(redis_url: str, eras: Eras, mode: str, era: str) -> None:
    """Lists page by page, resources whole, however large."""
    async with before(eras[era].upstream, redis_url, mode=mode) as client:
        first = await client.list_resources()
        second = await client.list_resources(cursor=first.next_cursor)
        templates = await client.list_resource_templates()
        small = await client.read_resource(TODAY)
        large = await client.read_resource(f"{TODAY}?500000")
        prompts = await client.list_prompts()
        prompt = await client.get_prompt("greet", {"who": "you"})
        completion = await client.complete(types.PromptReference(name="greet"), {"name": "who", "value": "y"})
    assert [resource.uri for resource in [*first.resources, *second.resources]] == [TODAY, "note:///old"]
    assert [template.uri_template for template in templates.resource_templates] == ["note:///{day}", "spill://{id}"]
    assert isinstance(small.contents[0], types.TextResourceContents)
    assert small.contents[0].text == f"everything has {TODAY}"
    assert isinstance(large.contents[0], types.TextResourceContents)
    assert len(large.contents[0].text) == 500_000
    assert [prompt.name for prompt in prompts.prompts] == ["greet", "read_truncated_result"]
    assert isinstance(prompt.messages[0].content, types.TextContent)
    assert prompt.messages[0].content.text == "greet {'who': 'you'}"
    assert completion.completion.values == ["greet:y"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_handshake_client_hears_what_changes(redis_url: str, eras: Eras, era: str) -> None:
    """Lists, subscribed resources, and log messages at the level it set."""
    heard: list[Any] = []

    async def hear(message: object) -> None:
        heard.append(message)

    async with before(eras[era].upstream, redis_url, mode="legacy", message_handler=hear) as client:
        await client.session.send_request(
            types.SetLevelRequest(params=types.SetLevelRequestParams(level="info")), types.EmptyResult
        )
        await client.session.send_request(
            types.SubscribeRequest(params=types.SubscribeRequestParams(uri=TODAY)), types.EmptyResult
        )
        await client.call_tool("log")
        if era == "modern":  # its stream is opened beside the call
            await _listening(client, heard)
        else:
            await client.call_tool("change")
        await _heard(heard, types.ResourceUpdatedNotification)
        await _heard(heard, types.ToolListChangedNotification)
        await _heard(heard, types.LoggingMessageNotification)
    updated = next(one for one in heard if isinstance(one, types.ResourceUpdatedNotification))
    logged = next(one for one in heard if isinstance(one, types.LoggingMessageNotification))
    assert updated.params.uri == TODAY
    assert (logged.params.level, logged.params.data) == ("warning", {"said": "hello"})


async def _heard(heard: list[Any], kind: type) -> None:
    await anyio.to_thread.run_sync(until, lambda: any(isinstance(one, kind) for one in heard), kind.__name__)


async def _listening(client: Client, heard: list[Any]) -> None:
    """Cause changes until the upstream's stream carries one."""
    while not any(isinstance(one, types.ResourceUpdatedNotification) for one in heard):
        await client.call_tool("change")


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_modern_client_listens_for_what_changes(redis_url: str, eras: Eras, era: str) -> None:
    """Its stream carries the upstream's changes; the subscription ends with it."""
    behind = eras[era]
    async with before(behind.upstream, redis_url, mode="auto") as client:
        await client.list_tools()
        async with client.listen(tools_list_changed=True, resource_subscriptions=[TODAY]) as stream:
            seen: set[str] = set()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_change_again_and_again, client)
                async for event in stream:
                    seen.add(type(event).__name__)
                    if seen == {"ToolsListChanged", "ResourceUpdated"}:
                        tasks.cancel_scope.cancel()
        if era == "legacy":
            await behind.tells(f"unsubscribed {TODAY}")
    assert seen == {"ToolsListChanged", "ResourceUpdated"}


async def _change_again_and_again(client: Client) -> None:
    while True:
        await client.call_tool("change")


async def test_a_modern_client_gets_the_log_messages_it_asked_for(redis_url: str, eras: Eras) -> None:
    """With the answer of the call, from a modern upstream that is told the level by each request."""
    logged: list[types.LoggingMessageNotificationParams] = []

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        logged.append(params)

    async with before(eras["modern"].upstream, redis_url, log_level="info", logging_callback=log) as client:
        await client.call_tool("log")
        await anyio.to_thread.run_sync(until, lambda: bool(logged), "the message")
    assert logged[0].data == {"said": "hello"}


async def _elicited(_context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
    assert params.message == "how many?"
    return types.ElicitResult(action="accept", content={"n": 7})


@pytest.mark.parametrize(
    ("mode", "era", "said"),
    [
        ("legacy", "legacy", "answered 7"),
        ("legacy", "modern", "answered 7 after asked"),
        ("auto", "modern", "answered 7 after asked"),
        ("auto", "legacy", "answered 7"),
    ],
)
async def test_a_tools_question_reaches_the_client(redis_url: str, eras: Eras, mode: str, era: str, said: str) -> None:
    """While the call runs, or by way of its answer; an old client is asked what a new server wants to know."""
    async with before(eras[era].upstream, redis_url, mode=mode, elicitation_callback=_elicited) as client:
        assert text_of(await client.call_tool("ask")) == said


async def test_a_question_that_nobody_can_be_asked_is_an_error(redis_url: str, eras: Eras) -> None:
    """It is not known which of two calls asks; neither hangs, and what the others do is not disturbed."""
    behind = eras["legacy"]
    async with before(behind.upstream, redis_url, elicitation_callback=_elicited) as client:
        waits = behind.told("waiting")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "slow")
            await behind.tells("waiting", waits + 1)
            with pytest.raises(MCPError, match="2 calls are running"):
                await client.call_tool("ask")
            tasks.cancel_scope.cancel()
        await behind.tells("cancelled", waits + 1)


async def test_a_question_that_was_answered_is_not_answered_again(redis_url: str, eras: Eras) -> None:
    """A modern client that repeats an old request is told that the call is over."""
    async with before(eras["legacy"].upstream, redis_url, elicitation_callback=_elicited) as client:
        asked = await client.session.call_tool("ask", {}, allow_input_required=True)
        assert isinstance(asked, types.InputRequiredResult)
        given: Any = {"question": types.ElicitResult(action="accept", content={"n": 3})}
        answers = [
            await client.session.call_tool("ask", {}, input_responses=given, request_state=asked.request_state)
            for _ in range(2)
        ]
    assert text_of(answers[0]) == "answered 3"
    assert answers[1].is_error
    assert answer_of(answers[1])["code"] == "arguments_invalid"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_sampling_and_roots_reach_the_client(redis_url: str, eras: Eras, mode: str) -> None:
    """Both ways of an old server to ask, at once."""

    async def sampled(
        _context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult:
        assert params.max_tokens == 5
        return types.CreateMessageResult(role="assistant", content=types.TextContent(text="said"), model="m")

    async def rooted(_context: ClientRequestContext) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl("file:///here"))])

    async with before(
        eras["legacy"].upstream,
        redis_url,
        mode=mode,
        sampling_callback=sampled,
        list_roots_callback=rooted,
    ) as client:
        assert text_of(await client.call_tool("sample")) == "said at file:///here"


async def test_what_no_model_knows_survives(redis_url: str, eras: Eras) -> None:
    """Fields of results that this release has never heard of; and an error of a tool stays one."""
    async with before(eras["legacy"].upstream, redis_url, mode="legacy") as client:
        result = await client.call_tool("odd")
        custom = await client.session.send_request(
            types.Request[dict[str, Any], str](method="vendor/own", params={"x": 1}), _Anything
        )
    assert result.is_error
    assert result.meta == {"vendor/thing": [1, None, {"deep": True}]}
    assert custom.model_dump(exclude_none=True) == {"method": "vendor/own", "x": 1}


class _Anything(types.Result):
    model_config = ConfigDict(extra="allow")


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_an_answer_over_the_cap_is_an_error_of_its_call_alone(redis_url: str, eras: Eras, era: str) -> None:
    """As an event of a stream, and as a body of its own."""
    async with before(make_upstream(url=eras[era].upstream.url, max_message_bytes=100_000), redis_url) as client:
        large = await client.call_tool("big", {"points": 5_000})
        small = await client.call_tool("echo", {"small": True})
    assert large.is_error
    assert answer_of(large)["code"] == "payload_too_large"
    assert answer_of(small) == {"small": True}


async def test_an_unknown_tool_is_the_upstreams_affair(redis_url: str, eras: Eras) -> None:
    """Its own error comes back as it is."""
    async with before(eras["modern"].upstream, redis_url) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("nothing")
    assert caught.value.error.message == "no tool nothing"
