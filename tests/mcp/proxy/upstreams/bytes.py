"""A server over stdio that writes bytes of its own making: `python -m tests.mcp.proxy.upstreams.bytes`.

It knows the handshake and one tool per misbehaviour, and uses no library: none would let it.
"""

from __future__ import annotations

import json
import os
import sys
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


def call(tool: str, request_id: Any) -> None:
    """Misbehave."""
    if tool == "pid":
        send(answer(request_id, str(os.getpid())))
    elif tool == "fine":
        send(answer(request_id, "fine"))
    elif tool == "line":  # one line of 345 KB
        send(answer(request_id, json.dumps({"results": [{"name": n, "log": "x" * 86_000} for n in "abcd"]})))
    elif tool == "cp949":
        send(answer(request_id, "@@").replace(b"@@", "한글".encode("cp949")))
    elif tool == "nul":
        send(answer(request_id, "a@@b").replace(b"@@", b"\x00"))
    elif tool == "junk":
        send(b"\xff\xfe\xfd")
        send(b"\x00\x00")
        send(b"Listening on port 1234")
        send(answer(request_id, "after the junk"))
    elif tool == "flood":  # over the cap
        send(answer(request_id, "y" * 3_000_000))
    elif tool == "half":  # die in the middle of an answer
        OUT.write(answer(request_id, "z" * 1_000)[:500])
        OUT.flush()
        os._exit(1)


TOOLS = ("pid", "fine", "line", "cp949", "nul", "junk", "flood", "half")


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
