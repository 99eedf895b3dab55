"""The playbook's prompt and spills as resources, beside what upstreams have, which stays theirs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from spillcache.ids import new_id
from spillcache.mcp.proxy.config import make_upstream
from spillcache.tool.definition import ToolOptions
from tests.mcp.proxy.conftest import Behind, Eras
from tests.mcp.proxy.fronts import ROOT, answer_of, before, program, settings
from tests.mcp.proxy.test_command import BYTES
from tests.mcp.proxy.test_namespaces import all_of
from tests.mcp.proxy.upstreams.sizes import metrics
from tests.servers.caches import cache_on

PROMPT = "read_truncated_result"
TEMPLATE = "spill://{id}"
SPILL = types.ResourceTemplateReference(uri=TEMPLATE)
NOBODYS = new_id(bytes(15))
modes = pytest.mark.parametrize("mode", ["legacy", "auto"])


@pytest.fixture
def namesake(tmp_path: Path) -> Callable[..., Behind]:
    """A server with a prompt and addresses like ours, less the methods that it is not to know."""
    trace = tmp_path / "trace"
    trace.touch()
    return lambda *without: Behind(program("namesake", *without, env={"TRACE": str(trace)}), trace)


async def prompt_of(client: Client, name: str, arguments: dict[str, str] | None = None) -> str:
    """The text of a prompt."""
    (message,) = (await client.get_prompt(name, arguments)).messages
    assert isinstance(message.content, types.TextContent)
    return message.content.text


async def read(client: Client, uri: str) -> str:
    """The text of a resource."""
    (contents,) = (await client.read_resource(uri)).contents
    assert isinstance(contents, types.TextResourceContents)
    return contents.text


async def subscribe(client: Client, uri: str) -> None:
    """Subscribe as the handshake era does."""
    request = types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))
    await client.session.send_request(request, types.EmptyResult)


async def named(client: Client) -> tuple[list[str], list[str]]:
    """All prompts and all templates."""
    prompts = [prompt.name for prompt in await all_of(client, "prompts")]
    return prompts, [template.uri_template for template in await all_of(client, "resource_templates")]


@modes
async def test_they_are_there_before_a_server_that_has_neither(redis_url: str, mode: str) -> None:
    """Capabilities say so; lists have ours alone, and no resource: nobody sees which spills there are."""
    options = ToolOptions(name="read_on")
    async with before(program("bytes"), redis_url, mode=mode, options=options) as client:
        told = client.server_capabilities
        spill_id = answer_of(await client.call_tool("line"))["spill_id"]
        prompts, templates = await named(client)
        resources = (await client.list_resources()).resources
        text = await prompt_of(client, PROMPT, {"spill_id": spill_id})
        page = await client.read_resource(f"spill://{spill_id}")
    assert told.prompts is not None
    assert told.resources is not None
    assert not told.prompts.list_changed
    assert not told.resources.list_changed
    assert not told.resources.subscribe
    assert (prompts, templates, resources) == ([PROMPT], [TEMPLATE], [])
    assert f'read_on with {{"spill_id": "{spill_id}"}}' in text
    (contents,) = page.contents
    assert isinstance(contents, types.TextResourceContents)
    answer = json.loads(contents.text)
    assert answer["status"] == "PARTIAL"
    assert answer["chunk"].startswith('{"results"')
    assert len(page.model_dump_json(by_alias=True, exclude_none=True).encode()) <= 7_500


@modes
async def test_they_stand_behind_those_of_several_servers(redis_url: str, eras: Eras, mode: str) -> None:
    """Once, whatever the eras; and one that is down takes them from nobody."""
    upstreams = {"old": eras["legacy"].upstream, "down": make_upstream(command="false"), "new": eras["modern"].upstream}
    async with before(upstreams, redis_url, mode=mode) as client:
        spill_id = answer_of(await client.call_tool("old_big", {"points": 2_000}))["spill_id"]
        prompts, templates = await named(client)
        page = json.loads(await read(client, f"spill://{spill_id}"))
        text = await prompt_of(client, PROMPT)
        suggested = (await client.complete(SPILL, {"name": "id", "value": ""})).completion.values
    assert prompts == ["old_greet", "new_greet", PROMPT]
    assert templates == ["old+note:///{day}", "new+note:///{day}", TEMPLATE]
    assert metrics(2_000).startswith(page["chunk"])
    assert "search_query_spill with only its spill_id" in text
    assert suggested == []


@modes
async def test_what_is_wrong_with_a_spill_is_said_as_a_server_of_our_own_says_it(
    redis_url: str, eras: Eras, mode: str
) -> None:
    """And not asked of a server that has no such addresses, which would answer anything."""
    async with before(eras["modern"].upstream, redis_url, mode=mode) as client:
        for uri, code in ((f"spill://{NOBODYS}", "spill_not_found"), ("spill://typo", "spill_id_malformed")):
            with pytest.raises(MCPError) as refused:
                await client.read_resource(uri)
            assert refused.value.code == types.INVALID_PARAMS
            assert (refused.value.data["status"], refused.value.data["code"]) == ("FAILED", code)
        assert (await client.complete(SPILL, {"name": "id", "value": ""})).completion.values == []
        prompt = types.PromptReference(name=PROMPT)
        assert (await client.complete(prompt, {"name": "spill_id", "value": ""})).completion.values == []


async def test_a_spill_is_not_subscribed_to_upstream(redis_url: str, eras: Eras) -> None:
    """It never changes, and nobody else hears its id; in either era a subscription to it is taken."""
    behind = eras["legacy"]
    async with before(behind.upstream, redis_url, mode="legacy") as client:
        await subscribe(client, f"spill://{NOBODYS}")
        await subscribe(client, "note:///own")
    wanted = [f"spill://{NOBODYS}", "note:///listened"]
    async with before(behind.upstream, redis_url) as client, client.listen(resource_subscriptions=wanted):
        await behind.tells("subscribed note:///listened")
    assert behind.told("subscribed note:///own") == 1
    assert behind.told(f"subscribed spill://{NOBODYS}") == 0


@modes
async def test_a_prompt_of_our_name_stays_the_servers(
    redis_url: str, namesake: Callable[..., Behind], mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Listed once though it stands on another page than ours would, given and completed by its server; the log says."""
    async with before(namesake().upstream, redis_url, mode=mode) as client:
        prompts, _ = await named(client)
        text = await prompt_of(client, PROMPT)
        completed = await client.complete(types.PromptReference(name=PROMPT), {"name": "x", "value": ""})
    assert prompts == [PROMPT, "truncated_result"]
    assert text == f"my {PROMPT}"
    assert completed.completion.values == ["mine"]
    assert "prompt_name_taken" in [record.message for record in caplog.records]


@pytest.mark.parametrize(
    ("namespace", "listed", "given"),
    [
        ("other", [f"other_{PROMPT}", "other_truncated_result", PROMPT], "A tool result"),
        ("read", [f"read_{PROMPT}", PROMPT], "my truncated_result"),
    ],
)
async def test_among_several_a_namespace_says_whose_the_prompt_is(
    redis_url: str, namesake: Callable[..., Behind], namespace: str, listed: list[str], given: str
) -> None:
    """Ours, unless a server's namespace is what our prompt's name begins with."""
    async with before({namespace: namesake().upstream}, redis_url) as client:
        prompts, templates = await named(client)
        text = await prompt_of(client, PROMPT)
    assert prompts == listed
    assert templates == [f"{namespace}+spill://{{sea}}/{{date}}", TEMPLATE]
    assert text.startswith(given)


async def test_addresses_like_ours_stay_the_servers(redis_url: str, namesake: Callable[..., Behind]) -> None:
    """What is a spill here is read here, and its server does not hear of it; all else is the server's affair."""
    behind = namesake()
    async with before(behind.upstream, redis_url, mode="legacy") as client, cache_on(redis_url) as store:
        spill_id = (await store.put(metrics(2_000).encode())).spill_id
        page = json.loads(await read(client, f"spill://{spill_id}"))
        oil = await read(client, "spill://north/today")
        unknown = await read(client, f"spill://{NOBODYS}")
        completed = await client.complete(SPILL, {"name": "id", "value": ""})
        await subscribe(client, "spill://north/today")
    assert metrics(2_000).startswith(page["chunk"])
    assert (oil, unknown) == ("my spill://north/today", f"my spill://{NOBODYS}")
    assert completed.completion.values == ["mine"]
    assert behind.told("resources/subscribe spill://north/today") == 1
    assert spill_id not in behind.trace.read_text()


async def test_resources_without_templates_have_ours(redis_url: str, namesake: Callable[..., Behind]) -> None:
    """A server need not know that list; any other that it announces and does not know is an error."""
    async with before(namesake("resources/templates/list", "prompts/list").upstream, redis_url) as client:
        templates = (await client.list_resource_templates()).resource_templates
        with pytest.raises(MCPError) as refused:
            await client.list_prompts()
        assert refused.value.code == types.METHOD_NOT_FOUND
    assert [template.uri_template for template in templates] == [TEMPLATE]


async def test_a_server_that_cannot_list_what_it_has_does_not_take_ours(
    redis_url: str, namesake: Callable[..., Behind]
) -> None:
    """A spill that is gone stays FAILED with its own words, and our prompt is given."""
    silent = namesake("resources/templates/list", "resources/list", "prompts/list").upstream
    async with before(silent, redis_url, mode="legacy") as client:
        with pytest.raises(MCPError) as refused:
            await client.read_resource(f"spill://{NOBODYS}")
        text = await prompt_of(client, PROMPT)
    assert (refused.value.data["status"], refused.value.data["code"]) == ("FAILED", "spill_not_found")
    assert text.startswith("A tool result")


async def test_a_proxy_before_a_proxy_lists_them_once(redis_url: str, ring: Path) -> None:
    """And reads what the one further in has stored elsewhere."""
    given = ("-m", "spillcache.cli", "proxy", "--env", "PYTHONPATH", "--", *BYTES)
    env = settings(redis_url, ring, SPILLCACHE_PREFIX="further")
    further = make_upstream(command=sys.executable, args=given, cwd=ROOT, env=env)
    async with before(further, redis_url) as client:
        prompts, templates = await named(client)
        envelope: dict[str, Any] = answer_of(await client.call_tool("line"))
        page = json.loads(await read(client, f"spill://{envelope['spill_id']}"))
    assert (prompts, templates) == ([PROMPT], [TEMPLATE])
    assert page["chunk"].startswith('{"results"')
