"""Settings: the environment, its defaults, and what goes over it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spillcache.errors import ArgumentsInvalid
from spillcache.wiring.settings import PREFIX, Settings, read_settings


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the settings of the machine that runs the tests."""
    for name in Settings.model_fields:
        monkeypatch.delenv(f"{PREFIX}{name.upper()}", raising=False)


def test_an_empty_environment_has_the_documented_defaults() -> None:
    """All of them; nothing is open beyond this machine."""
    assert read_settings().model_dump() == {
        "redis_url": None,
        "prefix": "sc",
        "ttl_s": 900,
        "max_age_s": 86_400,
        "budget_bytes": 7_500,
        "max_payload_bytes": 256 * 1024 * 1024,
        "preview_bytes": (1024, 256),
        "deadline_s": (2, 10),
        "concurrency": 16,
        "wait_replicas": 0,
        "keyring_file": None,
        "keyring": None,
        "tenant": "default",
        "tool_name": "search_query_spill",
        "series": True,
        "rendering": "json",
        "structured_content": False,
        "client_budgets": {},
        "max_page_bytes": 320 * 1024,
        "full_bytes": 64 * 1024,
        "max_request_bytes": 4 * 1024 * 1024,
        "max_callers": 64,
        "host": "127.0.0.1",
        "port": 8_321,
        "metrics_port": 9_321,
        "drain_s": 5,
        "grace_s": 15,
        "allowed_hosts": [],
        "tokens_file": None,
        "jwks_url": None,
        "jwt_issuer": None,
        "jwt_audience": None,
        "jwt_tenant_claim": "tenant",
        "allow_no_auth": False,
        "log_format": "auto",
    }


def test_the_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers, pairs and paths come typed."""
    given = {"TTL_S": "60.5", "PREVIEW_BYTES": "10, 20", "DEADLINE_S": "0.5,3", "KEYRING_FILE": "k.json"}
    for name, value in given.items():
        monkeypatch.setenv(f"{PREFIX}{name}", value)
    settings = read_settings()
    assert (settings.ttl_s, settings.preview_bytes, settings.deadline_s) == (60.5, (10, 20), (0.5, 3.0))
    assert settings.keyring_file == Path("k.json")


def test_an_empty_variable_is_one_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deployment templates leave empty variables behind."""
    monkeypatch.setenv(f"{PREFIX}REDIS_URL", "")
    monkeypatch.setenv(f"{PREFIX}TTL_S", "")
    assert (read_settings().redis_url, read_settings().ttl_s) == (None, 900)


def test_what_is_given_goes_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """None means not given."""
    monkeypatch.setenv(f"{PREFIX}TENANT", "a")
    assert read_settings(tenant="b").tenant == "b"
    assert read_settings(tenant=None).tenant == "a"


def test_a_named_key_ring_file_goes_over_a_ring_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """But two rings in the environment are a mistake, and are not guessed between."""
    monkeypatch.setenv(f"{PREFIX}KEYRING", "{}")
    assert read_settings(keyring_file=Path("k.json")).keyring is None
    monkeypatch.setenv(f"{PREFIX}KEYRING_FILE", "k.json")
    with pytest.raises(ArgumentsInvalid, match="not both"):
        read_settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TTL_S", "0"),
        ("TTL_S", "nan"),
        ("TTL_S", "inf"),
        ("MAX_AGE_S", "-1"),
        ("BUDGET_BYTES", "many"),
        ("PREVIEW_BYTES", "1"),
        ("PREVIEW_BYTES", "-1,2"),
        ("DEADLINE_S", "2,0"),
        ("DEADLINE_S", "2,inf"),
        ("PREFIX", "a{b}"),
        ("LOG_FORMAT", "xml"),
        ("WAIT_REPLICAS", "-1"),
        ("RENDERING", "xml"),
        ("PORT", "65536"),
        ("METRICS_PORT", "-2"),
        ("DRAIN_S", "-1"),
        ("MAX_PAGE_BYTES", "1048576"),
        ("CLIENT_BUDGETS", '{"my-agent": 0}'),
        ("ALLOWED_HOSTS", "not json"),
    ],
)
def test_a_wrong_value_is_refused_by_name_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """The message names the variable; the value might be a secret that was put into the wrong one."""
    monkeypatch.setenv(f"{PREFIX}{name}", value)
    with pytest.raises(ArgumentsInvalid, match=re.escape(f"{PREFIX}{name}: ")):
        read_settings()


def test_lists_and_tables_are_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts and budgets by client."""
    monkeypatch.setenv(f"{PREFIX}ALLOWED_HOSTS", '["spills.example:*"]')
    monkeypatch.setenv(f"{PREFIX}CLIENT_BUDGETS", '{"my-agent": 20000}')
    settings = read_settings()
    assert (settings.allowed_hosts, settings.client_budgets) == (["spills.example:*"], {"my-agent": 20_000})


def test_secrets_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """A URL with a password, and a key ring, are not in what is printed of settings."""
    monkeypatch.setenv(f"{PREFIX}REDIS_URL", "redis://:hunter2@host")
    monkeypatch.setenv(f"{PREFIX}KEYRING", "hunter2")
    assert "hunter2" not in repr(read_settings()) + str(read_settings())
