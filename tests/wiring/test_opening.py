"""From settings to a key ring and a cache."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from spillcache.errors import KeyringInvalid
from spillcache.keyring import format_ring
from spillcache.wiring.opening import (
    embedded_state,
    locate,
    open_async_cache,
    open_cache,
    open_keyring,
    stop_embedded,
    stored_ring,
)
from spillcache.wiring.settings import Settings, read_settings
from tests.servers.requirements import requires


@pytest.fixture
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's state directory of this test's own; a server that was started in it is stopped."""
    for name in Settings.model_fields:
        monkeypatch.delenv(f"SPILLCACHE_{name.upper()}", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    yield tmp_path
    stop_embedded()


def _ring() -> str:
    return format_ring({"k": secrets.token_bytes(32)}, "k")


def test_settings_reach_both_caches(redis_url: str, state_home: Path) -> None:
    """What one writes under these settings, the other reads."""
    settings = read_settings(redis_url=redis_url, keyring=_ring(), tenant="t", prefix="p", preview_bytes=(3, 2))
    with closing(open_cache(settings)) as cache:
        envelope = cache.put(b"0123456789" * 1_000)
    assert (envelope.preview, envelope.preview_tail) == ("012", "89")

    async def read() -> bytes:
        async with open_async_cache(settings) as other:
            return await other.fetch(envelope.spill_id)

    assert asyncio.run(read()) == b"0123456789" * 1_000


def test_a_configured_redis_without_a_key_is_refused(state_home: Path) -> None:
    """No key is made up where replicas must share one; the error prints the command that makes one."""
    settings = read_settings(redis_url="redis://127.0.0.1:1")
    with pytest.raises(KeyringInvalid) as caught:
        open_cache(settings)
    assert "spillcache keys new" in caught.value.next_step
    assert list(state_home.iterdir()) == []


def test_a_writer_needs_no_key(redis_url: str, state_home: Path) -> None:
    """It opens, writes, and cannot read."""
    with closing(open_cache(read_settings(redis_url=redis_url), reads=False)) as cache:
        spill_id = cache.put(b"text").spill_id
        with pytest.raises(KeyringInvalid):
            cache.page(spill_id)


def test_many_that_start_at_once_share_one_ring(state_home: Path) -> None:
    """Whoever makes the embedded server's ring first, all use that one."""
    told: list[str] = []
    barrier = threading.Barrier(8)
    rings: list[str] = []

    def start() -> None:
        barrier.wait()
        rings.append(stored_ring(read_settings(), told.append).text)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(rings)) == 1
    assert len(told) == 1
    assert [path.name for path in (state_home / "spillcache").iterdir()] == ["keyring.json"]


@requires("server binary")
def test_without_a_url_the_embedded_server_is_started_and_told_once(state_home: Path) -> None:
    """The second time it is there already."""
    told: list[str] = []
    assert embedded_state().pid is None
    url = locate(read_settings(), told.append)
    assert locate(read_settings(), told.append) == url == embedded_state().url
    assert len(told) == 1


def test_without_a_listener_the_log_is_told(state_home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A service that makes its own ring says so in its log."""
    caplog.set_level("INFO", logger="spillcache")
    open_keyring(read_settings())
    assert [record.message for record in caplog.records] == ["embedded_default"]
