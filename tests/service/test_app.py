"""From settings to who may call: what is asked for, and what keeps a process from starting."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client import CollectorRegistry
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from spillcache.errors import ArgumentsInvalid
from spillcache.service.app import authenticator_of, edge_app
from spillcache.service.auth import Anybody, Bearer
from spillcache.service.listener import bound_socket
from spillcache.service.metrics_port import metrics_port
from spillcache.service.phase import Phase
from spillcache.service.probes import StoreSeen
from spillcache.service.tooling import LEAST_PAGE_BYTES, tool_options
from spillcache.tool.rendering import JSON_WIRE, RAW_WIRE, STRUCTURED_WIRE
from spillcache.tool.results import LEAST_BUDGET_BYTES
from spillcache.wire import Wire
from spillcache.wiring.settings import PREFIX, Settings, read_settings
from tests.servers.caches import cache_on

BEYOND = "0.0.0.0"  # noqa: S104 - nothing listens here


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the settings of the machine that runs the tests."""
    for name in Settings.model_fields:
        monkeypatch.delenv(f"{PREFIX}{name.upper()}", raising=False)


@pytest.mark.parametrize("options", [{}, {"host": "::1"}, {"host": BEYOND, "allow_no_auth": True}])
def test_without_credentials_only_this_machine_or_whoever_was_let_in_may_call(options: dict[str, Any]) -> None:
    """They all are the one tenant of the settings."""
    assert isinstance(authenticator_of(read_settings(**options)), Anybody)


def test_credentials_are_asked_for_wherever_it_listens(tmp_path: Path) -> None:
    """Tokens, web tokens or both."""
    file = tmp_path / "tokens.json"
    file.write_text('{"tokens": []}')
    for options in ({"tokens_file": file}, {"jwks_url": "https://issuer.example/jwks"}):
        for host in ("127.0.0.1", BEYOND):
            assert isinstance(authenticator_of(read_settings(host=host, **options)), Bearer)


@pytest.mark.parametrize(
    "options", [{"host": BEYOND}, {"tokens_file": Path("absent.json")}, {"jwks_url": "file:///keys"}]
)
def test_what_would_let_the_wrong_ones_in_does_not_start(options: dict[str, Any]) -> None:
    """A typed error, with the setting to correct."""
    with pytest.raises(ArgumentsInvalid) as caught:
        authenticator_of(read_settings(**options))
    assert caught.value.next_step


OURS = {"Host": "spills.example"}
PAGE = {"Origin": "http://evil.example"}


@pytest.mark.parametrize(
    ("options", "headers", "status"),
    [
        ({"allow_no_auth": True}, {"Host": "evil.example"}, 403),
        ({"allow_no_auth": True}, PAGE, 403),
        ({"allow_no_auth": True}, {"Origin": "http://localhost:3000"}, 200),
        ({"allow_no_auth": True, "host": BEYOND}, OURS, 200),
        ({"allow_no_auth": True, "host": BEYOND}, OURS | PAGE, 403),
        ({"allow_no_auth": True, "host": BEYOND}, OURS | {"Origin": "null"}, 403),
        ({"allow_no_auth": True, "host": BEYOND, "allowed_hosts": ["spills.example"]}, OURS, 200),
        ({"allow_no_auth": True, "host": BEYOND, "allowed_hosts": ["spills.example"]}, {"Host": "evil.example"}, 403),
        ({"jwks_url": "https://issuer.example/jwks", "jwt_audience": "us"}, OURS | PAGE, 401),
    ],
)
async def test_a_strange_page_gets_nowhere(options: dict[str, Any], headers: dict[str, str], status: int) -> None:
    """Also where credentials are not asked for because that was set; where they are, it has none to send."""

    async def face(scope: Scope, receive: Receive, send: Send) -> None:
        await Response("ok")(scope, receive, send)

    app = edge_app({"/app": face}, read_settings(**options), phase=Phase(), store=StoreSeen())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        answer = await client.get("/app", headers=headers)
    assert answer.status_code == status
    assert ("www-authenticate" in answer.headers) is (status == 401)
    assert status != 403 or answer.json()["code"] == "host_not_allowed"


@pytest.mark.parametrize("audience", [None, "spillcache"])
def test_web_tokens_for_any_audience_are_warned_of(audience: str | None, caplog: pytest.LogCaptureFixture) -> None:
    """At the start, in the log."""
    authenticator_of(read_settings(jwks_url="https://issuer.example/jwks", jwt_audience=audience))
    warned = ["jwt_audience_not_set"] if audience is None else []
    assert [record.message for record in caplog.records] == warned


def test_budgets_by_client_extend_the_table() -> None:
    """And the cap binds them."""
    settings = read_settings(client_budgets={"My-Agent": 20_000, "greedy": 900_000}, budget_bytes=5_000)
    limits = tool_options(settings).limits
    assert limits.budget_for(["my-agent"]) == 20_000
    assert limits.budget_for(["greedy"]) == settings.max_page_bytes


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"budget_bytes": 2_047}, "SPILLCACHE_BUDGET_BYTES (--budget)"),
        ({"max_page_bytes": 100}, "SPILLCACHE_MAX_PAGE_BYTES"),
        ({"client_budgets": {"my-agent": 5}}, "SPILLCACHE_CLIENT_BUDGETS of my-agent"),
    ],
)
def test_a_budget_that_no_answer_fits_keeps_it_from_starting(options: dict[str, Any], named: str) -> None:
    """The setting is named, and what it must be at least; a proxy needs more."""
    with pytest.raises(ArgumentsInvalid) as caught:
        tool_options(read_settings(**options))
    assert named in caught.value.message
    assert str(LEAST_PAGE_BYTES) in caught.value.next_step
    with pytest.raises(ArgumentsInvalid, match="BUDGET_BYTES"):
        tool_options(read_settings(budget_bytes=LEAST_BUDGET_BYTES - 1), least=LEAST_BUDGET_BYTES)


@pytest.mark.parametrize("wire", [JSON_WIRE, RAW_WIRE, STRUCTURED_WIRE], ids=["json", "raw", "structured"])
@pytest.mark.parametrize(
    "payload",
    [
        json.dumps({'n\u00e4me"\x01' * 200 + str(at): ["x" * 300] * 30 for at in range(200)}),
        json.dumps(["\x01" * 100_000]),
        'a"\\\n' * 20_000,
        bytes(range(256)) * 500,
    ],
    ids=["long names", "controls", "text", "bytes"],
)
async def test_every_answer_fits_the_least_budget_that_may_be_set(
    redis_url: str, payload: str | bytes, wire: Wire
) -> None:
    """Envelope, page, the page after it, and inventory, however much of them is written as escapes."""
    async with cache_on(redis_url, budget_bytes=LEAST_PAGE_BYTES) as cache:
        envelope = await cache.put(payload, tool="\x01" * 500)
        page = await cache.page(envelope.spill_id, wire=wire)
        assert page.next_cursor is not None
        await cache.page(envelope.spill_id, cursor=page.next_cursor, wire=wire)
        await cache.inventory(envelope.spill_id, wire=wire)


def test_a_port_that_is_taken_is_refused() -> None:
    """For pages as for metrics."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ArgumentsInvalid, match=str(port)):
            bound_socket("127.0.0.1", port)
        with pytest.raises(ArgumentsInvalid, match="metrics"), metrics_port(CollectorRegistry(), "127.0.0.1", port):
            raise AssertionError("it listens")


def test_metrics_may_have_no_port() -> None:
    """Where -1 is set."""
    with metrics_port(CollectorRegistry(), "127.0.0.1", -1) as port:
        assert port is None


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_it_listens_by_either_protocol(host: str) -> None:
    """A name, and addresses of both families."""
    with bound_socket(host, 0) as bound, socket.create_connection((host, bound.getsockname()[1]), timeout=10):
        pass
