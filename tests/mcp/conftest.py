"""What the tests of the MCP face share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spillcache.keyring import format_ring


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    """A key ring's file, for servers in processes of their own."""
    path = tmp_path / "ring.json"
    path.write_text(format_ring({"test": os.urandom(32)}, "test"))
    return path
