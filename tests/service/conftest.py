"""What the tests of serving processes share."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from spillcache.keyring import format_ring
from tests.service.process import Service, serving

Serve = Callable[..., Service]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory with a key ring."""
    (tmp_path / "ring.json").write_text(format_ring({"k": secrets.token_bytes(32)}, "k"))
    return tmp_path


@pytest.fixture
def serve(directory: Path) -> Iterator[Serve]:
    """Factory of serving processes that share a key ring; those that still run at the end are killed."""
    with ExitStack() as stack:

        def start(redis_url: str, *options: str, **settings: str) -> Service:
            return stack.enter_context(serving(redis_url, directory, *options, **settings))

        yield start
