"""Real payloads, walked back from another process than the writer's."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from spillcache import Keyring
from spillcache.demo import sample
from spillcache.keyring import format_ring
from spillcache.sync import SpillCache
from tests.cache.walker import walkers
from tests.samples import SAMPLES, payload_of

BUDGETS = (1_500, 7_500, 48_000)


@pytest.fixture
def ring(tmp_path: Path) -> str:
    """A key ring's file, which writer and readers share."""
    path = tmp_path / "ring.json"
    path.write_text(format_ring({"test": os.urandom(32)}, "test"))
    return str(path)


@pytest.fixture
def writer(redis_url: str, ring: str) -> Iterator[SpillCache]:
    """The process that writes: this one."""
    with SpillCache.from_url(redis_url, keyring=Keyring.from_file(ring)) as cache:
        yield cache


def test_every_sample_walks_back_exactly_from_another_process(
    redis_url: str, ring: str, writer: SpillCache, tmp_path: Path
) -> None:
    """At 1,500, 7,500 and 48,000 bytes: COMPLETE, the same SHA-256, no page over its budget."""
    assert len(SAMPLES) >= 15
    payloads = {path.name: payload_of(path) for path in SAMPLES} | {"batch of twelve": sample.payload()}
    with walkers(redis_url, ring) as readers:
        for name, payload in payloads.items():
            path = tmp_path / name
            path.write_bytes(payload)
            digest = hashlib.sha256(payload).hexdigest()
            walks = readers.walk(writer.put(path, tool=path.name).spill_id, BUDGETS)
            for walked, budget in zip(walks, BUDGETS, strict=True):
                assert walked.process != os.getpid()
                assert (walked.size, walked.sha256, walked.status) == (len(payload), digest, "COMPLETE"), path.name
                assert walked.receipt_sha256 == digest
                assert walked.widest <= budget


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_every_sample_has_an_envelope_and_an_inventory(writer: SpillCache, path: Path) -> None:
    """The envelope fits, its ends are the file's, and every result of the inventory can be read by its number."""
    payload = payload_of(path)
    envelope = writer.put(payload)
    assert envelope.size_bytes == len(payload)
    assert payload.startswith(envelope.preview.encode())
    assert payload.endswith(envelope.preview_tail.encode())
    listing = writer.inventory(envelope.spill_id)
    for entry in listing.entries[:: max(1, len(listing.entries) // 7)]:
        pages = list(writer.walk(envelope.spill_id, result=entry.index))
        assert b"".join(page.data for page in pages) == payload[entry.start : entry.end]
        assert pages[-1].result_status == "COMPLETE"
