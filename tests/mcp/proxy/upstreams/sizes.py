"""Payloads of a size, which tests and servers make alike."""

from __future__ import annotations

import json


def metrics(points: int) -> str:
    """A JSON document of six named results, on one line."""
    return json.dumps(
        {"results": [{"name": f"query {n}", "values": [[at, n] for at in range(points)]} for n in range(6)]}
    )
