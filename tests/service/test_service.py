"""A serving process, from outside: both faces behind one edge, and what its operators see."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from spillcache.service.tokens import TokenEntry, digest_of, format_tokens
from spillcache.watch import spill_mark
from tests.conftest import OwnServer
from tests.servers.caches import metrics
from tests.servers.providers import Provided
from tests.servers.waiting import until
from tests.service.conftest import Serve
from tests.service.process import InThread, Service, serving

TOOL = "search_query_spill"


@pytest.fixture(scope="module")
def tokens(directory: Path) -> dict[str, str]:
    """A token for each of three tenants, in a file."""
    made = {tenant: f"sct_{secrets.token_urlsafe(32)}" for tenant in ("a", "b", "c")}
    _write(directory, made)
    return made


def _write(directory: Path, tokens: dict[str, str]) -> None:
    entries = tuple(TokenEntry(digest_of(token), tenant, tenant) for tenant, token in tokens.items())
    (directory / "tokens.json").write_text(format_tokens(entries))


@pytest.fixture(scope="module")
def running(server: Provided, directory: Path, tokens: dict[str, str]) -> Iterator[Service]:
    """A process that asks for them, for all tests of this module."""
    with serving(server.url, directory, TOKENS_FILE=str(directory / "tokens.json")) as service:
        yield service


@pytest.fixture
def guarded(running: Service, redis_url: str) -> Service:
    """That process; its Redis is empty."""
    return running


@asynccontextmanager
async def agent_of(service: Service, token: str = "") -> AsyncIterator[Client]:
    """An MCP client with a token."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as web,
        Client(streamable_http_client(service.mcp_url, http_client=web)) as client,
    ):
        yield client


def worker_of(service: Service, token: str = "") -> httpx.Client:
    """A REST client with a token."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.Client(base_url=service.url + "/v1", headers=headers, timeout=30)


async def _read(agent: Client, **arguments: Any) -> dict[str, Any]:
    result = await agent.call_tool(TOOL, arguments)
    answer: dict[str, Any] = json.loads(result.content[0].text)  # type: ignore[union-attr]
    return answer


async def test_what_a_worker_stores_an_agent_walks(
    guarded: Service, tokens: dict[str, str], serve: Serve, redis_url: str, directory: Path
) -> None:
    """One replica takes it in over REST, it and another serve pages over MCP by turns; they add up to the payload."""
    payload = metrics()
    another = serve(redis_url, TOKENS_FILE=str(directory / "tokens.json"))
    with worker_of(guarded, tokens["a"]) as worker:
        spill_id = worker.post("/spills", content=payload, params={"tool": "batch"}).json()["spill_id"]
    chunks: list[str] = []
    async with agent_of(guarded, tokens["a"]) as first, agent_of(another, tokens["a"]) as second:
        page = await _read(first, spill_id=spill_id)
        while True:
            chunks.append(page["chunk"])
            if "next_cursor" not in page:
                break
            agent = (first, second)[len(chunks) % 2]
            page = await _read(agent, spill_id=spill_id, cursor=page["next_cursor"])
    assert page["status"] == "COMPLETE"
    assert "".join(chunks).encode() == payload


async def test_credentials_count_alike_on_both_faces(guarded: Service, tokens: dict[str, str]) -> None:
    """None, and wrong ones: 401 with a problem, on `/mcp` as on `/v1`."""
    ping = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Bearer {tokens['a']}x"}):
        async with httpx.AsyncClient(headers=headers) as client:
            mcp = await client.post(guarded.mcp_url, json=ping)
            rest = await client.get(f"{guarded.url}/v1/spills/{'a' * 26}")
        for answer in (mcp, rest):
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert answer.json()["code"] == "unauthorized"


async def test_another_tenants_spill_is_as_one_that_is_not_there(guarded: Service, tokens: dict[str, str]) -> None:
    """Byte for byte on both faces, but for the request's id; its owner reads it."""
    with worker_of(guarded, tokens["a"]) as owner, worker_of(guarded, tokens["b"]) as stranger:
        spill_id = owner.post("/spills", content=metrics()).json()["spill_id"]
        never = stranger.post("/spills", content=metrics()).json()["spill_id"]
        assert stranger.delete(f"/spills/{never}").is_success
        assert owner.get(f"/spills/{spill_id}/pages").is_success
        same_id = {"X-Request-Id": "same"}
        for path in ("", "/pages", "/inventory", "/content"):
            theirs, nobodys = [stranger.get(f"/spills/{one}{path}", headers=same_id) for one in (spill_id, never)]
            assert (
                (theirs.status_code, theirs.content) == (nobodys.status_code, nobodys.content) == (404, theirs.content)
            )
        theirs, nobodys = [stranger.delete(f"/spills/{one}", headers=same_id) for one in (spill_id, never)]
        assert (theirs.status_code, theirs.content) == (nobodys.status_code, nobodys.content)
        cursor = owner.get(f"/spills/{spill_id}/pages").json()["next_cursor"]
        assert stranger.get(f"/spills/{spill_id}/pages", params={"cursor": cursor}).json()["code"] == "cursor_rejected"
    async with agent_of(guarded, tokens["b"]) as agent:
        theirs_, nobodys_ = [await agent.call_tool(TOOL, {"spill_id": one}) for one in (spill_id, never)]
        assert (theirs_.is_error, theirs_.content) == (True, nobodys_.content)
    async with agent_of(guarded, tokens["a"]) as agent:
        assert (await _read(agent, spill_id=spill_id))["status"] == "PARTIAL"


def test_a_revoked_token_is_refused_without_a_restart(
    guarded: Service, tokens: dict[str, str], directory: Path
) -> None:
    """The process follows the file."""
    with worker_of(guarded, tokens["c"]) as worker:
        assert worker.post("/spills", content=metrics()).is_success
        _write(directory, {tenant: token for tenant, token in tokens.items() if tenant != "c"})
        until(lambda: worker.get(f"/spills/{'a' * 26}").status_code == 401, "the token is refused")
    with worker_of(guarded, tokens["a"]) as worker:
        assert worker.post("/spills", content=metrics()).is_success


async def test_the_log_says_what_an_agent_was_given_and_betrays_nothing(
    guarded: Service, tokens: dict[str, str]
) -> None:
    """Every line is JSON with its request's id; no id, cursor, token or payload is in any, nor in the metrics."""
    secret_word = secrets.token_hex(16)
    payload = json.dumps({"results": [{"name": "r", "values": [secret_word] * 1_000}]}).encode()
    seen: list[str] = [secret_word, *tokens.values()]
    before = guarded.metric("spillcache_pages_total", status="PARTIAL")
    with worker_of(guarded, tokens["a"]) as worker:
        spill_id = worker.post("/spills", content=payload, params={"tool": "logged"}).json()["spill_id"]
        seen.append(spill_id)
    async with agent_of(guarded, tokens["a"]) as agent:
        page = await _read(agent, spill_id=spill_id)
        while "next_cursor" in page:
            seen.append(page["next_cursor"])
            page = await _read(agent, spill_id=spill_id, cursor=page["next_cursor"])
        seen.append(page["receipt"])
        for bad in ({"spill_id": spill_id, "cursor": seen[-2] + "x"}, {"spill_id": spill_id + "x"}, {"spill_id": ""}):
            assert (await _read(agent, **bad))["status"] == "FAILED"
    mark = spill_mark(spill_id)

    def told_of_it(event: str) -> list[dict[str, Any]]:
        return [line for line in guarded.events(event) if line["spill"] == mark]

    until(lambda: bool(told_of_it("walk_completed")), "the walk's end is logged")
    (written,) = told_of_it("spill_written")
    assert (written["tool"], written["size"]) == ("logged", len(payload))
    served = told_of_it("page_served")
    assert [line["from"] for line in served] == [0, *(line["to"] for line in served[:-1])]
    assert (served[-1]["to"], served[-1]["status"]) == (len(payload), "COMPLETE")
    assert {line["tool"] for line in served} == {"logged"}
    assert {line["code"] for line in guarded.events("error")} >= {"spill_id_malformed", "arguments_invalid"}
    told = [json.loads(line) for line in guarded.lines]
    acts = ("spill_written", "page_served", "walk_completed", "error")
    assert all(line.get("request_id") for line in told if line["event"] in acts)
    exposed = "".join(guarded.lines) + guarded.metrics_page()
    assert not [word for word in seen if word in exposed]
    counted = guarded.metrics()
    assert counted["spillcache_walks_begun_total", (("of", "payload"), ("tool", "logged"))] == 1
    assert counted["spillcache_walks_completed_total", (("of", "payload"), ("tool", "logged"))] == 1
    assert counted["spillcache_pages_total", (("status", "PARTIAL"),)] - before == len(served) - 1


def test_without_redis_it_serves_typed_errors_and_stays_ready(serve: Serve, own_server: OwnServer) -> None:
    """Nothing restarts and readiness holds; errors are counted; when Redis is back, so is the service."""
    redis = own_server()
    service = serve(redis.url, DEADLINE_S="0.5,0.5")
    with worker_of(service) as worker:
        spill_id = worker.post("/spills", content=metrics()).json()["spill_id"]
        redis.kill()
        failed = [worker.get(f"/spills/{spill_id}/pages") for _ in range(5)]
        assert {answer.json()["code"] for answer in failed} == {"store_unavailable"}
        assert {answer.status_code for answer in failed} == {503}
        assert worker.post("/spills", content=metrics()).json()["code"] == "store_unavailable"
        ready = httpx.get(service.url + "/readyz")
        assert (ready.status_code, ready.json()["store"]["state"]) == (200, "store_unavailable")
        assert httpx.get(service.url + "/healthz").status_code == 200
        assert service.metric("spillcache_errors_total", verb="page", code="store_unavailable") == 5
        redis.restart()
        until(lambda: worker.post("/spills", content=metrics()).is_success, "it stores again")
        gone = worker.get(f"/spills/{spill_id}/pages").json()
        assert gone["code"] == "spill_not_found"
        assert "not empty data" in gone["next_step"]
    assert service.running
    assert httpx.get(service.url + "/readyz").json()["store"]["state"] == "ok"


def test_it_starts_without_redis(serve: Serve) -> None:
    """A replica that waited for Redis would not be there to say that it is down."""
    service = serve("redis://127.0.0.1:1", METRICS_PORT="-1")
    assert httpx.get(service.url + "/readyz").status_code == 200


def test_no_event_stream_is_opened_that_could_hold_a_drain_open(guarded: Service, tokens: dict[str, str]) -> None:
    """Clients of the older protocol ask for one by GET for as long as they live, and do without if it is refused."""
    headers = {"Accept": "text/event-stream", "Authorization": f"Bearer {tokens['a']}"}
    answer = httpx.get(guarded.mcp_url, headers=headers, timeout=30)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


def test_probes_answer_while_a_large_upload_is_scanned(guarded: Service, tokens: dict[str, str]) -> None:
    """25 MB of JSON come in; meanwhile each probe is answered, many of them before the upload is done."""
    result = metrics(results=1, points=40_000)
    payload = b"[" + b",".join([result] * (25_000_000 // len(result) + 1)) + b"]"
    answered = 0
    with httpx.Client() as probe, worker_of(guarded, tokens["a"]) as worker:
        upload = InThread(lambda: worker.post("/spills", content=payload, timeout=60))
        while upload.running:
            assert probe.get(guarded.url + "/healthz", timeout=5).status_code == 200
            answered += 1
    assert upload.result.status_code == 201
    assert answered > 10
