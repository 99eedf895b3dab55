"""From what a command line says to the upstreams of a proxy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spillcache.errors import ArgumentsInvalid
from spillcache.mcp.proxy.config import Upstream, load_upstreams, make_upstream


def upstreams_of(config: Path | None, fields: Mapping[str, Any]) -> dict[str, Upstream]:
    """The upstreams of a configuration file, or the single one that `fields` describe. Raises `ArgumentsInvalid`."""
    if config is None:
        return {"": make_upstream(**fields)}
    if fields:
        raise ArgumentsInvalid(
            f"a configuration file is given, so {', '.join(sorted(fields))} must be set in it",
            next_step="Set it in the table of the upstream that it is for.",
        )
    return load_upstreams(config)
