"""Ways to put the pieces together, with foreign clients in front and foreign servers behind."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from spillcache import defaults
from spillcache.embedded.lifeline import TiedProcess
from tests.foreign.node import CLIENTS, Step, Told, drive
from tests.foreign.payloads import sha256
from tests.foreign.serving import COMMAND, new_keyring, serving, settings
from tests.foreign.upstreams.commands import Command, direct, everything, filesystem, proxied
from tests.servers.caches import keys, metrics
from tests.servers.process import free_port
from tests.servers.requirements import requires
from tests.servers.waiting import until

pytestmark = requires("npm packages")

PAYLOAD = metrics()

every_client = pytest.mark.parametrize("client", CLIENTS, ids="-".join)


def call(name: str, /, **arguments: Any) -> Step:
    """A call of a tool."""
    return ("callTool", {"name": name, "arguments": arguments})


def read(name: str, /, **arguments: Any) -> Step:
    """Call a tool and, where its result is truncated, read all of it."""
    return ("callAndWalk", {"name": name, "arguments": arguments})


@pytest.fixture
def big_file(tmp_path: Path) -> Path:
    """A file with PAYLOAD, in a directory of its own."""
    directory = tmp_path / "files"
    directory.mkdir()
    (directory / "big.json").write_bytes(PAYLOAD)
    return directory / "big.json"


@contextmanager
def everything_on_http(directory: Path) -> Iterator[str]:
    """The reference server over HTTP, with sessions; its URL."""
    port = free_port()
    command = ["/usr/bin/env", f"PORT={port}", *everything("streamableHttp")]
    process = TiedProcess(command, directory=directory, log=directory / "everything.log")
    try:
        until(lambda: _accepts(port), "the reference server listens")
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.stop()


@every_client
async def test_several_servers_under_namespaces(
    proxy_settings: dict[str, str], big_file: Path, tmp_path: Path, client: tuple[str, str]
) -> None:
    """Tools and prompts have their server's name before them, and every address that a result gives can be read."""
    config = tmp_path / "upstreams.toml"
    config.write_text(_table("all", everything()) + _table("files", filesystem(big_file.parent)))
    server = direct((*COMMAND, "proxy", "--config", str(config)), proxy_settings)
    link = await drive(server, [("listTools", {}), call("all_get-resource-links", count=2)], client=client)
    tools = {entry["name"] for entry in link.answers[0]["tools"]}
    assert {"all_echo", "files_read_text_file", defaults.TOOL_NAME} <= tools
    addresses = [block["uri"] for block in link.answers[1]["content"] if block["type"] == "resource_link"]
    told = await drive(
        server,
        [
            *(("readResource", {"uri": uri}) for uri in addresses),
            ("getPrompt", {"name": "all_simple-prompt"}),
            read("files_read_text_file", path=str(big_file)),
        ],
        client=client,
    )
    *resources, prompt, walk = told.answers
    assert [one["contents"][0]["uri"] for one in resources] == addresses
    assert prompt["messages"]
    assert walk["sha256"] == sha256(PAYLOAD)


@every_client
async def test_a_server_on_http_with_sessions(
    proxy_settings: dict[str, str], tmp_path: Path, client: tuple[str, str]
) -> None:
    """The proxy keeps the session; the client, of either era, knows nothing of it."""
    with everything_on_http(tmp_path) as url:
        server = direct((*COMMAND, "proxy", "--upstream", url), proxy_settings)
        told = await drive(
            server,
            [
                call("echo", message="over HTTP"),
                call("trigger-long-running-operation", duration=0.2, steps=4),
                ("readResource", {"uri": "demo://resource/static/document/features.md"}),
            ],
            client=client,
        )
    assert told.answers[0]["content"][0]["text"] == "Echo: over HTTP"
    assert told.of("progress")
    assert "contents" in told.answers[2]


@every_client
async def test_two_proxies_spill_once(
    redis_url: str, proxy_settings: dict[str, str], big_file: Path, client: tuple[str, str]
) -> None:
    """The outer one knows the inner one's envelopes and pages, and adds no second tool."""
    inner = proxied(filesystem(big_file.parent), proxy_settings)
    outer = proxied((inner["command"], *inner["args"]), proxy_settings, _passing(proxy_settings))
    told = await drive(outer, [("listTools", {}), read("read_text_file", path=str(big_file))], client=client)
    names = [entry["name"] for entry in told.answers[0]["tools"]]
    assert names.count(defaults.TOOL_NAME) == 1
    assert told.answers[1]["sha256"] == sha256(PAYLOAD)
    assert len({key.split(b":")[1] for key in keys(redis_url)}) == 1


@every_client
async def test_a_token_opens_its_own_tenant(redis_url: str, tmp_path: Path, client: tuple[str, str]) -> None:
    """Without a token nothing is said; with another tenant's, an id is one that nothing was ever stored under."""
    tokens = {name: _new_token(tmp_path, name) for name in ("ours", "theirs")}
    environment = settings(redis_url, new_keyring(), tokens_file=str(tmp_path / "tokens.json"))
    with serving(["serve"], environment, tmp_path) as service:
        spill_id = service.put(PAYLOAD, token=tokens["ours"])

        async def ask(token: str, step: Step) -> Told:
            headers = {"Authorization": f"Bearer {token}"}
            return await drive({"url": service.mcp, "headers": headers}, [step], client=client)

        walked = await ask(tokens["ours"], ("walk", {"tool": defaults.TOOL_NAME, "spill_id": spill_id}))
        refused = await ask(tokens["theirs"], call(defaults.TOOL_NAME, spill_id=spill_id))
        with pytest.raises(AssertionError, match="401"):
            await ask("no token", ("listTools", {}))
    assert walked.answers[0]["sha256"] == sha256(PAYLOAD)
    assert json.loads(refused.answers[0]["content"][0]["text"])["code"] == "spill_not_found"


def _table(name: str, command: Command) -> str:
    return f"[upstream.{name}]\ncommand = {json.dumps(command[0])}\nargs = {json.dumps(command[1:])}\n"


def _passing(environment: dict[str, str]) -> list[str]:
    return [part for name in environment for part in ("--env", name)]


def _new_token(directory: Path, tenant: str) -> str:
    made = ["tokens", "new", "--tenant", tenant, "--name", tenant, "--file", str(directory / "tokens.json")]
    return subprocess.run([*COMMAND, *made], check=True, capture_output=True, text=True).stdout.strip()


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
