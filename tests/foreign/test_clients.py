"""The client libraries of the protocol's makers for JavaScript, in both eras, against `spillcache serve`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spillcache import defaults
from tests.foreign.node import CLIENTS, Server, drive
from tests.foreign.payloads import PAYLOADS, sha256
from tests.foreign.serving import Served
from tests.servers.caches import metrics
from tests.servers.requirements import requires

pytestmark = [requires("npm packages"), pytest.mark.usefixtures("redis_url")]

ERAS = {"legacy": "legacy", "auto": "modern", "modern": "modern"}
"""What is asked for → what comes of it."""

every_client = pytest.mark.parametrize("client", CLIENTS, ids="-".join)


def at(served: Served) -> Server:
    """How a client reaches a server."""
    return {"url": served.mcp}


def tool(arguments: dict[str, Any]) -> dict[str, Any]:
    """A call of the paging tool."""
    return {"name": defaults.TOOL_NAME, "arguments": arguments}


def said(result: dict[str, Any]) -> dict[str, Any]:
    """What a tool result's text says."""
    answer: dict[str, Any] = json.loads(result["content"][0]["text"])
    return answer


@every_client
async def test_every_client_reads_every_payload_byte_for_byte(served: Served, client: tuple[str, str]) -> None:
    """A walk as the tool's description tells it gives the stored bytes, whatever they are."""
    steps = [("walk", {"tool": defaults.TOOL_NAME, "spill_id": served.put(payload)}) for payload in PAYLOADS.values()]
    told = await drive(at(served), steps, client=client)
    assert told.era == ERAS[client[1]]
    assert [walk.get("sha256") for walk in told.answers] == [sha256(payload) for payload in PAYLOADS.values()]
    assert all(walk["pages"] > 1 and walk["last"]["status"] == "COMPLETE" for walk in told.answers)


@every_client
async def test_a_client_reads_one_result_and_smaller_pages(served: Served, client: tuple[str, str]) -> None:
    """`result` bounds a walk, `max_bytes` its pages, and the inventory says beforehand what there is."""
    spill_id = served.put(metrics(results=3))
    told = await drive(
        at(served),
        [
            ("callTool", tool({"spill_id": spill_id, "inventory": True})),
            ("walk", {"tool": defaults.TOOL_NAME, "spill_id": spill_id, "result": "query 1", "max_bytes": 3_000}),
        ],
        client=client,
    )
    listing, walk = told.answers
    entry = said(listing)["entries"][1]
    assert entry["name"] == "query 1"
    assert walk["bytes"] == entry["bytes"]
    assert walk["pages"] > entry["pages"]  # smaller ones
    assert walk["last"]["result_status"] == "COMPLETE"
    assert walk["last"]["status"] == "PARTIAL"


@every_client
async def test_errors_are_results_that_say_what_to_do(served: Served, client: tuple[str, str]) -> None:
    """An id that is none, one of nothing, and a changed cursor: isError, a code and the next step; no exception."""
    spill_id = served.put(metrics())
    first = await drive(at(served), [("callTool", tool({"spill_id": spill_id}))], client=client)
    cursor = said(first.answers[0])["next_cursor"]
    changed = cursor[:-4] + ("AAAA" if cursor[-4:] != "AAAA" else "BBBB")
    gone = served.put(metrics(results=2))
    served.delete(gone)
    told = await drive(
        at(served),
        [
            ("callTool", tool({"spill_id": "no-id"})),
            ("callTool", tool({"spill_id": gone})),
            ("callTool", tool({"spill_id": spill_id, "cursor": changed})),
        ],
        client=client,
    )
    assert [result["isError"] for result in told.answers] == [True, True, True]
    answers = [said(result) for result in told.answers]
    assert [answer["code"] for answer in answers] == ["spill_id_malformed", "spill_not_found", "cursor_rejected"]
    assert all(answer["status"] == "FAILED" and answer["next_step"] for answer in answers)


@every_client
async def test_a_client_reads_the_resource_and_the_prompt(served: Served, client: tuple[str, str]) -> None:
    """`spill://` and the id is page 1; the prompt is the playbook; nobody is shown what others have stored."""
    spill_id = served.put(metrics())
    told = await drive(
        at(served),
        [
            ("listResources", {}),
            ("listResourceTemplates", {}),
            ("readResource", {"uri": f"spill://{spill_id}"}),
            ("listPrompts", {}),
            ("getPrompt", {"name": "read_truncated_result", "arguments": {"spill_id": spill_id}}),
        ],
        client=client,
    )
    resources, templates, read, prompts, prompt = told.answers
    assert resources["resources"] == []
    assert [one["uriTemplate"] for one in templates["resourceTemplates"]] == ["spill://{id}"]
    assert json.loads(read["contents"][0]["text"])["position"].startswith("0-")
    assert [one["name"] for one in prompts["prompts"]] == ["read_truncated_result"]
    assert spill_id in prompt["messages"][0]["content"]["text"]


@every_client
async def test_a_strict_client_takes_pages_as_structured_content(
    served_structured: Served, client: tuple[str, str]
) -> None:
    """With the setting, page, inventory and error hold to the declared outputSchema, which these clients check."""
    spill_id = served_structured.put(PAYLOADS["log lines"])
    told = await drive(
        at(served_structured),
        [
            ("listTools", {}),  # from here on the client checks every result
            ("walk", {"tool": defaults.TOOL_NAME, "spill_id": spill_id}),
            ("callTool", tool({"spill_id": spill_id, "inventory": True})),
            ("callTool", tool({"spill_id": "no-id"})),
        ],
        client=client,
    )
    tools, walk, listing, failure = told.answers
    assert "outputSchema" in tools["tools"][0]
    assert walk["sha256"] == sha256(PAYLOADS["log lines"])
    assert listing["structuredContent"] == said(listing)
    assert failure["structuredContent"]["code"] == "spill_id_malformed"
