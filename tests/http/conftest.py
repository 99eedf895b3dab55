"""Fixtures: a server of the REST face, and a client of it."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from tests.http.serving import Heard, serving


@pytest.fixture
def heard() -> Heard:
    """What the server's cache and face tell whoever watches."""
    return Heard()


@pytest.fixture
def url(redis_url: str, heard: Heard) -> Iterator[str]:
    """The URL of the routes of a server with small limits."""
    with serving(redis_url, watcher=heard, max_payload_bytes=24 << 20) as running:
        yield running


@pytest.fixture
def client(url: str) -> Iterator[httpx2.Client]:
    """A client whose addresses begin at the routes."""
    with httpx2.Client(base_url=url, timeout=30) as made:
        yield made
