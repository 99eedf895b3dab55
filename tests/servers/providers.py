"""Where the session's server comes from: a URL, a container, or a binary; the first of these that works."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

import redis

from tests.servers.process import ServerProcess
from tests.servers.requirements import missing, server_binary

_IMAGE = "redis:7"
_DATABASES = 16  # what a server has unless configured otherwise


class NoServerError(AssertionError):
    """No provider could give a server, or not the one that `SPILLCACHE_REQUIRE_PROVIDER` names."""


@dataclass(frozen=True, slots=True)
class Provided:
    """A server for the session: where it came from, its URL and version, and how to give it back."""

    provider: str
    url: str
    version: str
    stop: Callable[[], None]


class _UnavailableError(Exception):
    """This provider cannot serve; the text says why."""


def provide(worker: int, environment: Mapping[str, str] = os.environ) -> Provided:
    """The first server that works, for test worker number `worker`.

    `SPILLCACHE_TEST_PROVIDER` (url, docker or binary) restricts the choice; `SPILLCACHE_REQUIRE_PROVIDER`
    turns any other outcome into NoServerError, which also lists why each provider was passed over.
    """
    only, required = (
        environment.get("SPILLCACHE_TEST_PROVIDER"),
        environment.get("SPILLCACHE_REQUIRE_PROVIDER"),
    )
    reasons: list[str] = []
    for name, start in _PROVIDERS.items():
        if only not in (None, "", name):
            continue
        try:
            provided = start(worker, environment)
        except _UnavailableError as error:
            reasons.append(f"{name}: {error}")
            continue
        if required and required != name:
            provided.stop()
            raise NoServerError(f"{required} was required, but {name} came first; {'; '.join(reasons)}")
        return provided
    raise NoServerError(f"no server for the tests: {'; '.join(reasons) or f'no provider is called {only!r}'}")


def server_version(url: str) -> str:
    """For example `Valkey 9.1.2` or `Redis 7.0.15`, as the server itself says. Raises redis.RedisError."""
    client = redis.Redis.from_url(url, socket_timeout=5.0, socket_connect_timeout=2.0)
    try:
        info = client.info("server")
    finally:
        client.close()
    return f"Valkey {info['valkey_version']}" if "valkey_version" in info else f"Redis {info['redis_version']}"


def _from_url(worker: int, environment: Mapping[str, str]) -> Provided:
    configured = environment.get("SPILLCACHE_TEST_REDIS_URL")
    if not configured:
        raise _UnavailableError("SPILLCACHE_TEST_REDIS_URL is not set")
    url = _own_database(configured, worker)
    try:
        return Provided("url", url, server_version(url), lambda: None)
    except redis.RedisError as error:
        raise _UnavailableError(f"the configured server does not serve: {type(error).__name__}") from None


def _own_database(url: str, worker: int) -> str:
    """`url` with a database for this worker alone: each test empties its database before it starts."""
    parts = urlsplit(url)
    base = int(parts.path.strip("/") or 0)
    if base + worker >= _DATABASES:
        raise _UnavailableError("more test workers than databases")
    return urlunsplit(parts._replace(path=f"/{base + worker}"))


def _from_docker(worker: int, environment: Mapping[str, str]) -> Provided:
    del worker, environment
    if reason := missing("docker"):
        raise _UnavailableError(reason)
    # Without the reaper container: the engine may have no registry to fetch its image from.
    os.environ.setdefault("TESTCONTAINERS_RYUK_DISABLED", "true")
    os.environ.setdefault("TC_POOLING_INTERVAL", "0.1")
    container = importlib.import_module("testcontainers.community.redis").RedisContainer(_IMAGE)
    try:
        container.start()
        url = f"redis://{container.get_container_host_ip()}:{container.get_exposed_port(6379)}"
        return Provided("docker", url, server_version(url), container.stop)
    except Exception as error:  # the engine's errors have no common root; the reason is reported
        container.stop()
        raise _UnavailableError(f"{_IMAGE} did not start: {type(error).__name__}") from None


def _from_binary(worker: int, environment: Mapping[str, str]) -> Provided:
    del worker, environment
    if reason := missing("server binary"):
        raise _UnavailableError(reason)
    server = ServerProcess.start(server_binary())
    return Provided("binary", server.url, server_version(server.url), server.stop)


_PROVIDERS: dict[str, Callable[[int, Mapping[str, str]], Provided]] = {
    "url": _from_url,
    "docker": _from_docker,
    "binary": _from_binary,
}
