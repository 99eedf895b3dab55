"""`spillcache proxy` as a process: on standard input, and over HTTP."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from click.testing import CliRunner
from mcp.shared.exceptions import MCPError

from spillcache.cli.root import spillcache
from spillcache.mcp.proxy.config import make_upstream
from tests.mcp.proxy.conftest import Eras
from tests.mcp.proxy.fronts import (
    ROOT,
    answer_of,
    before,
    command,
    free_port,
    http_proxy,
    settings,
    stdio_proxy,
    text_of,
    walked,
    web_client,
    web_program,
)
from tests.mcp.proxy.test_child import alive
from tests.mcp.proxy.upstreams.sizes import metrics
from tests.servers.waiting import until

BYTES = [sys.executable, "-m", "tests.mcp.proxy.upstreams.bytes"]
GREETING = b"".join(
    json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
    for message in (
        {
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
        },
        {"method": "notifications/initialized"},
    )
)
EVERYTHING = [sys.executable, "-m", "tests.mcp.proxy.upstreams.everything"]


async def test_a_command_is_served_on_standard_input(redis_url: str, ring: Path) -> None:
    """Its tools, the paging tool, and a large result walked to its end."""
    given = ("--env", "PYTHONPATH", "--budget-for", "echo=9000", "--exclude", "where", "--", *EVERYTHING)
    async with stdio_proxy(redis_url, ring, *given) as client:
        envelope = answer_of(await client.call_tool("big", {"points": 5_000}))
        assert await walked(client, envelope["spill_id"]) == metrics(5_000)
        assert "SPILLCACHE_REDIS_URL" not in answer_of(await client.call_tool("where"))["environment"]


def test_every_call_on_standard_input_ends_and_is_told_apart_in_the_log(redis_url: str, ring: Path) -> None:
    """One whose server dies, one with a number that JSON cannot carry; and each has a request id of its own."""
    env = {**os.environ, **settings(redis_url, ring)}
    calls = [("a", "heir", b"{}"), ("b", "fine", b'{"n":NaN}'), ("c", "line", b"{}"), ("d", "line", b'{"n":1e400}')]
    calls += [("e", "line", b"{}")]
    with subprocess.Popen(
        command("--env", "PYTHONPATH", "--", *BYTES),
        cwd=ROOT,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(GREETING)
        told = {}
        for name, tool, arguments in calls:
            head = json.dumps({"jsonrpc": "2.0", "id": name, "method": "tools/call"}).encode()[:-1]
            params = b', "params": {"name": "' + tool.encode() + b'", "arguments": ' + arguments + b"}}\n"
            process.stdin.write(head + params)
            process.stdin.flush()
            messages = (json.loads(line) for line in process.stdout)
            answer = next(message for message in messages if message.get("id") == name)  # after notifications
            told[name] = json.loads(answer["result"]["content"][0]["text"])
        _, logged = process.communicate()
    assert told["a"]["code"] == "upstream_unavailable"
    assert told["b"]["code"] == told["d"]["code"] == "arguments_invalid"
    assert told["c"]["completeness"] == told["e"]["completeness"] == "truncated"
    lines = [json.loads(line) for line in logged.splitlines() if line.startswith(b"{")]
    written = [line["request_id"] for line in lines if line["event"] == "spill_written"]
    assert [request_id.rpartition("-")[2] for request_id in written] == ["c", "e"]
    assert len({request_id.rpartition("-")[0] for request_id in written}) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_child_outlives_the_command(redis_url: str, ring: Path, number: signal.Signals) -> None:
    """Whatever ends it."""
    env = {**os.environ, **settings(redis_url, ring)}
    given = command("--env", "PYTHONPATH", "--", *BYTES)
    with subprocess.Popen(given, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "pid", "arguments": {}}}
        process.stdin.write(GREETING + json.dumps(call).encode() + b"\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        child = int(answers[1]["result"]["content"][0]["text"])
        assert alive(child)
        process.send_signal(number)
        code = process.wait(10)
    assert code == (-number if number == signal.SIGKILL else 128 + number)
    until(lambda: not alive(child), "the child is gone")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "Give one of"),
        (["--upstream", "http://127.0.0.1:1", "--", "x"], "Give one of"),
        (["--config", "none.toml"], "none.toml"),
        (["--upstream", "ftp://x"], "url"),
        (["--budget-for", "x", "--", "y"], "TOOL=BYTES"),
        (["--env", "A", "--upstream", "http://127.0.0.1:1"], "inherit_env cannot be used with url"),
        (["--forward-authorization", "--upstream", "http://127.0.0.1:1"], "no Authorization to forward"),
    ],
)
def test_what_cannot_be_served_is_said_at_the_start(given: list[str], said: str) -> None:
    """On standard error, with an exit code that is not 0."""
    ran = CliRunner().invoke(spillcache, ["proxy", *given])
    assert ran.exit_code in (1, 2)
    assert said in " ".join(ran.stderr.split())
    assert ran.stdout == ""


def test_over_http_a_tool_of_our_name_keeps_it_from_starting(redis_url: str, ring: Path) -> None:
    """The error names the setting."""
    given = command("--http", "--port", "0", "--tool-name", "fine", "--env", "PYTHONPATH", "--", *BYTES)
    env = {**os.environ, **settings(redis_url, ring)}
    ran = subprocess.run(given, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "SPILLCACHE_TOOL_NAME" in ran.stderr


@pytest.mark.parametrize("given", [["--", "nosuchcmd"], ["--http", "--", "nosuchcmd"], ["--config", "two.toml"]])
def test_a_command_that_does_not_exist_ends_it_at_once(
    redis_url: str, ring: Path, tmp_path: Path, given: list[str]
) -> None:
    """A misspelt one is no outage: nothing is served, though a client asks."""
    (tmp_path / "two.toml").write_text('[upstream.a]\nurl = "http://127.0.0.1:1"\n[upstream.b]\ncommand = "nosuchcmd"')
    env = {**os.environ, **settings(redis_url, ring, SPILLCACHE_METRICS_PORT="-1", SPILLCACHE_PORT="0")}
    ran = subprocess.run(command(*given), cwd=tmp_path, env=env, input=GREETING, capture_output=True, check=False)
    said = " ".join(ran.stderr.decode().split())
    assert (ran.returncode, ran.stdout) == (1, b"")
    assert "FAILED arguments_invalid:" in said
    assert "there is no command 'nosuchcmd' on PATH Next: Correct the command" in said


@pytest.mark.parametrize("ahead", [0, 1, 6])
def test_on_standard_input_a_tool_of_our_name_ends_it_when_the_client_opens(
    redis_url: str, ring: Path, ahead: int
) -> None:
    """The client gets the error, and standard error the same; the process does not wait for the client to leave.

    So it does also where the client has sent on without waiting for its answer.
    """
    given = command("--tool-name", "fine", "--env", "PYTHONPATH", "--", *BYTES)
    with subprocess.Popen(
        given,
        cwd=ROOT,
        env={**os.environ, **settings(redis_url, ring)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        pings = [
            json.dumps({"jsonrpc": "2.0", "id": 10 + at, "method": "ping"}).encode() + b"\n" for at in range(ahead)
        ]
        process.stdin.write(GREETING + b"".join(pings))
        process.stdin.flush()
        answers = [json.loads(line) for line in process.stdout]  # to the end of its output; its input is open
        code, said = process.wait(), " ".join(process.stderr.read().decode().split())
    refusal = next(answer for answer in answers if answer["id"] == 1)
    assert "SPILLCACHE_TOOL_NAME" in refusal["error"]["data"]["next_step"]
    assert code == 1
    assert "Traceback" not in said
    assert "FAILED arguments_invalid: the server behind the proxy has a tool named 'fine' itself" in said
    assert "SPILLCACHE_TOOL_NAME" in said


def test_a_newer_client_that_was_refused_leaves_with_the_same_words(redis_url: str, ring: Path) -> None:
    """Its question is answered by the error, and it may still try the handshake; the process ends when it leaves."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    question = {"jsonrpc": "2.0", "id": 0, "method": "server/discover", "params": {"_meta": meta}}
    given = command("--tool-name", "fine", "--env", "PYTHONPATH", "--", *BYTES)
    env = {**os.environ, **settings(redis_url, ring)}
    line = json.dumps(question).encode() + b"\n"
    ran = subprocess.run(given, cwd=ROOT, env=env, input=line, capture_output=True, check=False)
    (answer,) = (json.loads(line) for line in ran.stdout.splitlines())
    assert answer["error"]["data"]["code"] == "arguments_invalid"
    assert ran.returncode == 1
    assert b"SPILLCACHE_TOOL_NAME" in ran.stderr


async def test_over_http_clients_of_both_eras_are_served(redis_url: str, ring: Path, eras: Eras) -> None:
    """With progress, with results over what clients take of one event; and the caller's credentials stay here."""
    steps: list[float] = []

    async def told(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    with http_proxy(redis_url, ring, "--upstream", str(eras["modern"].upstream.url)) as url:
        for mode in ("legacy", "auto"):
            async with web_client(url, mode=mode, headers={"Authorization": "Bearer mine"}) as client:
                done = await client.call_tool("slow", {"ends": True}, progress_callback=told)
                large = answer_of(await client.call_tool("big", {"points": 20_000}))
                assert await walked(client, large["spill_id"]) == metrics(20_000)
                assert "authorization" not in answer_of(await client.call_tool("headers"))
            assert text_of(done) == "done"
            assert large["size_bytes"] > 1 << 20
    assert steps == [1, 2, 3] * 2


async def test_a_callers_credentials_go_upstream_when_asked_for(redis_url: str, ring: Path, eras: Eras) -> None:
    """Each caller's own, over a connection of its own."""
    given = ["--upstream", str(eras["modern"].upstream.url), "--forward-authorization"]
    seen = []
    with http_proxy(redis_url, ring, *given) as url:
        for token in ("one", "two"):
            async with web_client(url, headers={"Authorization": f"Bearer {token}"}) as client:
                seen.append(answer_of(await client.call_tool("headers")).get("authorization"))
    assert seen == ["Bearer one", "Bearer two"]


def bearer(token: str) -> dict[str, str]:
    """The header that carries a token."""
    return {"Authorization": f"Bearer {token}"}


async def test_tenants_do_not_share_a_child(redis_url: str, ring: Path, tmp_path: Path) -> None:
    """Each has a process of its own, and cannot read the other's spills."""
    bearers = {tenant: secrets.token_urlsafe(32) for tenant in ("red", "blue")}
    tokens = tmp_path / "tokens.json"
    listed = [
        {"sha256": hashlib.sha256(token.encode()).hexdigest(), "tenant": tenant, "name": tenant}
        for tenant, token in bearers.items()
    ]
    tokens.write_text(json.dumps({"tokens": listed}))
    given = ("--env", "PYTHONPATH", "--", *EVERYTHING)
    with http_proxy(redis_url, ring, *given, SPILLCACHE_TOKENS_FILE=str(tokens)) as url:
        async with (
            web_client(url, headers=bearer(bearers["red"])) as red,
            web_client(url, headers=bearer(bearers["blue"])) as blue,
        ):
            children = [answer_of(await client.call_tool("where"))["pid"] for client in (red, red, blue)]
            spill_id = answer_of(await red.call_tool("big", {"points": 2_000}))["spill_id"]
            theirs = await blue.call_tool("search_query_spill", {"spill_id": spill_id})
            with pytest.raises(MCPError) as refused:
                await blue.read_resource(f"spill://{spill_id}")
            assert (await red.read_resource(f"spill://{spill_id}")).contents
            assert await walked(red, spill_id) == metrics(2_000)
    assert children[0] == children[1] != children[2]
    assert answer_of(theirs)["code"] == refused.value.error.data["code"] == "spill_not_found"


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_an_upstream_that_comes_back_is_found_again(redis_url: str, era: str) -> None:
    """While it is away each call says so; its sessions are gone, and new ones made."""
    port = free_port()
    arguments = ["--era", "legacy", "--sessions"] if era == "legacy" else []
    upstream = make_upstream(url=f"http://127.0.0.1:{port}/mcp")
    async with before(upstream, redis_url) as client:
        with pytest.raises(MCPError):
            await client.list_tools()
        with web_program(*arguments, port=port):
            while (await client.call_tool("echo", {"a": 1})).is_error:
                continue
        away = await client.call_tool("echo", {"a": 2})
        with web_program(*arguments, port=port):
            while (back := await client.call_tool("echo", {"a": 3})).is_error:
                continue
    assert away.is_error
    assert answer_of(away)["code"] == "upstream_unavailable"
    assert answer_of(back) == {"a": 3}


async def test_one_call_that_fails_over_http_takes_no_other_along(redis_url: str, eras: Eras) -> None:
    """A call that runs goes on while another gives up."""
    behind = eras["modern"]
    async with before(behind.upstream, redis_url) as client:
        waits = behind.told("waiting")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "slow")
            await behind.tells("waiting", waits + 1)
            with anyio.move_on_after(0.05):
                await client.call_tool("slow")
            assert answer_of(await client.call_tool("echo", {"still": "there"})) == {"still": "there"}
            assert behind.told("cancelled") <= behind.told("waiting")
            tasks.cancel_scope.cancel()
