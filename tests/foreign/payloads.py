"""Payloads that clients read back, from tests/data and made up."""

from __future__ import annotations

import hashlib
from pathlib import Path

import zstandard

from tests.servers.caches import noise

_DATA = Path(__file__).parent.parent / "data"


def sample(name: str) -> bytes:
    """A file of tests/data, unpacked."""
    packed = (_DATA / name).read_bytes()
    return zstandard.ZstdDecompressor().decompress(packed) if name.endswith(".zst") else packed


def sha256(payload: bytes) -> str:
    """In hexadecimal, as drive.mjs gives it."""
    return hashlib.sha256(payload).hexdigest()


PAYLOADS = {
    "a batch of queries": sample("grafana_ds_query_frames.json.zst"),
    "log lines": sample("node_exporter_metrics.txt"),
    "every way to escape": '{"text": "\\"\\\\\\n\\u0000 \U0001f600 漢字 \u2028"}'.encode() * 500,
    "bytes that are no text": noise(30_000),
}
"""By what it is; each takes several pages."""
