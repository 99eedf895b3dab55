"""Servers of ours that foreign clients talk to, one for each test process, on the server that all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.foreign.prometheus import Prometheus, prometheus
from tests.foreign.serving import Served, new_keyring, serving, settings
from tests.servers.providers import Provided


@pytest.fixture(scope="session")
def served(server: Provided, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`spillcache serve` with everything at its default."""
    environment = settings(server.url, new_keyring())
    with serving(["serve"], environment, tmp_path_factory.mktemp("serve")) as running:
        yield running


@pytest.fixture(scope="session")
def served_structured(server: Provided, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`spillcache serve` that declares an outputSchema and sends structuredContent."""
    environment = settings(server.url, new_keyring(), structured_content="true")
    with serving(["serve"], environment, tmp_path_factory.mktemp("structured")) as running:
        yield running


@pytest.fixture
def proxy_settings(redis_url: str) -> dict[str, str]:
    """The environment of a proxy of this test's own."""
    return settings(redis_url, new_keyring())


@pytest.fixture(scope="session")
def real_prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus with fifteen minutes of data."""
    with prometheus(tmp_path_factory.mktemp("prometheus")) as running:
        yield running


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home directory, for programs that keep things there."""
    directory = tmp_path / "home"
    directory.mkdir()
    return directory
