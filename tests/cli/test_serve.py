"""`spillcache serve` and `spillcache mcp`: what keeps them from starting, and how they are ended."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import Program

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


def _ask(process: subprocess.Popen[bytes], message: object) -> Any:
    """Send a line, and return the one that answers it."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def test_it_does_not_listen_beyond_loopback_without_credentials(program: Program) -> None:
    """It says which settings would do."""
    ran = program("serve", "--host", "0.0.0.0", "--port", "0", "--metrics-port", "-1")  # noqa: S104
    assert ran.code == 1
    assert "arguments_invalid" in ran.err
    assert "SPILLCACHE_TOKENS_FILE" in ran.err


def test_a_port_that_is_taken_is_named(program: Program) -> None:
    """With the option to change."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        ran = program("serve", "--port", port, "--metrics-port", "-1")
    assert (ran.code, port in ran.err, "--port" in ran.err) == (1, True, True)


def test_what_is_set_in_vain_or_not_set_is_warned_of_at_the_start(program: Program) -> None:
    """A misspelt setting, and a variable that the server behind was to inherit: by their names, no value."""
    ran = program("proxy", "--env", "NOT_SET_HERE", "--env", "PATH", "--", "true", SPILLCACHE_KEY_RING="secret")
    warned = {event["event"]: event.get("names") for event in map(json.loads, ran.err.splitlines())}
    assert warned["settings_unknown"] == ["SPILLCACHE_KEY_RING"]
    assert warned["upstream_env_not_set"] == ["NOT_SET_HERE"]
    assert "secret" not in ran.err


def test_a_proxy_that_listens_nowhere_has_no_port(program: Program) -> None:
    """Options that would mean nothing are a mistake in usage, and named."""
    ran = program("proxy", "--port", "1", "--drain", "3", "--", "true")
    assert (ran.code, "--port, --drain" in ran.err, "--http" in ran.err) == (2, True, True)


@pytest.mark.parametrize("options", [["serve", "--port", "0"], ["proxy", "--budget", "3000", "--", "true"]])
def test_a_budget_that_cannot_work_is_refused_at_the_start(program: Program, options: list[str]) -> None:
    """With the setting to change."""
    ran = program(*options, SPILLCACHE_BUDGET_BYTES="100")
    assert (ran.code, "SPILLCACHE_BUDGET_BYTES" in ran.err) == (1, True)


@pytest.mark.parametrize(("command", "module", "extra"), [("serve", "uvicorn", "serve"), ("mcp", "mcp", "mcp")])
def test_a_missing_extra_is_named_with_its_command(program: Program, command: str, module: str, extra: str) -> None:
    """As it would be where only the library is installed."""
    ran = program.python(
        f"import sys; sys.modules[{module!r}] = None; from spillcache.cli import main; main([{command!r}])"
    )
    assert ran.code == 1
    assert f"pip install 'spillcache[{extra}]'" in ran.err


@pytest.mark.parametrize("command", [["mcp"], ["proxy", "--", "true"]])
def test_over_stdio_the_extra_mcp_is_enough(program: Program, command: list[str]) -> None:
    """What only the extra `serve` brings is not there."""
    serve_only = ["fastapi", "httptools", "prometheus_client", "uvicorn", "uvloop"]
    ran = program.python(
        f"import sys; sys.modules.update(dict.fromkeys({serve_only}));from spillcache.cli import main; main({command})"
    )
    assert (ran.code, "ExtraMissing" in ran.err, "pip install" in ran.err) == (0, False, False), ran.err


def test_over_stdio_only_the_protocol_is_on_standard_output(program: Program) -> None:
    """Its logs are on standard error; it ends with the input."""
    with program.start("mcp", stdin=subprocess.PIPE) as process:
        answers = [_ask(process, message) for message in (HELLO, PING)]
        rest, log = process.communicate(timeout=30)
    assert [answer["id"] for answer in answers] == [0, 1]
    assert (process.returncode, rest) == (0, b"")
    assert all(json.loads(line)["event"] for line in log.splitlines())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_over_stdio_a_signal_ends_it_at_once(program: Program, number: signal.Signals, code: int) -> None:
    """Although its input stays open."""
    with program.start("mcp", stdin=subprocess.PIPE) as process:
        assert _ask(process, HELLO)["id"] == 0
        process.send_signal(number)
        assert process.wait(30) == code


def test_over_stdio_the_key_ring_is_needed(program: Program, tmp_path: Path) -> None:
    """What keeps it from starting goes to standard error; standard output stays the protocol's."""
    ran = program("mcp", SPILLCACHE_KEYRING_FILE=str(tmp_path / "absent.json"))
    assert (ran.code, ran.out, "keyring_invalid" in ran.err) == (1, b"", True)
