"""The edge: who calls, what a request is called, and what strangers' pages may not do."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import httpx
import orjson
import pytest
import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from spillcache.caller import caller_of
from spillcache.errors import SpillError, StoreUnavailable
from spillcache.service.auth import Anybody, Authenticator, Bearer, Identity
from spillcache.service.edge import Edge
from spillcache.service.hosts import Hosts
from spillcache.service.phase import Phase
from spillcache.service.probes import Probes, StoreSeen
from spillcache.service.routes import Routes
from spillcache.watch import Watcher

TOKEN = "opens"  # noqa: S105 - a stand-in


async def whoami(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the caller, and with what the log would be told."""
    caller = caller_of(scope)
    said = {name: getattr(caller, name) for name in ("tenant", "request_id", "client", "subject")}
    bound = structlog.contextvars.get_contextvars()
    body = orjson.dumps(
        {**said, "bound": bound, "root": scope["root_path"], "body": len(await Request(scope, receive).body())}
    )
    await Response(body, media_type="application/json")(scope, receive, send)


class OneToken:
    """Knows one token, of tenant "t"."""

    async def find(self, token: str) -> Identity | None:
        """See `TokenSource`."""
        return Identity("t", "s") if token == TOKEN else None


class Heard(Watcher):
    """Remembers what the edge refused."""

    def __init__(self) -> None:
        self.codes: list[tuple[str, str]] = []

    def failed(self, where: str, error: SpillError) -> None:
        """Remember it."""
        self.codes.append((where, error.code))


def client_of(
    app: ASGIApp = whoami,
    authenticator: Authenticator | None = None,
    *,
    hosts: Hosts | None = None,
    phase: Phase | None = None,
    store: StoreSeen | None = None,
    watcher: Watcher | None = None,
) -> httpx.AsyncClient:
    """A client of an app behind an edge."""
    phase = phase or Phase()
    edge = Edge(
        Routes({"/app": app}),
        authenticator=authenticator or Anybody("default"),
        phase=phase,
        probes=Probes(phase, store or StoreSeen()),
        hosts=hosts,
        watcher=watcher or Watcher(),
    )
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(edge, raise_app_exceptions=False), base_url="http://localhost"
    )


async def test_a_request_gets_an_id_that_its_answer_and_its_log_lines_bear() -> None:
    """Every one another."""
    async with client_of() as client:
        first, second = await client.get("/app/x"), await client.get("/app/x")
    ids = {first.headers["x-request-id"], second.headers["x-request-id"]}
    assert len(ids) == 2
    assert first.json()["request_id"] == first.json()["bound"]["request_id"] == first.headers["x-request-id"]


@pytest.mark.parametrize(
    ("given", "kept"),
    [("a-b_c.1:2", True), ("x" * 64, True), ("x" * 65, False), ("", False), ("two words", False), ('"}', False)],
)
async def test_a_request_id_of_the_callers_own_is_kept_when_it_may_stand_in_a_log(given: str, kept: bool) -> None:
    """Else it is replaced, not repaired."""
    async with client_of() as client:
        answer = await client.get("/app", headers={"X-Request-Id": given})
    assert (answer.headers["x-request-id"] == given) is kept
    assert answer.json()["request_id"] == answer.headers["x-request-id"]


async def test_the_trace_of_a_request_is_in_its_log_lines_and_in_no_other_s() -> None:
    """From `traceparent`; one that is malformed counts as none."""
    trace = "0af7651916cd43dd8448eb211c80319c"
    async with client_of() as client:
        traced = await client.get("/app", headers={"traceparent": f"00-{trace}-b7ad6b7169203331-01"})
        others = [await client.get("/app"), await client.get("/app", headers={"traceparent": f"00-{trace}"})]
    assert traced.json()["bound"]["trace_id"] == trace
    assert all("trace_id" not in other.json()["bound"] for other in others)


async def test_credentials_make_the_caller() -> None:
    """The scheme in any case, as HTTP has it."""
    async with client_of(authenticator=Bearer(OneToken())) as client:
        for scheme in ("Bearer", "bearer", "BEARER"):
            answer = (await client.get("/app", headers={"Authorization": f"{scheme} {TOKEN}"})).json()
            assert (answer["tenant"], answer["subject"]) == ("t", "s")


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("Authorization", "Bearer wrong")],
        [("Authorization", "Bearer")],
        [("Authorization", f"Basic {TOKEN}")],
        [("Authorization", f"Bearer {TOKEN} {TOKEN}")],
        [("Authorization", f"Bearer {TOKEN}"), ("Authorization", "Bearer wrong")],
        [("Authorization", f"Bearer {'x' * 20_000}")],
        [("Authorization", "Bearer \xff")],
    ],
)
async def test_without_good_credentials_there_is_one_answer(headers: list[tuple[str, str]]) -> None:
    """401 with how to authenticate, code and next step; the watcher hears of it, nobody hears the credential."""
    heard = Heard()
    async with client_of(authenticator=Bearer(OneToken()), watcher=heard) as client:
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
        answer = await client.get("/app", headers=raw)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "unauthorized"
    assert answer.json()["next_step"]
    assert answer.json()["request_id"] == answer.headers["x-request-id"]
    assert heard.codes == [("edge", "unauthorized")]


@pytest.mark.parametrize(
    ("headers", "query", "client"),
    [
        ({"X-Spillcache-Client": "claude-code"}, "", "claude-code"),
        ({}, "client=claude-code", "claude-code"),
        ({"X-Spillcache-Client": "a"}, "client=b", "a"),
        ({}, "client=two%20words", "two words"),
        ({}, "client=%00", ""),
        ({}, "x=1", ""),
        ({}, "&".join(["client=a", *("x" * 200)]), "a"),
        ({}, "x&" * 200 + "myclient=b&client=a&client=b", "a"),
        ({}, "client=%ff%zz", ""),
        ({"X-Spillcache-Client": "x" * 65}, "", ""),
    ],
)
async def test_a_platform_may_say_which_client_it_is(headers: dict[str, str], query: str, client: str) -> None:
    """In a header, or once for all in the address."""
    async with client_of() as caller:
        answer = await caller.get(f"/app?{query}", headers=headers)
    assert answer.json()["client"] == client


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("localhost", None, 200),
        ("127.0.0.1:8321", None, 200),
        ("[::1]:8321", None, 200),
        ("spills.example", None, 200),
        ("spills.example:80", None, 403),
        ("a.inside:1", None, 200),
        ("evil.example", None, 403),
        ("localhost.evil.example", None, 403),
        ("", None, 403),
        ("localhost", "http://localhost:3000", 200),
        ("localhost", "https://spills.example", 200),
        ("localhost", "http://evil.example", 403),
        ("localhost", "null", 403),
        ("localhost", "http://localhost@evil.example", 403),
        ("localhost", "http://evil@localhost", 403),
        ("localhost", "http://[::1", 403),
        ("localhost", "http://[::1]:80", 200),
        ("localhost", "http://localhost/path", 403),
        ("localhost", "http://localhost, http://evil.example", 403),
        ("localhost:x", None, 403),
        ("localhost:80:80", None, 403),
        ("localhost:80,evil.example:80", None, 403),
        ("evil.example#.inside:1", None, 403),
        ("localhost:", None, 403),
    ],
)
async def test_pages_of_other_names_do_not_get_in(host: str, origin: str | None, status: int) -> None:
    """DNS rebinding and pages of other sites: Host must be one of ours, and so must Origin, if there is one."""
    headers = {"Host": host} | ({"Origin": origin} if origin is not None else {})
    async with client_of(hosts=Hosts(["spills.example", "*.inside:*"])) as client:
        answer = await client.get("/app", headers=headers)
    assert answer.status_code == status
    assert (host or "absent") not in answer.text or status == 200


async def test_two_hosts_are_none() -> None:
    """Whoever is in front may have gone by the other; also where every name is served."""
    async with client_of() as client:
        answer = await client.get("/app", headers=[("Host", "localhost"), ("Host", "localhost")])
    assert (answer.status_code, answer.json()["code"]) == (400, "arguments_invalid")


@pytest.mark.parametrize(
    ("method", "path", "said"), [("POST", "/v1/spills", "failed"), ("GET", "/v1/spills", None), ("POST", "/app", None)]
)
async def test_a_write_that_does_not_get_in_says_that_it_failed(method: str, path: str, said: str | None) -> None:
    """Whoever hands the answer on hands on that."""
    async with client_of(hosts=Hosts(["spills.example"])) as client:
        answer = await client.request(method, path, headers={"Host": "evil.example"})
    assert (answer.status_code, answer.json().get("completeness")) == (403, said)


@pytest.mark.parametrize(("host", "status"), [("any.example", 200), ("[::2]:1", 200), ("any.example:x", 403)])
async def test_a_star_alone_is_every_name(host: str, status: int) -> None:
    """At every port; but a name it must be."""
    async with client_of(hosts=Hosts(["*"])) as client:
        assert (await client.get("/app", headers={"Host": host})).status_code == status


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_probes_are_asked_not_told(path: str) -> None:
    """GET and HEAD."""
    async with client_of() as client:
        posted = await client.post(path)
        assert (await client.head(path)).status_code == 200
    assert (posted.status_code, posted.headers["allow"], posted.json()["code"]) == (
        405,
        "GET, HEAD",
        "arguments_invalid",
    )


async def test_probes_need_neither_credentials_nor_a_name() -> None:
    """An orchestrator asks by address."""
    async with client_of(authenticator=Bearer(OneToken()), hosts=Hosts()) as client:
        answers = [await client.get(path, headers={"Host": "10.0.0.7:8321"}) for path in ("/healthz", "/readyz")]
    assert [answer.json()["status"] for answer in answers] == ["alive", "ready"]


async def test_readiness_does_not_hang_on_the_store() -> None:
    """It says how the store was when last used, and is ready all the same."""
    store = StoreSeen(monotonic=lambda: 7.0)
    async with client_of(store=store) as client:
        assert (await client.get("/readyz")).json()["store"] == {"state": "unknown"}
        with pytest.raises(StoreUnavailable), store.act("page"):
            raise StoreUnavailable("down")
        down = await client.get("/readyz")
        with store.act("page"):
            pass
        up = await client.get("/readyz")
    assert (down.status_code, down.json()["store"]) == (200, {"state": "store_unavailable", "seen_s_ago": 0.0})
    assert (up.status_code, up.json()["store"]["state"]) == (200, "ok")


async def test_draining_is_told_on_every_answer() -> None:
    """`/readyz` is 503, others are as ever; each asks for its connection to be closed."""
    phase = Phase(draining=True)
    async with client_of(phase=phase) as client:
        ready, alive, page = [await client.get(path) for path in ("/readyz", "/healthz", "/app")]
    assert [answer.status_code for answer in (ready, alive, page)] == [503, 200, 200]
    assert {answer.headers["connection"] for answer in (ready, alive, page)} == {"close"}


async def test_apps_see_where_they_are_mounted() -> None:
    """And what is nowhere is a problem that names the places."""
    async with client_of() as client:
        assert (await client.get("/app/deep")).json()["root"] == "/app"
        nowhere = await client.get("/apple")
    assert (nowhere.status_code, nowhere.headers["content-type"]) == (404, "application/problem+json")
    assert "/app" in nowhere.json()["next_step"]


def _breaking(begun: bool) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ValueError("a payload's words")

    return app


async def test_a_bug_is_answered_as_one_and_logged_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    """A problem with status 500; the log has the exception's type and where it was raised, not its text."""
    caplog.set_level(logging.INFO, logger="spillcache")
    heard = Heard()
    async with client_of(_breaking(begun=False), watcher=heard) as client:
        answer = await client.get("/app")
    assert heard.codes == [("edge", "spill_error")]
    assert (answer.status_code, answer.json()["code"]) == (500, "spill_error")
    (record,) = [record for record in caplog.records if record.message == "unforeseen"]
    said: dict[str, Any] = record.__dict__
    assert said["type"] == "ValueError"
    assert said["raised"]
    assert "payload's words" not in answer.text + str(said)


async def test_a_bug_in_finding_out_who_calls_is_one_too() -> None:
    """Not the server's own answer, which says nothing."""

    class Broken:
        async def identify(self, authorization: bytes | None) -> Identity:
            raise ValueError("a token's words")

    async with client_of(authenticator=Broken()) as client:
        answer = await client.get("/app")
    assert (answer.status_code, answer.json()["code"]) == (500, "spill_error")
    assert "token's words" not in answer.text


async def test_a_bug_after_the_answer_has_begun_is_raised() -> None:
    """The server then breaks the connection, so that nobody takes what came for the whole."""
    edge: Callable[..., Any] = Edge(
        Routes({"/app": _breaking(begun=True)}),
        authenticator=Anybody("default"),
        phase=Phase(),
        probes=Probes(Phase(), StoreSeen()),
    )
    async with httpx.AsyncClient(transport=httpx.ASGITransport(edge), base_url="http://localhost") as client:
        with pytest.raises(ValueError, match="payload"):
            await client.get("/app")
