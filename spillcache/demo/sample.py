"""The data: twelve range queries against a Prometheus server, answered in one batch of JSON."""

from __future__ import annotations

from importlib import resources

import zstandard

TOOL = "prometheus_batch"


def payload() -> bytes:
    """The batch's JSON text, byte for byte as the tool returned it."""
    packed = resources.files("spillcache.demo").joinpath("prometheus_batch_of_twelve.json.zst").read_bytes()
    return zstandard.ZstdDecompressor().decompress(packed)
