"""Fixtures: real servers, and the check that no test leaves a key on one for ever.

| fixture | scope | what it is |
|---|---|---|
| `server` | session, one per test worker | where it came from, URL, version (`Provided`) |
| `redis_url` | test | URL of that server, emptied |
| `own_server` | test | factory of servers to configure, pause, kill: `own_server({"maxmemory": "8mb"})` |
| `cluster`, `cluster_url` | session, test | three masters; the URL of one, all of them emptied |

`own_server` and `cluster` take what `requires("server binary")` promises; asking for them implies it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import hypothesis
import pytest
import redis

from tests.servers import leaks, topologies
from tests.servers.process import Admin, Config, ServerProcess
from tests.servers.providers import Provided, provide
from tests.servers.report import REPORT, RunReport, sort_out
from tests.servers.requirements import server_binary

# A test's fixtures serve all its examples: every spill has an id of its own, so they do not meet.
_SUPPRESSED = [hypothesis.HealthCheck.function_scoped_fixture, hypothesis.HealthCheck.too_slow]
hypothesis.settings.register_profile(
    "default",
    max_examples=60,
    deadline=None,
    derandomize="CI" in os.environ,  # a red run must be red for everybody
    suppress_health_check=_SUPPRESSED,
    print_blob=True,
)
hypothesis.settings.register_profile(
    "long", max_examples=2_000, deadline=None, suppress_health_check=_SUPPRESSED, print_blob=True
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


class OwnServer(Protocol):
    """Start a server for this test alone; it is stopped when the test ends."""

    def __call__(self, config: Config | None = None, *, admin: Admin | None = None) -> ServerProcess:
        """Return once it answers."""
        ...


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest, worker_number: int) -> Iterator[Provided]:
    """The session's server, one for each test worker."""
    provided = provide(worker_number)
    request.config.stash[REPORT].servers.add(f"{provided.version} ({provided.provider})")
    yield provided
    provided.stop()


@pytest.fixture(scope="session")
def worker_number() -> int:
    """0 in a run without workers, else this worker's number."""
    return int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


@pytest.fixture
def redis_url(server: Provided) -> str:
    """URL of the session's server (a database of it, where others share it), empty."""
    client = redis.Redis.from_url(server.url)
    try:
        client.flushdb()
    finally:
        client.close()
    return server.url


@pytest.fixture
def own_server(own_servers: list[ServerProcess]) -> Iterator[OwnServer]:
    """Factory of servers that this test may configure, pause, kill and restart."""
    with ExitStack() as stack:

        def start(config: Config | None = None, *, admin: Admin | None = None) -> ServerProcess:
            started = stack.enter_context(ServerProcess.start(server_binary(), config, admin=admin))
            own_servers.append(started)
            return started

        yield start


@pytest.fixture
def own_servers() -> list[ServerProcess]:
    """Those that `own_server` has started in this test."""
    return []


@pytest.fixture(scope="session")
def cluster() -> Iterator[topologies.Cluster]:
    """Three masters that share the slots."""
    with topologies.cluster(server_binary()) as running:
        yield running


@pytest.fixture
def cluster_url(cluster: topologies.Cluster) -> str:
    """URL of one of the cluster's nodes; all of them are empty."""
    cluster.flush()
    return cluster.url


@pytest.fixture(autouse=True)
def every_key_has_a_ttl(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail any test after which a key without TTL is left on a server it used.

    The servers' fixtures are set up here, before the test's others, so that they are still there to be asked.
    """
    left_on: list[Callable[[], list[str]]] = []
    if "redis_url" in request.fixturenames:
        url: str = request.getfixturevalue("redis_url")
        left_on.append(lambda: [url])
    if "cluster_url" in request.fixturenames:
        request.getfixturevalue("cluster_url")
        running: topologies.Cluster = request.getfixturevalue("cluster")
        left_on.append(lambda: [node.url for node in running.masters])
    if "own_server" in request.fixturenames:
        request.getfixturevalue("own_server")
        started: list[ServerProcess] = request.getfixturevalue("own_servers")
        left_on.append(lambda: [one.url for one in started if one.running])
    yield
    immortal = [name for urls in left_on for url in urls() for name in leaks.immortal_keys(url)]
    assert not immortal, f"keys without a TTL are left: {immortal[:5]}"


def pytest_configure(config: pytest.Config) -> None:
    """Begin the run's report."""
    config.stash[REPORT] = RunReport()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take out the tests that this machine cannot run; they are counted, not skipped."""
    removed = sort_out(items, config.stash[REPORT])
    if removed:
        config.hook.pytest_deselected(items=removed)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send a worker's report to the process that prints."""
    output: dict[str, object] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        report = session.config.stash[REPORT]
        output["servers"] = sorted(report.servers)
        output["not_run"] = dict(report.not_run)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object, error: object) -> None:
    """Take a worker's report over."""
    output = getattr(node, "workeroutput", {})
    config: pytest.Config = node.config  # type: ignore[attr-defined]
    config.stash[REPORT].merge(output.get("servers", []), output.get("not_run", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print which server the tests ran on, and which tests did not run and why.

    Also written to the file `SPILLCACHE_TEST_RUN_REPORT`, for the table of the wide matrix.
    """
    lines = config.stash[REPORT].lines()
    if copy := os.environ.get("SPILLCACHE_TEST_RUN_REPORT"):
        Path(copy).write_text("\n".join(lines))
    if lines:
        terminalreporter.section("servers")
        terminalreporter.write("\n".join(lines) + "\n")
