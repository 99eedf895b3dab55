"""Diagnosis of a deployment: what the configured Redis, keys and clocks are like, and what would have to change.

What a writer and a reader need is really tried, see `roles`. A user who may only write, or only read, is sound: many
deployments give each process no more than it needs.
"""

from __future__ import annotations

import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from redis import RedisCluster
from redis import exceptions as theirs

from spillcache._sync.connect import connect
from spillcache._sync.store import OLDEST_SERVER, Client, Store, translate
from spillcache.errors import ArgumentsInvalid, SpillError
from spillcache.wiring.environment import unknown_settings
from spillcache.wiring.opening import Tell, has_keyring, locate, open_keyring, stored_ring
from spillcache.wiring.roles import COMMANDS, FOREIGN, RoleName, Trials
from spillcache.wiring.settings import Settings
from spillcache.wiring.urls import shown_url

Level = Literal["ok", "note", "advice", "change"]
Role = Literal["writer", "reader", "both"]

_NEARLY_FULL = 0.9
_VERBS: Mapping[RoleName, str] = {"writer": "write", "reader": "read"}
_ROLES: Mapping[Role | None, frozenset[RoleName]] = {
    None: frozenset(),
    "writer": frozenset({"writer"}),
    "reader": frozenset({"reader"}),
    "both": frozenset({"writer", "reader"}),
}

#: Under these a spill goes not at all, or only when the oldest has to; under the others any read may find it gone.
_GOOD_POLICIES = ("noeviction", "volatile-ttl")


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: `found` says what is, `remedy` what to do.

    "change" breaks things, "advice" will one day, a "note" is as it may well be meant.
    """

    check: str
    level: Level
    found: str
    remedy: str = ""

    def as_dict(self) -> dict[str, str]:
        """The finding for programs; without a remedy where none is needed."""
        answer = {"check": self.check, "level": self.level, "found": self.found}
        return answer | ({"remedy": self.remedy} if self.remedy else {})


def diagnose(settings: Settings, tell: Tell | None = None, *, role: Role | None = None) -> list[Finding]:
    """All findings. What Redis, the key ring or the URL does wrong is a finding, not an exception.

    Without a `role` it is enough that the user may write or read; with one, that role must be complete.
    """
    return [*_settings(), *_deployment(settings, tell, role)]


def _deployment(settings: Settings, tell: Tell | None, role: Role | None) -> list[Finding]:
    insisted = _ROLES[role]
    try:
        url = locate(settings, tell)
    except SpillError as error:
        return [_keys(settings, tell, reads=role != "writer"), _no_connection(error)]
    place = Finding("url", "ok", shown_url(url))
    try:
        client = connect(url, deadline_s=settings.deadline_s[0])
        store = Store(client, prefix=settings.prefix)
    except ArgumentsInvalid as error:
        wrong = Finding("url", "change", f"{shown_url(url)}: {error.message}", _URL)
        return [wrong, _keys(settings, tell, reads=role != "writer")]
    except SpillError as error:
        return [place, _keys(settings, tell, reads=role != "writer"), _no_connection(error)]
    try:
        probe = _Probe(client, store, settings)
        findings = probe.findings(insisted)
    finally:
        client.close()
    reads = "reader" in insisted if insisted else not probe.only_writes
    return [place, _keys(settings, tell, reads=reads), *findings]


def _settings() -> list[Finding]:
    unknown = unknown_settings()
    if not unknown:
        return []
    return [Finding("settings", "advice", f"not known, so without effect: {', '.join(unknown)}", _MISSPELT)]


_MISSPELT = "Correct the names, or remove them. In Kubernetes a Service makes some: set enableServiceLinks: false."


_URL = "Correct SPILLCACHE_REDIS_URL, or --redis-url: redis://HOST:6379/0."


def _no_connection(error: SpillError) -> Finding:
    own_words = error.next_step != error.default_next_step
    remedy = error.next_step if own_words else "Check the URL, the credentials and the network."
    return Finding("connection", "change", error.message, remedy)


def _keys(settings: Settings, tell: Tell | None, *, reads: bool) -> Finding:
    if not reads and not has_keyring(settings):
        return Finding("keys", "note", "none: writing needs none, reading would")
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
    """The checks that ask Redis. `only_writes` once it was found that the user may write and not read."""

    def __init__(self, client: Client, store: Store, settings: Settings) -> None:
        self._client, self._store, self._settings = client, store, settings
        self._run: Callable[..., Any] = client.execute_command
        self._node: dict[str, Any] = {}
        self.only_writes = False

    def findings(self, insisted: frozenset[RoleName]) -> list[Finding]:
        try:
            self._run("TIME", **self._any_node())
        except theirs.NoPermissionError:
            pass  # it is there and lets us in; that TIME is missing, the trials say
        except FOREIGN as error:
            return [_no_connection(translate(error))]
        trials = Trials(self._client, self._store, wait_replicas=self._settings.wait_replicas)
        self._node = trials.node
        self.only_writes = not trials.of("writer") and bool(trials.of("reader"))
        roles = [role_finding(trials, role, insisted, self._settings.prefix) for role in COMMANDS]
        return [*self._server(), *roles, self._clock(trials)]

    def _any_node(self) -> dict[str, Any]:
        return {"target_nodes": RedisCluster.RANDOM} if isinstance(self._client, RedisCluster) else {}

    def _server(self) -> list[Finding]:
        info: dict[str, Any] = {}
        try:
            for section in ("server", "memory", "replication"):
                info |= self._info(section)
        except FOREIGN:
            remedy = "To have version, policy and role checked: ACL SETUSER <user> +info"
            return [Finding("server", "advice", "not checked: INFO is not permitted", remedy)]
        return [version(info), policy(info), replication(info, self._settings.wait_replicas)]

    def _info(self, section: str) -> Mapping[str, Any]:
        reply = self._run("INFO", section, **self._node)
        inner = next(iter(reply.values()), None)
        return inner if isinstance(inner, dict) and isinstance(self._client, RedisCluster) else reply

    def _clock(self, trials: Trials) -> Finding:
        if "time" in trials.refusals:
            return Finding("clock", "advice", f"not checked: {trials.refusals['time'].why}")
        before = time.time()
        seconds, micros = self._run("TIME", **self._node)
        after = time.time()
        return clock(int(seconds) + int(micros) / 1e6, before, after, self._settings.ttl_s)


def role_finding(trials: Trials, role: RoleName, insisted: frozenset[RoleName], prefix: str) -> Finding:
    """Whether the user is a complete writer or reader; where not, what that would take.

    It has to be one when that is `insisted` on; when nothing is, when it is not the other either, or when more than a
    permission is missing.
    """
    verb, needed, refused = _VERBS[role], trials.needed(role), trials.of(role)
    rules = " ".join(f"+{command}" for command in needed)
    if not refused:
        rm = "; `rm` would also need +unlink" if role == "reader" and "unlink" in trials.refusals else ""
        return Finding(verb, "ok", f"may {verb} keys under {prefix}: {rules}{rm}")
    found = f"may not {verb}: " + "; ".join(f"{one.command}: {one.why}" for one in refused)
    if not all(one.by_acl for one in refused):
        level: Level = "note" if insisted and role not in insisted else "change"
        return Finding(verb, level, found, "" if level == "note" else _NOT_THE_ACL)
    others = [other for other in COMMANDS if other != role and not trials.of(other)]
    level = ("change" if role in insisted else "note") if insisted else ("note" if others else "change")
    return Finding(verb, level, found, f"If it is to {verb}: ACL SETUSER <user> ~{prefix}:* {rules}")


_NOT_THE_ACL = "Make the server take the command: see the other checks, and its log."


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
