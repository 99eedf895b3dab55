"""How an answer becomes a tool result, and how many bytes that takes.

json: one text block with the JSON object, and nothing repeated, because hosts count every copy. raw: a header line,
the chunk as it is, and a trailer line with what must come last:

```
{"position":"0-11/40","chunk_kind":"text","chunk_bytes":11}
first line⏎
{"status":"PARTIAL","next_cursor":"…"}
```

The header says how many bytes of UTF-8 the chunk has, so that no chunk can pass for a trailer. What has no chunk
(errors, inventories) is the same JSON object in both.

What is counted is the result as UTF-8 JSON, which is what stdio and the handshake era's HTTP send, and what a host has
when it counts. HTTP of the 2026-07-28 protocol writes what is beyond ASCII as `\\uXXXX` on the way, twice the
bytes for Chinese text; that is undone before a host sees the text, so it is not counted. What that protocol adds to
every result is: see `STAMP_BYTES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from spillcache.wire import Wire

# `"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"…","version":"…"}}` takes 101 bytes
# around a name and a version of 15.
STAMP_BYTES: Final = 128
_CHUNK_BYTES_DIGITS: Final = 7  # more than the cap of a page has: cuts must not depend on digits


@dataclass(frozen=True, slots=True)
class RawWire(Wire):
    """The wire of the raw rendering: the chunk is escaped once, what is around it twice."""

    def size(self, answer: Mapping[str, Any]) -> int:
        """Bytes of a whole answer as it is sent, at the longest that the header's `chunk_bytes` may get."""
        longest = _CHUNK_BYTES_DIGITS - len(str(_length(answer["chunk"]))) if "chunk" in answer else 0
        return self.wrapper + len(orjson.dumps(raw_text(answer))) + longest


_AROUND_TEXT: Final = len('{"content":[{"type":"text","text":}],"isError":false}') + STAMP_BYTES

JSON_WIRE: Final = Wire(copies=(2,), wrapper=_AROUND_TEXT)
STRUCTURED_WIRE: Final = Wire(copies=(2, 1), wrapper=_AROUND_TEXT + len(',"structuredContent":'))
RAW_WIRE: Final = RawWire(copies=(1,), wrapper=_AROUND_TEXT)


def json_text(answer: Mapping[str, Any]) -> str:
    """The answer as one JSON object."""
    return orjson.dumps(answer).decode()


def raw_text(answer: Mapping[str, Any]) -> str:
    """The answer with its chunk unescaped between two lines of JSON; what has no chunk as one JSON object."""
    if "chunk" not in answer:
        return json_text(answer)
    fields = list(answer.items())
    at = list(answer).index("chunk")
    chunk: str = answer["chunk"]
    header = dict(fields[:at]) | {"chunk_bytes": _length(chunk)}
    return f"{json_text(header)}\n{chunk}\n{json_text(dict(fields[at + 1 :]))}"


def tool_result(text: str, *, failed: bool = False, structured: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A CallToolResult in wire form with one text block."""
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    if structured is not None:
        result["structuredContent"] = dict(structured)
    return result | {"isError": failed}


def _length(chunk: str) -> int:
    return len(chunk.encode())
