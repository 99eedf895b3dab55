"""How the foreign upstreams are started, and our proxy in front of one."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts.foreign import node, npm_program, python_program
from tests.foreign.serving import COMMAND

Command = tuple[str, ...]

_ROOT = Path(__file__).parents[3]


def everything(*arguments: str) -> Command:
    """The reference server with a bit of everything; over stdio without `arguments`."""
    return (str(node()), str(npm_program("@modelcontextprotocol/server-everything")), *arguments)


def filesystem(directory: Path) -> Command:
    """The server that reads files below `directory`."""
    return (str(node()), str(npm_program("@modelcontextprotocol/server-filesystem")), str(directory))


def git() -> Command:
    """The server that asks git."""
    return (str(python_program("mcp-server-git")),)


def prometheus() -> Command:
    """The server that queries PROMETHEUS_URL."""
    return (str(python_program("prometheus-mcp-server")),)


def grafana() -> Command:
    """The server that queries the data sources of GRAFANA_URL."""
    return (str(python_program("mcp-grafana")), "--enabled-tools", "prometheus,datasource")


def diagnostic() -> Command:
    """The server of this suite's own, with what the conformance suite calls by name."""
    return ("/usr/bin/env", f"PYTHONPATH={_ROOT}", sys.executable, str(Path(__file__).with_name("diagnostic.py")))


def direct(command: Command, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """How a client starts an upstream itself."""
    return {"command": command[0], "args": list(command[1:]), "env": dict(environment or {})}


def proxied(command: Command, environment: Mapping[str, str], options: Sequence[str] = ()) -> dict[str, Any]:
    """How a client starts our proxy in front of one; what of `environment` is not ours is passed on by name."""
    passed = [part for name in environment if not name.startswith("SPILLCACHE_") for part in ("--env", name)]
    return direct((*COMMAND, "proxy", *options, *passed, "--", *command), environment)
