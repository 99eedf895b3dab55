"""A server over stdio that ends on whatever precedes the handshake: `python -m tests.mcp.proxy.upstreams.impatient`."""

from __future__ import annotations

import json
import sys

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "impatient", "version": "1"},
}
ANSWERS = {
    "initialize": HELLO,
    "tools/list": {"tools": [{"name": "fine", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "fine"}]},
}


def main() -> None:
    """Answer until stdin ends, or sooner."""
    greeted = False
    for line in sys.stdin:
        message = json.loads(line)
        greeted = greeted or message["method"] == "initialize"
        if not greeted:
            sys.exit("expected initialize")
        if "id" in message:
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": ANSWERS[message["method"]]}
            print(json.dumps(answer), flush=True)  # noqa: T201 - stdout is the protocol


if __name__ == "__main__":
    main()
