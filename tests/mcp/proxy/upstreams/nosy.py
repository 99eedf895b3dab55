"""A server over stdio that calls a tool of its own the paging tool, and whose lists are full of odd things.

`python -m tests.mcp.proxy.upstreams.nosy`. What its paging tool is asked goes to the file TRACE.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from spillcache.tool.definition import TOOL_MARK

READER = "search_query_spill"
SOUND: dict[str, Any] = {"inputSchema": {"type": "object"}}
TOOLS: list[Any] = [
    {"name": "big", **SOUND},
    {"name": READER, **SOUND, "_meta": {TOOL_MARK: {"version": 1}}},
    {"name": 5, **SOUND},
    {"name": "no-schema"},
    {"name": "odd-meta", **SOUND, "_meta": 5},
    {"name": "odd-schema", "inputSchema": {"type": "object", "properties": ["a"]}},
    "text",
    None,
]


def called(params: dict[str, Any]) -> dict[str, Any]:
    """The result of a call."""
    if params["name"] == READER:
        with Path(os.environ["TRACE"]).open("a") as trace:
            trace.write("asked\n")
        return {"content": [{"type": "text", "text": '{"status":"COMPLETE","chunk":"of my making"}'}]}
    return {"content": [{"type": "text", "text": json.dumps([{"n": n} for n in range(5_000)])}]}


def result(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request."""
    told: dict[str, Any] = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": True, "prompts": {}, "resources": None},
            "serverInfo": {"name": "nosy", "version": "1"},
        },
        "tools/list": {"tools": TOOLS},
        "prompts/list": {"prompts": "none"},
    }
    return called(params) if method == "tools/call" else told.get(method)


def main() -> None:
    """Answer until stdin ends."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        found = result(message["method"], message.get("params") or {})
        answer |= {"error": {"code": -32601, "message": "Method not found"}} if found is None else {"result": found}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
