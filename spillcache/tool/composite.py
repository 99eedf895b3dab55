"""What is stored of the parts of a result that do not fit: one payload, whatever the number of parts.

A single part is stored as its own bytes, so that a JSON text is scanned as JSON and a picture comes back as a picture.
Several become one JSON document that names each, from which all of them can be had again exactly:

```json
{"results":[{"name":"content[0]","block":{"type":"text"},"json":{"status":"success"}},
            {"name":"content[1]","block":{"type":"image","mimeType":"image/png","data":"…"}},
            {"name":"structuredContent","json":{"ms":0}}]}
```

`block` is the content block as it came. A text that is a JSON document itself is taken out of it and stands, unchanged
byte by byte, under `json`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spillcache.payload import to_bytes, to_json
from spillcache.tool.documents import is_document
from spillcache.tool.numbers import travels
from spillcache.tool.parts import Part, wire_size

#: What a block says beside its data (type, annotations, URI) goes into the envelope up to this size.
_MOST_SAID_BYTES: Final = 400


@dataclass(frozen=True, slots=True)
class Payload:
    """What is stored. `block` is what the only part's block says beside its data, None where the payload holds that."""

    data: bytes
    block: Mapping[str, Any] | None = None


def payload_of(spilled: Sequence[Part]) -> Payload:
    """The payload of the parts that go; at least one."""
    alone = _alone(spilled[0]) if len(spilled) == 1 else None
    return alone or Payload(b'{"results":[' + b",".join(map(_entry, spilled)) + b"]}")


def _alone(part: Part) -> Payload | None:
    """A part as its own bytes; None if they alone would not say all that the part does."""
    if part.sort == "structured":
        return Payload(to_json(part.value))
    data = to_bytes(part.text) if part.text is not None else _decoded(part)
    if data is None:
        return None
    rest = _without_data(part)
    if wire_size(rest) > _MOST_SAID_BYTES or not travels(rest):
        return None
    return Payload(data, None if rest == {"type": "text"} else rest)


def _decoded(part: Part) -> bytes | None:
    """The bytes that a picture, sound or file is; None if they would not encode to the same text again."""
    if part.sort != "media":
        return None
    text: str = part.value["resource"]["blob"] if part.value["type"] == "resource" else part.value["data"]
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if base64.b64encode(data) == text.encode() else None


def _entry(part: Part) -> bytes:
    if part.sort == "structured":
        return to_json({"name": part.name})[:-1] + b',"json":' + to_json(part.value) + b"}"
    text = part.text
    if text is None or not is_document(text):
        return to_json({"name": part.name, "block": part.value})
    said = to_json({"name": part.name, "block": _without_data(part)})
    return said[:-1] + b',"json":' + text.encode() + b"}"


def _without_data(part: Part) -> dict[str, Any]:
    """The block of a text or medium without what that is: its text or its base64."""
    block: Mapping[str, Any] = part.value
    if block["type"] == "resource":
        return {**block, "resource": _without(block["resource"], "text" if part.sort == "text" else "blob")}
    return _without(block, "text" if part.sort == "text" else "data")


def _without(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key != name}
