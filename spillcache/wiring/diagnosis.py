"""Diagnosis of a deployment: what the configured Redis, keys and clocks are like, and what would have to change.

Everything is really tried, with commands that the store sends, on one key under the configured prefix that has a TTL
from the moment it exists and is removed again.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from redis import RedisCluster
from redis import exceptions as theirs

from spillcache._sync.connect import connect
from spillcache._sync.store import OLDEST_SERVER, Client, Store, translate
from spillcache.errors import SpillError
from spillcache.ids import RANDOM_BYTES, new_id
from spillcache.wiring.opening import Tell, locate, open_keyring, stored_ring
from spillcache.wiring.settings import Settings

Level = Literal["ok", "advice", "change"]

_FOREIGN = (theirs.RedisError, theirs.RedisClusterException, OSError)
_TTL_MS = 60_000
_FIELD, _VALUE = "m", bytes(range(256))  # every byte value: a client or proxy that decodes would not give it back
_NEARLY_FULL = 0.9
_NEEDED = "+time +multi +exec +hset +pexpire +hmget +hlen +pttl +unlink"

#: Under these a spill goes not at all, or only when the oldest has to; under the others any read may find it gone.
_GOOD_POLICIES = ("noeviction", "volatile-ttl")


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: `found` says what is, `remedy` what to do. "change" breaks things, "advice" will one day."""

    check: str
    level: Level
    found: str
    remedy: str = ""

    def as_dict(self) -> dict[str, str]:
        """The finding for programs; without a remedy where none is needed."""
        answer = {"check": self.check, "level": self.level, "found": self.found}
        return answer | ({"remedy": self.remedy} if self.remedy else {})


def diagnose(settings: Settings, tell: Tell | None = None) -> list[Finding]:
    """All findings. What Redis, the key ring or the URL does wrong is a finding, not an exception."""
    findings = [_keys(settings, tell)]
    try:
        url = locate(settings, tell)
        client = connect(url, deadline_s=settings.deadline_s[0])
        store = Store(client, prefix=settings.prefix)
    except SpillError as error:
        return [*findings, Finding("connection", "change", error.message, error.next_step)]
    try:
        return findings + _Probe(client, store, settings).findings()
    finally:
        client.close()


def _keys(settings: Settings, tell: Tell | None) -> Finding:
    try:
        ring = open_keyring(settings, tell)
        file = stored_ring(settings, tell).file
    except SpillError as error:
        return Finding("keys", "change", error.message, error.next_step)
    found = f"{len(ring.kids)} key(s), {ring.sign_kid} signs"
    if file is not None and stat.S_IMODE(file.stat().st_mode) & (stat.S_IRWXG | stat.S_IRWXO):
        return Finding("keys", "advice", f"{found}; others may read the file", f"chmod 600 {file}")
    return Finding("keys", "ok", found)


class _Probe:
    """The checks that ask Redis."""

    def __init__(self, client: Client, store: Store, settings: Settings) -> None:
        self._client, self._settings = client, settings
        self._run: Callable[..., Any] = client.execute_command
        self._key = store.key(new_id(os.urandom(RANDOM_BYTES)), 0)

    def findings(self) -> list[Finding]:
        try:
            clock = self._clock()
        except _FOREIGN as error:
            failure = translate(error)
            if not isinstance(error, theirs.NoPermissionError):
                return [
                    Finding("connection", "change", failure.message, "Check the URL, the credentials and the network.")
                ]
            clock = Finding("clock", "advice", "not checked: TIME is not permitted")
        return [*self._server(), *self._commands(), clock]

    def _server(self) -> list[Finding]:
        info: dict[str, Any] = {}
        try:
            for section in ("server", "memory", "replication"):
                info |= self._info(section)
        except _FOREIGN:
            remedy = "To have version, policy and role checked: ACL SETUSER <user> +info"
            return [Finding("server", "advice", "not checked: INFO is not permitted", remedy)]
        return [version(info), policy(info), replication(info, self._settings.wait_replicas)]

    def _info(self, section: str) -> Mapping[str, Any]:
        reply = self._run("INFO", section, **self._node())
        inner = next(iter(reply.values()), None)
        return inner if isinstance(inner, dict) and isinstance(self._client, RedisCluster) else reply

    def _clock(self) -> Finding:
        before = time.time()
        seconds, micros = self._run("TIME", **self._node())
        after = time.time()
        return clock(int(seconds) + int(micros) / 1e6, before, after, self._settings.ttl_s)

    def _commands(self) -> list[Finding]:
        """Try each command; first those that can be tried on a key that does not exist, so that none is left behind."""
        key, refused = self._key, dict[str, str]()
        for name, arguments in (
            ("TIME", ()),
            ("UNLINK", (key,)),
            ("HMGET", (key, _FIELD)),
            ("HLEN", (key,)),
            ("PTTL", (key,)),
            ("PEXPIRE", (key, _TTL_MS)),
        ):
            self._try(refused, name, partial(self._run, name, *arguments, **(self._node() if name == "TIME" else {})))
        if not refused:  # what cannot be removed or given a TTL must not be written
            self._try(refused, "MULTI, HSET, EXEC", self._write_and_read)
            self._try(refused, "UNLINK", partial(self._run, "UNLINK", key))
        if not refused:
            return [Finding("commands", "ok", f"all work on keys under {self._settings.prefix}: {_NEEDED}")]
        remedy = f"ACL SETUSER <user> ~{self._settings.prefix}:* {_NEEDED}"
        return [Finding("commands", "change", f"{name}: {why}", remedy) for name, why in refused.items()]

    def _write_and_read(self) -> None:
        pipeline = self._client.pipeline(transaction=True)
        pipeline.execute_command("HSET", self._key, _FIELD, _VALUE)
        pipeline.execute_command("PEXPIRE", self._key, _TTL_MS)
        pipeline.execute()
        if self._run("HMGET", self._key, _FIELD) != [_VALUE]:
            raise theirs.DataError("what was written did not come back")

    def _try(self, refused: dict[str, str], name: str, operation: Callable[[], object]) -> None:
        try:
            operation()
        except theirs.DataError as error:  # our own, from above
            refused[name] = str(error)
        except _FOREIGN as error:
            refused[name] = _why(error)

    def _node(self) -> dict[str, Any]:
        if not isinstance(self._client, RedisCluster):
            return {}
        return {"target_nodes": self._client.get_node_from_key(self._key)}


def version(info: Mapping[str, Any]) -> Finding:
    """Whether the server is new enough."""
    name = "Valkey" if "valkey_version" in info else "Redis"
    text = str(info.get("valkey_version") or info.get("redis_version") or "")
    number = tuple(int(part) for part in text.split(".")[:2] if part.isdigit())
    if name == "Redis" and number < OLDEST_SERVER:
        oldest = ".".join(map(str, OLDEST_SERVER))
        return Finding(
            "version", "change", f"{name} {text or 'unknown'}", f"Upgrade to Redis {oldest} or newer, or Valkey."
        )
    return Finding("version", "ok", f"{name} {text}")


def policy(info: Mapping[str, Any]) -> Finding:
    """Whether spills stay as long as they were promised to."""
    limit, used = int(info.get("maxmemory", 0)), int(info.get("used_memory", 0))
    name = str(info.get("maxmemory_policy", "unknown"))
    found = f"{name}, " + (f"{used / limit:.0%} of {limit >> 20} MiB used" if limit else "no maxmemory")
    if limit == 0:
        remedy = "CONFIG SET maxmemory: without a limit the kernel ends the server when memory runs out."
        return Finding("policy", "advice", found, remedy)
    if name not in _GOOD_POLICIES:
        remedy = (
            "CONFIG SET maxmemory-policy noeviction (or volatile-ttl, if the oldest spills may go): under this one "
            "a spill that is being read may be evicted."
        )
        return Finding("policy", "change", found, remedy)
    if used >= _NEARLY_FULL * limit:
        return Finding(
            "policy", "advice", found, "Give it more memory, or spills a shorter TTL: writes will be refused soon."
        )
    return Finding("policy", "ok", found)


def replication(info: Mapping[str, Any], wait_replicas: int) -> Finding:
    """Whether this is the primary, and has the replicas that writes are to wait for."""
    if info.get("role") != "master":
        return Finding("role", "change", "this is a replica, which takes no writes", "Point the URL at the primary.")
    replicas = int(info.get("connected_slaves", 0))
    found = f"primary, {replicas} replica(s)"
    if replicas < wait_replicas:
        remedy = f"Connect replicas, or lower SPILLCACHE_WAIT_REPLICAS from {wait_replicas}: no write can succeed."
        return Finding("role", "change", found, remedy)
    return Finding("role", "ok", found)


def clock(server: float, before: float, after: float, ttl_s: float) -> Finding:
    """How far this machine's clock is from the server's, beyond what the round trip leaves open.

    Stored leases are 4/3 of the TTL and renewed when a quarter has passed, so a twelfth of the TTL is what replicas'
    clocks may differ by before an advertised lease is cut short.
    """
    skew = before - server if server < before else max(0.0, server - after)
    found = f"{skew:.3f} s from the server's"
    if skew > ttl_s / 12:
        return Finding(
            "clock", "change", found, f"Synchronise clocks (NTP): over {ttl_s / 12:.0f} s cuts leases short."
        )
    return Finding("clock", "ok", found)


def _why(error: Exception) -> str:
    if isinstance(error, theirs.NoPermissionError):
        of_keys = "key" in str(error).rpartition("caused error: ")[2].lower()
        return "the ACL does not permit these keys" if of_keys else "the ACL does not permit this command"
    return translate(error).message
