"""The wire over stdio: lines that are no messages, lines that are huge."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from spillcache import Keyring
from spillcache.ids import new_id
from spillcache.sync import SpillCache
from tests.mcp.serving import stdio_command

ROOT = Path(__file__).parents[2]
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


class Pipe:
    """A server's stdin and stdout, line by line."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout

    def ask(self, line: bytes) -> dict[str, Any]:
        """The answer to a line."""
        self.tell(line)
        answer: dict[str, Any] = json.loads(self._stdout.readline())
        return answer

    def tell(self, line: bytes) -> None:
        """Send a line."""
        self._stdin.write(line + b"\n")
        self._stdin.flush()

    def stop_reading(self) -> None:
        """Close the server's stdout."""
        self._stdout.close()

    def call(self, **arguments: Any) -> dict[str, Any]:
        """The result of a call of the tool."""
        params = {"name": "search_query_spill", "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
        answer = self.ask(json.dumps(message).encode())
        assert answer["id"] == 7
        result: dict[str, Any] = answer["result"]
        return result


@contextmanager
def started(redis_url: str, ring: Path) -> Iterator[Pipe]:
    """A server after its handshake; it must end by itself, without a word on stderr, when stdin does."""
    process = subprocess.Popen(
        stdio_command(redis_url, ring),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        pipe = Pipe(process)
        yield pipe
        _, complaints = process.communicate(timeout=30)
        assert (process.returncode, complaints) == (0, b"")


def shake_hands(pipe: Pipe) -> None:
    """What a client of the handshake era says first."""
    assert pipe.ask(json.dumps(INITIALIZE).encode())["id"] == 0
    pipe.tell(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')


def test_what_is_no_message_is_answered_at_once(redis_url: str, ring: Path) -> None:
    """Broken JSON, invalid UTF-8, too deep, no JSON-RPC: an error each, and the next call is served."""
    with started(redis_url, ring) as pipe:
        shake_hands(pipe)
        for line, code in (
            (b"{", -32700),
            (b"\xff\xfe\x00", -32700),
            (b"[" * 200_000, -32700),
            (b'{"jsonrpc":"2.0","id":"caf\xe9","method":"ping"}', -32700),
            (b'{"jsonrpc":"2.0","id":"\\ud83d","method":"ping"}', -32700),
            (b"[]", -32600),
            (b"17", -32600),
        ):
            answer = pipe.ask(line)
            assert (answer["error"]["code"], answer["id"]) == (code, None), line[:20]
            assert answer["error"]["data"]["next_step"]
        assert pipe.call(spill_id="typo")["isError"]


def test_what_is_no_message_is_answered_before_the_handshake_too(redis_url: str, ring: Path) -> None:
    """Whatever a client says first."""
    with started(redis_url, ring) as pipe:
        assert pipe.ask(b"hello")["error"]["code"] == -32700
        shake_hands(pipe)
        assert pipe.call(spill_id="typo")["isError"]


def test_a_huge_line_is_answered(redis_url: str, ring: Path) -> None:
    """An argument of 8 MB: refused as a spill id, not held."""
    with started(redis_url, ring) as pipe:
        shake_hands(pipe)
        answer = json.loads(pipe.call(spill_id="x" * (8 << 20))["content"][0]["text"])
        assert answer["code"] == "spill_id_malformed"
        assert len(answer["message"]) < 200


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b'"caf\xe9"', -32700),
        (b'"\\ud83d"', -32700),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, -32700),
        (b"1" * 5_000, -32700),
        (b'"cut', -32700),
    ],
    ids=["not UTF-8", "half a surrogate pair", "deep", "huge number", "cut"],
)
def test_a_request_that_cannot_be_read_is_refused_under_its_own_id(
    redis_url: str, ring: Path, value: bytes, code: int
) -> None:
    """Not with another text in place of its own, and not by silence; also where an id stands in its arguments."""
    call = (
        b'{"jsonrpc":"2.0","method":"tools/call","id":"five","params":{"id":6,"arguments":{"spill_id":' + value + b"}}}"
    )
    with started(redis_url, ring) as pipe:
        shake_hands(pipe)
        answer = pipe.ask(call)
        assert (answer["id"], answer["error"]["code"]) == ("five", code)
        assert answer["error"]["data"]["next_step"]
        assert pipe.ask(b'{"jsonrpc":"2.0","id":1}')["id"] == 1
        assert pipe.ask(b'{"jsonrpc":"2.0","id":2,"method":"a\x00b"}')["id"] == 2


def test_a_page_is_one_line_within_the_budget(redis_url: str, ring: Path) -> None:
    """Non-ASCII text as UTF-8, and no line end inside, whatever the payload has."""
    payload = ("漢字 \u2028 \r\n" * 2_000).encode()
    with SpillCache.from_url(redis_url, keyring=Keyring.from_file(ring)) as cache:
        spill_id = cache.put(payload).spill_id
    with started(redis_url, ring) as pipe:
        shake_hands(pipe)
        result = pipe.call(spill_id=spill_id)
    assert payload.startswith(json.loads(result["content"][0]["text"])["chunk"].encode())
    assert 6_500 < len(json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode()) <= 7_500


def test_what_was_asked_before_stdin_ended_is_answered(redis_url: str, ring: Path) -> None:
    """As by a program that writes its questions and closes the pipe."""
    call = {"name": "search_query_spill", "arguments": {"spill_id": new_id(bytes(15))}}
    messages: list[dict[str, Any]] = [INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    messages += [{"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call} for number in range(1, 9)]
    ran = subprocess.run(
        stdio_command(redis_url, ring),
        cwd=ROOT,
        input="".join(f"{json.dumps(message)}\n" for message in messages).encode(),
        capture_output=True,
        timeout=30,
        check=True,
    )
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert sorted(answer["id"] for answer in answers) == list(range(9))
    assert ran.stderr == b""


def test_a_client_that_is_gone_ends_the_server_without_a_cry(redis_url: str, ring: Path) -> None:
    """Nobody reads stdout: exit code 0 and nothing on stderr once stdin ends too."""
    with started(redis_url, ring) as pipe:
        shake_hands(pipe)
        pipe.stop_reading()
        pipe.tell(b"no message, which must be answered")
