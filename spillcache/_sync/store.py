# Generated from spillcache/_async/store.py by scripts/unasync.py: edit that.
"""The store: the only module that speaks Redis.

```
{prefix}:{<spill id>}:<segment>     a hash with a TTL; the inner braces are the cluster's hash tag
    0 … 255                         frames of up to 256 chunks
    m                               the manifest, a copy in every segment; its presence is what "published" means
    inv, meta                       segment 0 only: the inventory, and its summary
    series, has                     segment 0 only, where series are looked for: their table, and that there is one
```

Every command that creates a key sets its TTL in the same MULTI, so that no kill leaves an immortal key. Foreign errors
are translated here, outside their handlers, so that no payload byte that redis-py put into a message travels on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from redis import Redis, RedisCluster
from redis import exceptions as theirs
from redis.sentinel import SentinelConnectionPool

from spillcache import defaults
from spillcache._sync.gate import Gate, Operation, settled
from spillcache._sync.kept import KeptConnections, may_keep
from spillcache.errors import (
    ArgumentsInvalid,
    ServerUnsupported,
    SlotMoved,
    SpillCorrupt,
    SpillError,
    SpillLost,
    StoreBusy,
    StoreFull,
    StoreUnavailable,
)
from spillcache.watch import UNWATCHED, Watcher

T = TypeVar("T")
Client = Redis | RedisCluster
Field = bytes | None

OLDEST_SERVER = (6, 2)

#: So long a server's clock is counted on after it was asked, in seconds: after a failover it may be another server's.
_CLOCK_S = 60.0


class Store:
    """Reads and writes the fields of spills. Every method is one operation: one place at the gate, one deadline.

    Raises `ServerUnsupported` for a client that decodes responses, and `ArgumentsInvalid` for a prefix with braces,
    which would take the hash tag from the spill id.
    """

    def __init__(
        self,
        client: Client,
        *,
        prefix: str = defaults.PREFIX,
        read_deadline_s: float = defaults.READ_DEADLINE_S,
        write_deadline_s: float = defaults.WRITE_DEADLINE_S,
        concurrency: int = defaults.CONCURRENCY,
        wait_replicas: int = defaults.WAIT_REPLICAS,
        watcher: Watcher = UNWATCHED,
    ) -> None:
        if client.get_encoder().decode_responses:
            raise ServerUnsupported("the Redis client has decode_responses=True, which cannot carry binary values")
        if not prefix or {"{", "}"} & set(prefix):
            raise ArgumentsInvalid("the key prefix must not be empty or hold braces")
        if wait_replicas and isinstance(client, RedisCluster):
            raise ArgumentsInvalid("waiting for replicas is not available on a cluster")
        self._client = client
        self._command: Any = client.execute_command
        self._kept = KeptConnections(client) if may_keep(client, concurrency) else None
        self._prefix = prefix
        self._read_deadline_s = read_deadline_s
        self._write_deadline_s = write_deadline_s
        self._wait_replicas = wait_replicas
        self._watcher = watcher
        self._clocks: dict[str, _Clock] = {}  # of each node that was asked
        self._gate = Gate(min(concurrency, _connections(client)))  # a pool raises where a gate waits

    def key(self, spill_id: str, segment: int) -> str:
        """The key of a segment."""
        return f"{self._prefix}:{{{spill_id}}}:{segment}"

    def read(self, spill_id: str, segment: int, fields: Sequence[str]) -> list[Field]:
        """Fields of one segment, None for each that is not there: one HMGET."""
        key = self.key(spill_id, segment)
        values: list[Field] = self._read("read", lambda: self._idempotent("HMGET", key, *fields))
        return values

    def now_ms(self, spill_id: str) -> int:
        """The time on the server that holds the spill, in Unix milliseconds: asked once a minute, and counted on."""
        target = self._node(spill_id)
        node = "" if target is None else str(target.name)
        clock = self._clocks.get(node)
        if clock is None or time.monotonic() - clock.heard >= _CLOCK_S:
            ask = self._idempotent if target is None else partial(self._command, target_nodes=target)
            seconds, micros = self._read("time", lambda: ask("TIME"))
            clock = self._clocks[node] = _Clock(int(seconds) * 1000 + int(micros) // 1000, time.monotonic())
        return clock.told_ms + int((time.monotonic() - clock.heard) * 1000)

    def renew(self, spill_id: str, segments: int, ttl_ms: int | None) -> bool:
        """Give every segment a full TTL again, or with None leave it as it is. False when one of them is gone."""
        return self._read("renew", lambda: self._renew(spill_id, range(segments), ttl_ms))

    def read_renewing(
        self, spill_id: str, segment: int, fields: Sequence[str], segments: int, ttl_ms: int | None
    ) -> tuple[list[Field], bool]:
        """What `read` and `renew` say, in one round trip."""

        def ask() -> list[Any]:
            pipeline = self._client.pipeline(transaction=False)
            pipeline.execute_command("HMGET", self.key(spill_id, segment), *fields)
            self._add_renewals(pipeline, spill_id, range(segments), ttl_ms)
            return _checked(pipeline.execute(raise_on_error=False))

        values, *left = self._read("read_renewing", ask)
        return values, all(map(_is_there, left))

    def lease_left_ms(self, spill_id: str, segments: int) -> int:
        """The shortest remaining TTL of all segments; ≤ 0 when one is gone."""

        def ask() -> int:
            pipeline = self._client.pipeline(transaction=False)
            for segment in range(segments):
                pipeline.execute_command("PTTL", self.key(spill_id, segment))
            left: list[int] = _checked(pipeline.execute(raise_on_error=False))
            return min(left)

        return self._read("lease", ask)

    def write_frames(self, spill_id: str, segment: int, frames: Mapping[str, bytes], ttl_ms: int) -> None:
        """Store frames of one segment, with their TTL, in one MULTI."""
        key = self.key(spill_id, segment)

        def write() -> None:
            pipeline = self._client.pipeline(transaction=True)
            pipeline.execute_command("HSET", key, *_flat(frames))
            pipeline.execute_command("PEXPIRE", key, ttl_ms)
            _checked(pipeline.execute(raise_on_error=False))

        self._write("write", write)

    def keep(self, spill_id: str, segments: Sequence[int], ttl_ms: int) -> None:
        """Renew segments of a spill that is still being written. Raises `SpillLost`."""
        if not self._write("renew", lambda: self._renew(spill_id, segments, ttl_ms)):
            raise SpillLost("a segment was evicted while the spill was being written")

    def publish(
        self, spill_id: str, chunks_in: Sequence[int], fields: Sequence[Mapping[str, bytes]], ttl_ms: int
    ) -> None:
        """Make the spill readable: one MULTI that adds `fields[n]` to segment n, the last segment first.

        `chunks_in[n]` is how many frames were written to segment n. Raises `SpillLost` when one holds fewer: it was
        evicted meanwhile. A MULTI that redis-py silently sent twice is told by the fields it had added itself.
        """
        last_first = range(len(fields) - 1, -1, -1)

        def write() -> list[Any]:
            pipeline = self._client.pipeline(transaction=not self._wait_replicas)
            if self._wait_replicas:  # only on the connection of the write does WAIT mean anything
                pipeline.execute_command("MULTI")
            for segment in last_first:
                key = self.key(spill_id, segment)
                pipeline.execute_command("HLEN", key)
                pipeline.execute_command("HSET", key, *_flat(fields[segment]))
                pipeline.execute_command("PEXPIRE", key, ttl_ms)
            if self._wait_replicas:
                pipeline.execute_command("EXEC")
                pipeline.execute_command("WAIT", self._wait_replicas, int(self._read_deadline_s * 500))
            return _checked(pipeline.execute(raise_on_error=False))

        replies = self._write("publish", write)
        if self._wait_replicas:
            *_, replies, acknowledged = replies
            _checked(replies)
            if acknowledged < self._wait_replicas:
                raise StoreUnavailable(f"{acknowledged} of {self._wait_replicas} replicas confirmed the write")
        for segment, held in zip(last_first, replies[::3], strict=True):
            if held not in (chunks_in[segment], chunks_in[segment] + len(fields[segment])):
                raise SpillLost("a segment was evicted while the spill was being written")

    def unlink(self, spill_id: str, segments: int) -> int:
        """Remove the segments, each by a command of its own; returns how many there were.

        Not in a MULTI, which a full Redis refuses even for deletes; not in one command, which a half-migrated slot
        refuses.
        """

        def remove() -> int:
            pipeline = self._client.pipeline(transaction=False)
            for segment in range(segments):
                pipeline.execute_command("UNLINK", self.key(spill_id, segment))
            return sum(_checked(pipeline.execute(raise_on_error=False)))

        return self._read(
            "unlink", remove
        )  # small, and often sent to a server that has just failed: the short deadline

    def server_version(self) -> tuple[int, ...] | None:
        """The server's version, or None where the ACL does not let us ask."""
        try:
            info = self._read("info", lambda: self._client.info("server"))
        except ServerUnsupported:
            return None
        if isinstance(self._client, RedisCluster):
            info = next(iter(info.values()), {}) if "redis_version" not in info else info
        version = str(info.get("valkey_version") or info.get("redis_version") or "")
        return tuple(int(part) for part in version.split(".")[:3] if part.isdigit()) or None

    def check(self) -> None:
        """Refuse a server that is too old. Raises `ServerUnsupported`, or `StoreUnavailable` when it is down."""
        version = self.server_version()
        if version is not None and version[:2] < OLDEST_SERVER:
            raise ServerUnsupported(f"the server is version {'.'.join(map(str, version))}; 6.2 or newer is needed")

    def close(self) -> None:
        """Close the client's connections."""
        if self._kept is not None:
            self._kept.close()
        self._client.close()
        for sentinel in _sentinels(self._client):
            sentinel.close()

    def _idempotent(self, *command: str) -> Any:
        if self._kept is not None:
            try:
                return self._kept.execute(*command)
            except theirs.ConnectionError:
                pass  # a kept connection may have gone stale; what is really wrong, the ordinary way finds out
        return self._command(*command)

    def _renew(self, spill_id: str, segments: Sequence[int], ttl_ms: int | None) -> bool:
        pipeline = self._client.pipeline(transaction=False)
        self._add_renewals(pipeline, spill_id, segments, ttl_ms)
        return all(map(_is_there, _checked(pipeline.execute(raise_on_error=False))))

    def _add_renewals(self, pipeline: Any, spill_id: str, segments: Sequence[int], ttl_ms: int | None) -> None:
        """Add a command for each segment whose reply says whether it is there."""
        for segment in segments:
            key = self.key(spill_id, segment)
            if ttl_ms is None:
                pipeline.execute_command("PTTL", key)
            else:
                pipeline.execute_command("PEXPIRE", key, ttl_ms)

    def _node(self, spill_id: str) -> Any:
        """The node of a cluster that holds the spill; None without a cluster."""
        if not isinstance(self._client, RedisCluster):
            return None
        return self._client.get_node_from_key(self.key(spill_id, 0))

    def _read(self, name: str, operation: Operation[T]) -> T:
        return self._run(name, self._read_deadline_s, operation)

    def _write(self, name: str, operation: Operation[T]) -> T:
        return settled(self._run(name, self._write_deadline_s, operation))

    def _run(self, name: str, deadline_s: float, operation: Operation[T]) -> T:
        try:
            if self._watcher is UNWATCHED:
                return self._gate.run(deadline_s, operation)
            return self._watched(name, deadline_s, operation)
        except (theirs.RedisError, theirs.RedisClusterException, OSError) as error:
            failure = translate(error)
        raise failure  # outside the handler: `error` may quote the command, so it must not become our context

    def _watched(self, name: str, deadline_s: float, operation: Operation[T]) -> T:
        came = began = time.perf_counter()

        def timed() -> T:
            nonlocal began
            began = time.perf_counter()
            return operation()

        try:
            return self._gate.run(deadline_s, timed)
        finally:
            ended = time.perf_counter()
            # Who never got a place has waited all the time.
            waited = began - came if began > came else ended - came
            self._watcher.redis_used(name, waited, ended - came - waited)


class _Clock(NamedTuple):
    """What a server's clock told, in Unix milliseconds, and when we heard it, in monotonic seconds of ours."""

    told_ms: int
    heard: float


def present(stored: Field, what: str) -> bytes:
    """A field that a published spill has. Raises `SpillLost`, naming `what` it is, where it is not there."""
    if stored is None:
        raise SpillLost(f"{what} is gone: it was deleted from the store")
    return stored


def translate(error: Exception) -> SpillError:
    """Our error for one of redis-py's. Its text is not carried over: it may hold keys and payload."""
    for kinds, make in _TRANSLATIONS:
        if isinstance(error, kinds):
            return make()
    # redis-py puts the failing command of a pipeline before the server's words, which begin with a code.
    code = str(error).rpartition("caused error: ")[2].split(" ", 1)[0]
    if code in ("MISCONF", "NOREPLICAS", "UNBLOCKED", "LOADING", "MASTERDOWN"):
        return StoreUnavailable(f"Redis refuses the command for now ({code})")
    if code == "WRONGTYPE":
        return SpillCorrupt("something that is no spill is stored under the spill's key")
    if isinstance(error, theirs.ResponseError):
        known = code if code.isascii() and code.isalpha() and code.isupper() else type(error).__name__
        return ServerUnsupported(f"Redis refuses the command ({known})")
    return StoreUnavailable(f"Redis cannot be used ({type(error).__name__})")


_TRANSLATIONS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], Callable[[], SpillError]], ...] = (
    (theirs.OutOfMemoryError, lambda: StoreFull("Redis is out of memory and may not evict")),
    (theirs.ReadOnlyError, lambda: StoreUnavailable("Redis is read-only here: this is a replica, or a failover runs")),
    (
        (theirs.NoPermissionError, theirs.AuthenticationWrongNumberOfArgsError),
        lambda: ServerUnsupported("Redis does not permit a command that is needed; see the documented ACL"),
    ),
    (
        (theirs.AuthenticationError, theirs.AuthorizationError),
        lambda: StoreUnavailable("Redis does not accept the credentials"),
    ),
    (
        (theirs.AskError, theirs.TryAgainError, theirs.ClusterError),
        lambda: SlotMoved("the cluster is moving the spill's slot, or part of it is down"),
    ),
    (theirs.MaxConnectionsError, lambda: StoreBusy("all connections to Redis are in use")),
    (theirs.TimeoutError, lambda: StoreUnavailable("Redis did not answer in time")),
    (theirs.ConnectionError, lambda: StoreUnavailable("Redis cannot be reached")),
)


def _is_there(reply: int) -> bool:
    """Whether a segment is there: PEXPIRE answers 0 where it is not, PTTL -2 (and -1 where somebody made it stay)."""
    return reply not in (0, -2)


def _connections(client: Client) -> int:
    """How many connections a client may have to one server."""
    if isinstance(client, Redis):
        return int(client.connection_pool.max_connections)
    return _CLUSTER_CONNECTIONS


_CLUSTER_CONNECTIONS = 100  # redis-py 8's own default for a node


def _sentinels(client: Client) -> list[Redis]:
    """The clients that ask Sentinels for the primary: redis-py does not close them with the one that they serve."""
    pool = client.connection_pool if isinstance(client, Redis) else None
    return list(pool.sentinel_manager.sentinels) if isinstance(pool, SentinelConnectionPool) else []


def _checked(replies: list[Any]) -> list[Any]:
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply from None
    return replies


def _flat(fields: Mapping[str, bytes]) -> list[str | bytes]:
    return [part for field in fields.items() for part in field]
