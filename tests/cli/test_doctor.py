"""`spillcache doctor`, on servers that are well and on some that are not."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.commands import Program, Ran
from tests.conftest import OwnServer
from tests.servers.caches import keys
from tests.servers.process import Admin

AsUser = Callable[..., tuple[Ran, str]]


def _levels(answer: dict[str, list[dict[str, str]]]) -> dict[str, str]:
    return {found["check"]: found["level"] for found in answer["findings"]}


def test_a_sound_deployment_passes_and_nothing_stays_behind(program: Program, own_server: OwnServer) -> None:
    """Every check is made; the key that was tried on is gone."""
    server = own_server({"maxmemory": "64mb"})
    ran = program("doctor", "--json", SPILLCACHE_REDIS_URL=server.url)
    assert (ran.code, ran.answer["healthy"]) == (0, True)
    assert set(_levels(ran.answer).items()) == {
        (check, "ok") for check in ("url", "keys", "version", "policy", "role", "write", "read", "clock")
    }
    assert keys(server.url) == []


def test_a_misspelt_setting_is_advice(program: Program, own_server: OwnServer) -> None:
    """By its name; what it was set to may be a secret."""
    url = own_server({"maxmemory": "64mb"}).url
    ran = program("doctor", "--json", SPILLCACHE_REDIS_URL=url, SPILLCACHE_KEY_RING="secret")
    (found,) = [found for found in ran.answer["findings"] if found["check"] == "settings"]
    assert (ran.code, found["level"], "SPILLCACHE_KEY_RING" in found["found"]) == (0, "advice", True)
    assert "secret" not in ran.text


def test_doctor_for_people_says_what_to_change(program: Program, own_server: OwnServer) -> None:
    """An evicting policy is found, and the command that changes it is printed."""
    server = own_server({"maxmemory": "64mb", "maxmemory-policy": "allkeys-lru"})
    ran = program("doctor", SPILLCACHE_REDIS_URL=server.url)
    assert ran.code == 1
    assert "maxmemory-policy noeviction" in ran.text


@pytest.mark.parametrize("url", ["bogus", "http://127.0.0.1:6379", "redis://127.0.0.1:99999999"])
def test_a_url_that_is_none_is_what_to_change(program: Program, url: str) -> None:
    """It is the URL that is wrong; no connection was tried."""
    ran = program("doctor", "--json", SPILLCACHE_REDIS_URL=url)
    assert (ran.code, _levels(ran.answer)) == (1, {"url": "change", "keys": "ok"})


def test_no_limit_is_advice_unless_strict(program: Program, own_server: OwnServer) -> None:
    """A server without maxmemory works today: exit code 0, but 1 with --strict."""
    url = own_server().url
    ran = program("doctor", "--json", SPILLCACHE_REDIS_URL=url)
    assert (ran.code, _levels(ran.answer)["policy"]) == (0, "advice")
    assert program("doctor", "--strict", SPILLCACHE_REDIS_URL=url).code == 1


WRITER = "+multi +exec +hset +pexpire +hlen +time +unlink"  # as docs/acl.md has them
READER = "+hmget +pexpire +pttl +time"


@pytest.fixture
def as_user(program: Program, own_server: OwnServer) -> AsUser:
    """Doctor, run as a user who has these rules and none else; with the text for people."""
    admin, password = Admin(password=secrets.token_hex(8)), secrets.token_hex(8)
    server = own_server({"maxmemory": "64mb", "requirepass": admin.password}, admin=admin)
    url = server.url.replace(f"default:{admin.password}", f"app:{password}")

    def run(rules: str, *options: str, **environment: str) -> tuple[Ran, str]:
        with server.client() as client:
            client.execute_command("ACL", "SETUSER", "app", "reset", "on", f">{password}", "-@all", *rules.split())
        app = Program({**program.environment, "SPILLCACHE_REDIS_URL": url, **environment}, program.directory)
        ran, told = app("doctor", *options, "--json"), app("doctor", *options).text
        assert password not in told + ran.text
        assert keys(server.url) == []
        return ran, told

    return run


@pytest.mark.parametrize(("rules", "may", "not_"), [(WRITER, "write", "read"), (READER, "read", "write")])
def test_the_least_of_either_role_is_sound(as_user: AsUser, rules: str, may: str, not_: str) -> None:
    """It may do the one, exit code 0, and what the other would take is said, not the union of both."""
    ran, told = as_user(f"~sc:* {rules}")
    levels = _levels(ran.answer)
    assert (ran.code, levels[may], levels[not_]) == (0, "ok", "note")
    assert f"may {may} keys under sc:" in told
    (other,) = (found for found in ran.answer["findings"] if found["check"] == not_)
    assert {WRITER, READER} - {rules} == {other["remedy"].partition("sc:* ")[2]}
    assert "redis://app:***@" in told


@pytest.mark.parametrize(("rules", "role", "other"), [(WRITER, "writer", "reader"), (READER, "reader", "writer")])
def test_a_role_can_be_insisted_on(as_user: AsUser, rules: str, role: str, other: str) -> None:
    """The complete one passes; the other one, or both, does not."""
    assert as_user(f"~sc:* {rules}", "--role", role)[0].code == 0
    assert as_user(f"~sc:* {rules}", "--role", other)[0].code == 1
    assert as_user(f"~sc:* {rules}", "--role", "both")[0].code == 1


def test_a_writer_needs_no_key_ring(as_user: AsUser) -> None:
    """None is a note for whoever only writes, and must change for whoever reads."""
    none = {"SPILLCACHE_KEYRING_FILE": ""}
    ran, _ = as_user(f"~sc:* {WRITER}", **none)
    assert (ran.code, _levels(ran.answer)["keys"]) == (0, "note")
    assert _levels(as_user(f"~sc:* {READER}", **none)[0].answer)["keys"] == "change"
    assert as_user(f"~sc:* {WRITER} {READER}", **none)[0].code == 1
    assert as_user(f"~sc:* {WRITER} {READER}", "--role", "writer", **none)[0].code == 0


@pytest.mark.parametrize("missing", ["multi", "exec", "hset", "pexpire", "hlen", "time", "unlink"])
def test_each_command_that_a_writer_lacks_is_named(as_user: AsUser, missing: str) -> None:
    """One less than the least is not a writer."""
    ran, _ = as_user(f"~sc:* {WRITER} -{missing}", "--role", "writer")
    (found,) = (found for found in ran.answer["findings"] if found["check"] == "write")
    assert (ran.code, found["level"]) == (1, "change")
    assert missing.upper() in found["found"]


@pytest.mark.parametrize("missing", ["hmget", "pexpire", "pttl", "time"])
def test_each_command_that_a_reader_lacks_is_named(as_user: AsUser, missing: str) -> None:
    """One less than the least is not a reader."""
    ran, _ = as_user(f"~sc:* {READER} -{missing}", "--role", "reader")
    (found,) = (found for found in ran.answer["findings"] if found["check"] == "read")
    assert (ran.code, found["level"]) == (1, "change")
    assert missing.upper() in found["found"]


def test_a_user_of_other_keys_is_neither(as_user: AsUser) -> None:
    """Both are missing, and it is the keys."""
    ran, _ = as_user(f"~other:* {WRITER} {READER}")
    levels = _levels(ran.answer)
    assert (ran.code, levels["write"], levels["read"]) == (1, "change", "change")
    assert all(
        "these keys" in found["found"] for found in ran.answer["findings"] if found["check"] in ("write", "read")
    )


def test_a_replica_is_not_a_place_to_write(program: Program, own_server: OwnServer) -> None:
    """The role is found, and so is that writing fails."""
    primary = own_server()
    replica = own_server({"replicaof": f"127.0.0.1 {primary.port}"})
    ran = program("doctor", "--json", SPILLCACHE_REDIS_URL=replica.url)
    assert (ran.code, _levels(ran.answer)["role"], _levels(ran.answer)["write"]) == (1, "change", "change")


def test_replicas_that_writes_wait_for_must_exist(program: Program, redis_url: str) -> None:
    """WAIT_REPLICAS without replicas means that no write can succeed."""
    ran = program("doctor", "--json", SPILLCACHE_WAIT_REPLICAS="2")
    assert (ran.code, _levels(ran.answer)["role"]) == (1, "change")


def test_a_full_server_is_found(program: Program, own_server: OwnServer) -> None:
    """Writing is really tried: out of memory shows."""
    server = own_server({"maxmemory": "100kb", "maxmemory-policy": "noeviction"})  # every server holds more when empty
    ran = program("doctor", "--json", SPILLCACHE_REDIS_URL=server.url)
    assert (ran.code, _levels(ran.answer)["write"]) == (1, "change")


def test_a_ring_that_others_may_read_is_advice(program: Program, keyring_file: Path) -> None:
    """The mode of the key ring's file is looked at."""
    keyring_file.chmod(0o644)
    assert _levels(program("doctor", "--json").answer)["keys"] == "advice"


def test_a_cluster_is_examined_too(program: Program, cluster_url: str) -> None:
    """Commands go to the node that holds the key."""
    url = cluster_url.replace("redis://", "redis+cluster://")
    levels = _levels(program("doctor", "--json", SPILLCACHE_REDIS_URL=url).answer)
    assert {levels[check] for check in ("version", "write", "read", "clock")} == {"ok"}
