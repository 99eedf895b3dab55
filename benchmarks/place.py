"""Where and with what a run takes place: one core for client and server, and the versions of everything."""

from __future__ import annotations

import importlib.util
import os
import platform
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import redis

from spillcache.embedded import EmbeddedServer

_PACKAGES = ("redis", "hiredis", "numpy", "orjson", "zstandard", "xxhash", "google-re2", "mcp")
_ROOT = Path(__file__).resolve().parent.parent


def pin(pid: int = 0) -> bool:
    """Keep a process (0: this one) and all its threads on the one core of all benchmarks. False where none can.

    Placement alone changes a GET from 22 to 53 µs, so two processes left to the scheduler measure the scheduler.
    """
    if sys.platform != "linux":
        return False
    core = {max(os.sched_getaffinity(0))}
    for task in Path(f"/proc/{pid or 'self'}/task").iterdir():
        os.sched_setaffinity(int(task.name), core)
    return True


@contextmanager
def spread() -> Iterator[None]:
    """Let what is started inside have all cores: where it is asked who holds up whom, and not how long a call takes."""
    if sys.platform != "linux":
        yield
        return
    ours = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        yield
    finally:
        os.sched_setaffinity(0, ours)


@contextmanager
def served(maxmemory_bytes: int = 1 << 30) -> Iterator[EmbeddedServer]:
    """A fresh server, on our core."""
    with EmbeddedServer.start(maxmemory_bytes=maxmemory_bytes) as server:
        pin(server.pid)
        yield server


def has_uvloop() -> bool:
    """Whether uvloop is installed: the package does not need it, and benchmarks measure it where it is."""
    return importlib.util.find_spec("uvloop") is not None


def load() -> str:
    """Processes that wanted to run, averaged over the last 1, 5 and 15 minutes."""
    return " ".join(f"{average:.2f}" for average in os.getloadavg())


def surroundings() -> dict[str, str]:
    """Versions, machine and placement, in the order in which they are printed."""
    pinned = pin()
    packages = [*_PACKAGES, "uvloop"] if has_uvloop() else _PACKAGES
    return {
        "spillcache": f"{_declared()}{_revision()}",
        "Python": f"{platform.python_version()} ({platform.python_implementation()})",
        **{("redis-py" if name == "redis" else name): version(name) for name in packages},
        "server": _server(),
        "CPU": f"{_cpu()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "placement": "client and server pinned to the same core" if pinned else "not pinned: this system cannot",
        "load when the run began": load(),
    }


def _declared() -> str:
    """The version in pyproject.toml: what is measured is the source tree, installed or not."""
    declared: str = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    return declared


def _server() -> str:
    with served() as server, redis.Redis.from_url(server.url) as client:
        info = client.info("server")
    name = "Valkey" if "valkey_version" in info else "Redis"
    return f"{name} {info.get('valkey_version', info['redis_version'])}, unix socket"


def _cpu() -> str:
    source = Path("/proc/cpuinfo")
    lines = source.read_text(encoding="utf-8").splitlines() if source.exists() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def _revision() -> str:
    """The commit and whether files differ from it; nothing where there is no git or no repository."""
    try:
        said = subprocess.run(
            ["git", "describe", "--always", "--dirty"], cwd=_ROOT, capture_output=True, check=True, text=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f" at {said.stdout.strip()}"
