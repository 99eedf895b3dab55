"""A server over stdio with a prompt and addresses like ours: `python -m tests.mcp.proxy.upstreams.namesake [METHOD…]`.

It does not know the METHODs. What it is asked goes to the file TRACE.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"prompts": {}, "resources": {"subscribe": True}, "completions": {}},
    "serverInfo": {"name": "namesake", "version": "1"},
}
PROMPTS = [{"name": "read_truncated_result"}, {"name": "truncated_result"}]


def result(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; lists have two pages."""
    page = 1 if params.get("cursor") else 0
    text = {"type": "text", "text": f"my {params.get('name')}"}
    told: dict[str, Any] = {
        "initialize": HELLO,
        "prompts/list": {"prompts": PROMPTS[page : page + 1], **({} if page else {"nextCursor": "more"})},
        "prompts/get": {"messages": [{"role": "user", "content": text}]},
        "resources/list": {"resources": []},
        "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "spill://{sea}/{date}", "name": "oil"}]},
        "resources/read": {"contents": [{"uri": params.get("uri"), "text": f"my {params.get('uri')}"}]},
        "resources/subscribe": {},
        "completion/complete": {"completion": {"values": ["mine"]}},
    }
    return None if method in sys.argv[1:] else told.get(method)


def main() -> None:
    """Answer until stdin ends."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        params = message.get("params") or {}
        with Path(os.environ["TRACE"]).open("a") as trace:
            trace.write(f"{message['method']} {params.get('uri')}\n")
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        found = result(message["method"], params)
        answer |= {"error": {"code": -32601, "message": "Method not found"}} if found is None else {"result": found}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
