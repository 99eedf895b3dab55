"""What the configured user may do: each command of a writer and of a reader, really tried.

Everything is tried on one key under the configured prefix, first what can be tried while it does not exist. It is
written only where it can be given a TTL and removed again, and is removed whatever came of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from redis import RedisCluster
from redis import exceptions as theirs

from spillcache._sync.store import Client, Store, translate
from spillcache.ids import RANDOM_BYTES, new_id

FOREIGN = (theirs.RedisError, theirs.RedisClusterException, OSError)

RoleName = Literal["writer", "reader"]

#: The least that each needs; `tests/store/test_acl.py` proves both lists.
COMMANDS: Mapping[RoleName, tuple[str, ...]] = {
    "writer": ("multi", "exec", "hset", "pexpire", "hlen", "time", "unlink"),
    "reader": ("hmget", "pexpire", "pttl", "time"),
}

_TRANSACTION = ("multi", "hset", "exec")
_TTL_MS = 60_000
_FIELD, _VALUE = "m", bytes(range(256))  # every byte value: a client or proxy that decodes would not give it back
_DENIED_COMMAND = re.compile(r"run the '([a-z|]+)' command")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A command that did not work, and why; `by_acl` when a permission is all that it lacks."""

    command: str
    why: str
    by_acl: bool


class Trials:
    """The outcome of trying every command: `refusals` by command, in small letters."""

    def __init__(self, client: Client, store: Store, *, wait_replicas: int) -> None:
        self._client, self._waits = client, wait_replicas > 0
        self._run: Callable[..., Any] = client.execute_command
        self._key = store.key(new_id(os.urandom(RANDOM_BYTES)), 0)
        self.refusals: dict[str, Refusal] = {}
        self._try_all()

    @property
    def node(self) -> dict[str, Any]:
        """Where a command without a key goes on a cluster: to the key's own node."""
        if not isinstance(self._client, RedisCluster):
            return {}
        return {"target_nodes": self._client.get_node_from_key(self._key)}

    def needed(self, role: RoleName) -> tuple[str, ...]:
        """The commands of a role under these settings."""
        return (*COMMANDS[role], *(("wait",) if role == "writer" and self._waits else ()))

    def of(self, role: RoleName) -> list[Refusal]:
        """What keeps the user from a role, each refusal once; empty when nothing does."""
        found = [self.refusals[command] for command in self.needed(role) if command in self.refusals]
        return list(dict.fromkeys(found))

    def _try_all(self) -> None:
        key = self._key
        self._try("time", lambda: self._run("TIME", **self.node))
        self._try("unlink", lambda: self._run("UNLINK", key))
        self._try("hmget", lambda: self._run("HMGET", key, _FIELD))
        self._try("hlen", lambda: self._run("HLEN", key))
        self._try("pttl", lambda: self._run("PTTL", key))
        self._try("pexpire", lambda: self._run("PEXPIRE", key, _TTL_MS))
        if self._waits:
            self._try("wait", lambda: self._run("WAIT", 0, 1, **self.node))
        if not {"unlink", "pexpire"} & self.refusals.keys():  # what would stay, or stay for ever, is not written
            self._try("hset", self._write_and_read)
            self._try("unlink", lambda: self._run("UNLINK", key))

    def _write_and_read(self) -> None:
        pipeline = self._client.pipeline(transaction=True)
        pipeline.execute_command("HSET", self._key, _FIELD, _VALUE)
        pipeline.execute_command("PEXPIRE", self._key, _TTL_MS)
        pipeline.execute()
        if "hmget" not in self.refusals and self._run("HMGET", self._key, _FIELD) != [_VALUE]:
            raise theirs.DataError("what was written did not come back")

    def _try(self, command: str, operation: Callable[[], object]) -> None:
        try:
            operation()
        except theirs.DataError as error:  # our own, from above
            self.refusals[command] = Refusal("HSET", str(error), by_acl=False)
        except FOREIGN as error:
            denied = _DENIED_COMMAND.search(str(error))
            name = denied[1] if denied is not None and command == "hset" else command  # one of the transaction's
            shown = name.upper() if denied is not None or command != "hset" else ", ".join(_TRANSACTION).upper()
            by_acl = isinstance(error, theirs.NoPermissionError)
            self.refusals[name if name in _TRANSACTION else command] = Refusal(shown, _why(error), by_acl)


def _why(error: Exception) -> str:
    if isinstance(error, theirs.NoPermissionError):
        of_keys = "key" in str(error).rpartition("caused error: ")[2].lower()
        return "the ACL does not permit these keys" if of_keys else "the ACL does not permit this command"
    return translate(error).message
