"""From what a command line says to the upstreams of a proxy, and whether they get what they are to inherit."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spillcache.errors import ArgumentsInvalid
from spillcache.mcp.proxy.config import Upstream, load_upstreams, make_upstream

_log = logging.getLogger("spillcache")


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


def warn_of_unset(upstreams: Mapping[str, Upstream], environment: Mapping[str, str]) -> None:
    """Say in the log which variables an upstream was to inherit and cannot: they are not set."""
    for namespace, upstream in upstreams.items():
        unset = [name for name in upstream.inherit_env if name not in environment]
        if unset:
            _log.warning("upstream_env_not_set", extra={"upstream": namespace, "names": unset})
