"""The program against the session's server, and without any settings."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from spillcache.keyring import format_ring
from tests.cli.commands import Program, clean_environment


@pytest.fixture
def keyring_file(tmp_path: Path) -> Path:
    """A key ring, made for this test."""
    file = tmp_path / "keyring.json"
    file.write_text(format_ring({"k1": secrets.token_bytes(32)}, "k1"))
    file.chmod(0o600)
    return file


@pytest.fixture
def program(redis_url: str, keyring_file: Path, tmp_path: Path) -> Program:
    """The program, set up by its environment for the session's server."""
    settings = {"SPILLCACHE_REDIS_URL": redis_url, "SPILLCACHE_KEYRING_FILE": str(keyring_file)}
    return Program(clean_environment(tmp_path / "state", **settings), tmp_path)


@pytest.fixture
def unconfigured(tmp_path: Path) -> Iterator[Program]:
    """The program without any setting. Its embedded server, if it started one, is stopped at the end."""
    bare = Program(clean_environment(tmp_path / "state"), tmp_path)
    yield bare
    bare("embedded", "stop")
