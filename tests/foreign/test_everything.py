"""The reference server "everything" behind the proxy: what does not need spilling is what it would be without us."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from spillcache import defaults
from spillcache.mcp.resources import TEMPLATE
from spillcache.tool.playbook import PROMPT_NAME
from tests.foreign.node import CLIENTS, Step, Told, drive
from tests.foreign.serving import serving
from tests.foreign.upstreams.commands import direct, everything, proxied
from tests.servers.requirements import requires

pytestmark = requires("npm packages")

DOCUMENT = "demo://resource/static/document/features.md"


def call(name: str, /, **arguments: Any) -> Step:
    """A call of an upstream's tool."""
    return ("callTool", {"name": name, "arguments": arguments})


ASKED: Sequence[Step] = (
    call("echo", message="hi"),
    call("get-annotated-message", messageType="error", includeImage=True),
    call("get-resource-links", count=3),
    call("get-resource-reference", resourceType="Text", resourceId=1),
    call("get-structured-content", location="New York"),
    call("get-sum", a=1, b=2),
    call("get-tiny-image"),
    call("gzip-file-as-resource", name="a.gz", data="data:text/plain,hello", outputType="resource"),
    call("gzip-file-as-resource", name="b.gz", data="data:text/plain,hello", outputType="resourceLink"),
    call("trigger-long-running-operation", duration=0.2, steps=4),
    call("get-sum", a="no number"),
    call("no-such-tool"),
    ("listResources", {}),
    ("listResourceTemplates", {}),
    ("readResource", {"uri": DOCUMENT}),
    ("readResource", {"uri": "demo://nothing"}),
    ("listPrompts", {}),
    ("getPrompt", {"name": "args-prompt", "arguments": {"city": "Paris"}}),
    ("getPrompt", {"name": "resource-prompt", "arguments": {"resourceType": "Text", "resourceId": "1"}}),
    ("getPrompt", {"name": "no-such-prompt"}),
    (
        "complete",
        {"ref": {"type": "ref/prompt", "name": "completable-prompt"}, "argument": {"name": "department", "value": "E"}},
    ),
)
"""What needs nothing of the client but to listen."""

ASKING: Sequence[Step] = (
    call("trigger-sampling-request", prompt="hello", maxTokens=10),
    call("trigger-elicitation-request"),
    call("trigger-url-elicitation", url="https://example.com"),
    call("get-roots-list"),
    ("setLoggingLevel", "debug"),
    call("toggle-simulated-logging"),
    ("until", {"method": "notifications/message"}),
    ("subscribeResource", {"uri": "demo://resource/dynamic/text/1"}),
    call("toggle-subscriber-updates"),
    ("until", {"method": "notifications/resources/updated"}),
    ("unsubscribeResource", {"uri": "demo://resource/dynamic/text/1"}),
    ("ping", {}),
)
"""What needs a client that can be asked and told things: the older protocol over stdio."""


def plain(answer: Any) -> Any:
    """An answer without what differs from one run to the next, or is the protocol's and says who answered."""
    text = json.dumps(answer, sort_keys=True)
    text = re.sub(r"\d+:\d\d:\d\d [AP]M|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "…", text)
    found = json.loads(text)
    for key in ("ttlMs", "cacheScope"):
        found.pop(key, None)
    found.get("_meta", {}).pop("io.modelcontextprotocol/serverInfo", None)
    if not found.get("_meta", True):
        del found["_meta"]
    return found


def assert_same(steps: Sequence[Step], mine: Told, theirs: Told) -> None:
    """Every answer through us is the upstream's own; a list of its prompts or templates ends with ours."""
    for step, ours, own in zip(steps, mine.answers, theirs.answers, strict=True):
        there = plain(ours)
        if step[0] in _OURS:
            field, key, name = _OURS[step[0]]
            assert there[field].pop()[key] == name, step
        assert there == plain(own), step


_OURS = {
    "listPrompts": ("prompts", "name", PROMPT_NAME),
    "listResourceTemplates": ("resourceTemplates", "uriTemplate", TEMPLATE["uriTemplate"]),
}


@pytest.mark.parametrize("client", CLIENTS[:2], ids="-".join)
async def test_all_of_it_passes_on_stdio(proxy_settings: dict[str, str], client: tuple[str, str]) -> None:
    """Tools, resources, prompts, completion, progress, logging, subscriptions, and what the server asks the client."""
    steps = (*ASKED, *ASKING)
    own = await drive(direct(everything()), steps, client=client)
    ours = await drive(proxied(everything(), proxy_settings), steps, client=client)
    assert_same(steps, ours, own)
    assert ours.capabilities == own.capabilities
    assert ours.of("progress")
    for method in ("sampling/createMessage", "elicitation/create", "roots/list"):
        assert len(ours.of(method)) >= 1, method
        assert plain(ours.of(method)[0]) == plain(own.of(method)[0])


@pytest.mark.parametrize("client", CLIENTS[2:], ids="-".join)
async def test_a_newer_client_sees_an_older_server_through_us(
    proxy_settings: dict[str, str], client: tuple[str, str]
) -> None:
    """A server of the older protocol answers a client of the newer one, and what it asks reaches that client."""
    steps = (*ASKED, *ASKING[:4])
    own = await drive(direct(everything()), steps, client=CLIENTS[1])
    ours = await drive(proxied(everything(), proxy_settings), steps, client=client)
    assert (own.era, ours.era) == ("legacy", "modern")
    assert_same(steps, ours, own)
    assert ours.of("progress")


@pytest.mark.parametrize("client", CLIENTS, ids="-".join)
async def test_it_passes_over_http(proxy_settings: dict[str, str], tmp_path: Path, client: tuple[str, str]) -> None:
    """The same through a front that any number of clients share."""
    own = await drive(direct(everything()), ASKED, client=CLIENTS[0 if client[0] == "sdk" else 1], capable=False)
    with serving(["proxy", "--http", "--", *everything()], proxy_settings, tmp_path) as proxy:
        ours = await drive({"url": proxy.mcp}, ASKED, client=client)
    assert_same(ASKED, ours, own)
    assert ours.of("progress")


async def test_tools_are_listed_as_they_are_but_for_their_output(proxy_settings: dict[str, str]) -> None:
    """Names, order, schemas and annotations are the upstream's; ours is added; an outputSchema admits our envelope."""
    listing: list[Step] = [("listTools", {})]
    own = _tools(await drive(direct(everything()), listing, capable=False))
    ours = _tools(await drive(proxied(everything(), proxy_settings), listing, capable=False))
    assert list(ours) == [*own, defaults.TOOL_NAME]
    declared = [name for name, entry in own.items() if "outputSchema" in entry]
    assert declared == ["get-structured-content"]
    for name, entry in own.items():
        assert _without_output(ours[name]) == _without_output(entry)
    widened = ours[declared[0]]["outputSchema"]
    assert widened["anyOf"][0]["properties"] == own[declared[0]]["outputSchema"]["properties"]


async def test_a_call_can_be_called_off(proxy_settings: dict[str, str]) -> None:
    """A cancelled call ends for the client at once, and the proxy goes on."""
    abandoned = ("abandon", {"name": "trigger-long-running-operation", "arguments": {"duration": 30, "steps": 300}})
    told = await drive(proxied(everything(), proxy_settings), [abandoned, call("echo", message="still here")])
    assert "no longer wanted" in told.answers[0]["error"]["message"]
    assert told.answers[1]["content"][0]["text"] == "Echo: still here"


def _tools(told: Told) -> dict[str, Mapping[str, Any]]:
    return {entry["name"]: entry for entry in told.answers[0]["tools"]}


def _without_output(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "outputSchema"}
