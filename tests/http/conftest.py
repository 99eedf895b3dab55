"""Fixtures: a server of the REST face, and a client of it."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from tests.http.serving import Heard, serving
from tests.servers.providers import Provided


@pytest.fixture(scope="session")
def running(server: Provided) -> Iterator[tuple[str, Heard]]:
    """A server with small limits, for all tests: its URL, and who watches its cache."""
    watcher = Heard()
    with serving(server.url, watcher=watcher, max_payload_bytes=24 << 20) as url:
        yield url, watcher


@pytest.fixture
def url(redis_url: str, running: tuple[str, Heard]) -> str:
    """The URL of its routes; its Redis is empty."""
    return running[0]


@pytest.fixture
def heard(running: tuple[str, Heard]) -> Heard:
    """What its cache and face tell of this test."""
    running[1].acts.clear()
    running[1].refusals.clear()
    return running[1]


@pytest.fixture
def client(url: str) -> Iterator[httpx2.Client]:
    """A client whose addresses begin at the routes."""
    with httpx2.Client(base_url=url, timeout=30) as made:
        yield made
