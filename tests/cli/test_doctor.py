"""`spillcache doctor`, on servers that are well and on some that are not."""

from __future__ import annotations

import itertools
import secrets
from pathlib import Path

import redis

from tests.cli.commands import Program
from tests.conftest import OwnServer
from tests.servers.caches import keys, metrics
from tests.servers.process import Admin
from tests.servers.requirements import requires


def _fill(client: redis.Redis) -> None:
    """Write until nothing fits any more."""
    for number in itertools.count():
        try:
            client.set(f"fill:{number}", bytes(100_000), ex=600)
        except redis.exceptions.OutOfMemoryError:
            return


def _levels(answer: dict[str, list[dict[str, str]]]) -> dict[str, str]:
    return {found["check"]: found["level"] for found in answer["findings"]}


def test_a_sound_deployment_passes_and_nothing_stays_behind(program: Program, own_server: OwnServer) -> None:
    """Every check is made; the key that was tried on is gone."""
    server = own_server({"maxmemory": "64mb"})
    ran = program("doctor", "--json", SPILLCACHE_REDIS_URL=server.url)
    assert (ran.code, ran.answer["healthy"]) == (0, True)
    assert set(_levels(ran.answer).items()) == {
        (check, "ok") for check in ("keys", "version", "policy", "role", "commands", "clock")
    }
    assert keys(server.url) == []


def test_doctor_for_people_says_what_to_change(program: Program, own_server: OwnServer) -> None:
    """An evicting policy is found, and the command that changes it is printed."""
    server = own_server({"maxmemory": "64mb", "maxmemory-policy": "allkeys-lru"})
    ran = program("doctor", SPILLCACHE_REDIS_URL=server.url)
    assert ran.code == 1
    assert "maxmemory-policy noeviction" in ran.text


def test_no_limit_is_advice_unless_strict(program: Program, own_server: OwnServer) -> None:
    """A server without maxmemory works today: exit code 0, but 1 with --strict."""
    url = own_server().url
    ran = program("doctor", "--json", SPILLCACHE_REDIS_URL=url)
    assert (ran.code, _levels(ran.answer)["policy"]) == (0, "advice")
    assert program("doctor", "--strict", SPILLCACHE_REDIS_URL=url).code == 1


@requires("server binary")
def test_the_documented_acl_is_enough_and_less_is_found(program: Program, own_server: OwnServer) -> None:
    """With the commands that doctor names a user passes; without one, or with other keys, it says which is missing."""
    admin, password = Admin(password=secrets.token_hex(8)), secrets.token_hex(8)
    server = own_server({"maxmemory": "64mb", "requirepass": admin.password}, admin=admin)
    url = server.url.replace(f"default:{admin.password}", f"app:{password}")
    needed = "+time +multi +exec +hset +pexpire +hmget +hlen +pttl +unlink"

    def as_user(rules: str) -> dict[str, list[dict[str, str]]]:
        with server.client() as client:
            client.execute_command("ACL", "SETUSER", "app", "reset", "on", f">{password}", *rules.split())
        answer: dict[str, list[dict[str, str]]] = program("doctor", "--json", SPILLCACHE_REDIS_URL=url).answer
        return answer

    assert _levels(as_user(f"~sc:* {needed}"))["commands"] == "ok"
    payload = metrics()
    spill_id = program.put(payload, SPILLCACHE_REDIS_URL=url)
    assert program("walk", spill_id, SPILLCACHE_REDIS_URL=url).out == payload
    assert program("rm", spill_id, SPILLCACHE_REDIS_URL=url).code == 0
    without = [found for found in as_user(f"~sc:* {needed} -pttl")["findings"] if found["check"] == "commands"]
    assert [found["found"].split(":")[0] for found in without] == ["PTTL"]
    assert needed in without[0]["remedy"]
    elsewhere = [found for found in as_user(f"~other:* {needed}")["findings"] if found["check"] == "commands"]
    assert all("keys" in found["found"] for found in elsewhere)
    hset = [found for found in as_user(f"~sc:* {needed} -hset")["findings"] if found["check"] == "commands"]
    assert len(hset) == 1
    assert "HSET" in hset[0]["found"]
    assert keys(server.url) == []


def test_a_replica_is_not_a_place_to_write(program: Program, own_server: OwnServer) -> None:
    """The role is found, and so is that writing fails."""
    primary = own_server()
    replica = own_server({"replicaof": f"127.0.0.1 {primary.port}"})
    ran = program("doctor", "--json", SPILLCACHE_REDIS_URL=replica.url)
    assert (ran.code, _levels(ran.answer)["role"], _levels(ran.answer)["commands"]) == (1, "change", "change")


def test_replicas_that_writes_wait_for_must_exist(program: Program, redis_url: str) -> None:
    """WAIT_REPLICAS without replicas means that no write can succeed."""
    ran = program("doctor", "--json", SPILLCACHE_WAIT_REPLICAS="2")
    assert (ran.code, _levels(ran.answer)["role"]) == (1, "change")


def test_a_full_server_is_found(program: Program, own_server: OwnServer) -> None:
    """Writing is really tried: out of memory shows."""
    server = own_server({"maxmemory": "3mb", "maxmemory-policy": "noeviction"})
    with server.client() as client:
        _fill(client)
    ran = program("doctor", "--json", SPILLCACHE_REDIS_URL=server.url)
    assert (ran.code, _levels(ran.answer)["commands"]) == (1, "change")


def test_a_ring_that_others_may_read_is_advice(program: Program, keyring_file: Path) -> None:
    """The mode of the key ring's file is looked at."""
    keyring_file.chmod(0o644)
    assert _levels(program("doctor", "--json").answer)["keys"] == "advice"


def test_a_cluster_is_examined_too(program: Program, cluster_url: str) -> None:
    """Commands go to the node that holds the key."""
    url = cluster_url.replace("redis://", "redis+cluster://")
    levels = _levels(program("doctor", "--json", SPILLCACHE_REDIS_URL=url).answer)
    assert (levels["version"], levels["commands"], levels["clock"]) == ("ok", "ok", "ok")
