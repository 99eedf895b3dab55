"""Tool results for tests: as servers send them, and back from what an agent is given in their place."""

from __future__ import annotations

import base64
import json
from typing import Any

import orjson
from hypothesis import strategies as st

from spillcache import SpillCache
from spillcache.tool.results import SpillOptions, spill_result
from spillcache.tool.schemas import UNDECLARED, Declared
from tests.servers.caches import metrics, noise

MEDIA = {"image", "audio"}
BATCH = metrics().decode()


def text(value: str, **more: Any) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": value, **more}


def image(size: int, seed: int = 1) -> dict[str, Any]:
    """A picture of so many bytes."""
    return {"type": "image", "data": base64.b64encode(noise(size, seed)).decode(), "mimeType": "image/png"}


def resource(**holder: Any) -> dict[str, Any]:
    """An embedded resource."""
    return {"type": "resource", "resource": {"uri": "file:///a.txt", "mimeType": "text/plain", **holder}}


def result(*blocks: dict[str, Any], error: bool = False, **more: Any) -> dict[str, Any]:
    """A CallToolResult in wire form."""
    return {"content": list(blocks), "isError": error, **more}


async def spill(
    cache: SpillCache,
    sent: dict[str, Any],
    declared: Declared = UNDECLARED,
    *,
    tenant: str | None = None,
    **options: Any,
) -> dict[str, Any]:
    """What is handed on for a result of the tool "query"."""
    return await spill_result(
        sent, cache, tool="query", tenant=tenant, options=SpillOptions(**options), declared=declared
    )


def envelope_in(answer: dict[str, Any]) -> dict[str, Any]:
    """The envelope: in the first block, and nothing else in it."""
    first = answer["content"][0]
    assert first.keys() == {"type", "text"}
    envelope: dict[str, Any] = json.loads(first["text"])
    assert envelope["completeness"] in {"truncated", "failed"}
    return envelope


def counted(answer: dict[str, Any]) -> int:
    """Bytes that a budget counts: all but media."""
    return len(orjson.dumps(answer)) - sum(len(orjson.dumps(block)) for block in answer["content"] if is_media(block))


def is_media(block: dict[str, Any]) -> bool:
    """Whether hosts count a block by itself."""
    return block["type"] in MEDIA or "blob" in block.get("resource", {})


def restored(answer: dict[str, Any], payload: bytes) -> dict[str, Any]:
    """The parts of the tool's result by name, made again from what was handed on and the whole spill."""
    envelope = envelope_in(answer)
    parts = envelope.get("parts", {})
    spilled = _from_payload(parts, payload)
    kept = list(answer["content"][1:])
    found = dict(spilled)
    for number in range(len(kept) + len(spilled)):
        name = f"content[{number}]"
        if name not in spilled and kept:
            found[name] = kept.pop(0)
    if "structured_content" in envelope:
        found["structuredContent"] = envelope["structured_content"]
    return found


def _from_payload(parts: dict[str, Any], payload: bytes) -> dict[str, Any]:
    names = parts.get("spilled", ["content[0]"])
    if payload.startswith(b'{"results":[{"name":"content['):
        return {entry["name"]: _block(entry) for entry in _entries(payload)}
    if names == ["structuredContent"]:
        return {"structuredContent": json.loads(payload)}
    block = parts.get("block", {"type": "text"})
    return {names[0]: _with_data(block, payload)}


def _entries(payload: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(payload)["results"]
    return found


def _block(entry: dict[str, Any]) -> Any:
    if "block" not in entry:
        return entry["json"]
    if "json" not in entry:
        return entry["block"]
    return _with_data(entry["block"], json.dumps(entry["json"]).encode())


def _with_data(block: dict[str, Any], data: bytes) -> dict[str, Any]:
    if block["type"] in MEDIA:
        return block | {"data": base64.b64encode(data).decode()}
    if block["type"] != "resource":
        return block | {"text": data.decode()}
    inner = block["resource"]
    is_binary = inner.get("mimeType") == "application/octet-stream"
    held = {"blob": base64.b64encode(data).decode()} if is_binary else {"text": data.decode()}
    return block | {"resource": inner | held}


_documents = st.sampled_from((BATCH[: BATCH.index("]]}") + 3] + "]}", '{"ms":0}', '[{"name":"a"},{"name":"b"}]', "[]"))
_texts = st.one_of(
    st.sampled_from(("", "ok", "line of a log\n", 'he said "no" \\ \x01é漢😀')).flatmap(
        lambda piece: st.sampled_from((1, 20, 600)).map(lambda times: piece * times)
    ),
    # As json.dumps writes it, which is how `restored` writes it again.
    _documents.map(lambda document: json.dumps(json.loads(document))),
)
_extra = st.sampled_from(({}, {"annotations": {"audience": ["user"]}}, {"_meta": {"note": "x" * 600}}))
_blocks = st.one_of(
    st.builds(lambda value, more: text(value, **more), _texts, _extra),
    st.sampled_from((1, 3_000, 40_000)).map(image),
    st.builds(lambda value: resource(text=value), _texts),
    st.sampled_from((1, 5_000)).map(
        lambda size: resource(blob=base64.b64encode(noise(size)).decode(), mimeType="application/octet-stream")
    ),
    st.just({"type": "resource_link", "uri": "file:///b", "name": "b"}),
)
results = st.builds(
    lambda blocks, structured, error, more: result(*blocks, error=error, **structured, **more),
    st.lists(_blocks, max_size=6),
    st.sampled_from(
        (
            {},
            {"structuredContent": {"took": 0}},
            {"structuredContent": {"rows": [{"id": n, "value": "é" * 9} for n in range(400)]}},
        )
    ),
    st.booleans(),
    st.sampled_from(({}, {"_meta": {"trace": "abc"}}, {"_meta": {"ui": "x" * 20_000}})),
)
