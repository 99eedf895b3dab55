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


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a key ring, for all processes of a module: starting one takes longer than most tests of it."""
    made = tmp_path_factory.mktemp("service")
    (made / "ring.json").write_text(format_ring({"k": secrets.token_bytes(32)}, "k"))
    return made


@pytest.fixture
def serve(directory: Path) -> Iterator[Serve]:
    """Factory of serving processes that share a key ring; those that still run at the end are killed."""
    with ExitStack() as stack:

        def start(redis_url: str, *options: str, **settings: str) -> Service:
            return stack.enter_context(serving(redis_url, directory, *options, **settings))

        yield start
