"""A server over stdio that writes bytes of its own making: `python -m tests.mcp.proxy.upstreams.bytes`.

It knows the handshake and one tool per misbehaviour, and uses no library: none would let it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

OUT = sys.stdout.buffer


def send(line: bytes) -> None:
    """Write a line."""
    OUT.write(line + b"\n")
    OUT.flush()


def answer(request_id: Any, text: str) -> bytes:
    """A tool's result."""
    result = {"content": [{"type": "text", "text": text}], "isError": False}
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "result": result}).encode()


def torn(request_id: int) -> bytes:
    """Broken, and its id, if that is one, comes last."""
    return b'{"jsonrpc":"2.0","result":{"rows":[{"id":1}}],"id":' + str(request_id).encode() + b"}"


def buried(request_id: int) -> bytes:
    """Over the cap, with another's id in its data."""
    content = [{"type": "text", "text": "y" * 3_000_000}]
    result = {"content": content, "structuredContent": {"id": request_id - 1}}
    return json.dumps({"result": result, "jsonrpc": "2.0", "id": request_id}).encode()


#: Tool → the lines that it answers with.
LINES: dict[str, Callable[[int], list[bytes]]] = {
    "pid": lambda number: [answer(number, str(os.getpid()))],
    "fine": lambda number: [answer(number, "fine")],
    "line": lambda number: [  # one of 345 KB
        answer(number, json.dumps({"results": [{"name": n, "log": "x" * 86_000} for n in "abcd"]}))
    ],
    "cp949": lambda number: [answer(number, "@@").replace(b"@@", "한글".encode("cp949"))],
    "nul": lambda number: [answer(number, "a@@b").replace(b"@@", b"\x00")],
    "junk": lambda number: [b"\xff\xfe\xfd", b"\x00\x00", b"Listening on port 1234", answer(number, "after the junk")],
    "flood": lambda number: [answer(number, "y" * 3_000_000)],  # over the cap
    "bom": lambda number: [b"\xef\xbb\xbf" + answer(number, "fine")],
    "batch": lambda number: [b"[" + answer(number, "fine") + b"]"],
    "stray": lambda number: [answer(number + 1_000, "stray")],  # to a request that nobody made
    "unnamed": lambda number: [answer(None, "stray")],
    "torn": lambda number: [torn(number)],
    "unread": lambda _: [b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"unread"}}'],
    "buried": lambda number: [buried(number)],
    "silent": lambda _: [],
}
TOOLS = (*LINES, "heir", "half")


def call(tool: str, request_id: Any) -> None:
    """Misbehave."""
    if tool == "heir":  # die, and leave somebody behind who holds the output open
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        os._exit(1)
    if tool == "half":  # die in the middle of an answer
        OUT.write(answer(request_id, "z" * 1_000)[:500])
        OUT.flush()
        os._exit(1)
    for line in LINES[tool](request_id):
        send(line)


def main() -> None:
    """Answer until stdin ends."""
    for line in sys.stdin.buffer:
        message = json.loads(line)
        method, request_id = message.get("method"), message.get("id")
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "bytes", "version": "1"},
            },
            "tools/list": {"tools": [{"name": tool, "inputSchema": {"type": "object"}} for tool in TOOLS]},
        }
        if method == "tools/call":
            call(message["params"]["name"], request_id)
        elif method in results:
            send(json.dumps({"jsonrpc": "2.0", "id": request_id, "result": results[method]}).encode())
        elif request_id is not None:
            error = {"code": -32601, "message": "Method not found"}
            send(json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}).encode())


if __name__ == "__main__":
    main()
