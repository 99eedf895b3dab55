"""The answers of real backends that tests read."""

from __future__ import annotations

from pathlib import Path

import zstandard

DATA = Path(__file__).parent / "data"
SAMPLES = sorted(path for path in DATA.rglob("*") if path.is_file())


def payload_of(path: Path) -> bytes:
    """A sample's bytes; the large ones are kept compressed."""
    raw = path.read_bytes()
    return zstandard.decompress(raw) if path.suffix == ".zst" else raw
