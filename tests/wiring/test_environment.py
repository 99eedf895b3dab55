"""The environment: what children get of it, and misspelt settings in it."""

from __future__ import annotations

import pytest

from spillcache.wiring.environment import environment, environment_without_settings, unknown_settings


def test_a_name_that_is_no_setting_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """In whatever case; those that are settings are not, nor those of the tests."""
    for name in ("SPILLCACHE_TTL", "spillcache_ttl_s", "SPILLCACHE_REDIS_URL", "SPILLCACHE_TEST_X", "Spillcache_x"):
        monkeypatch.setenv(name, "1")
    assert unknown_settings() == ["SPILLCACHE_TTL", "Spillcache_x"]


def test_a_child_gets_no_setting_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """But all else."""
    monkeypatch.setenv("SPILLCACHE_TENANT", "t")
    assert environment().keys() - environment_without_settings().keys() >= {"SPILLCACHE_TENANT"}
    assert "PATH" in environment_without_settings()
