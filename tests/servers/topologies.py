"""Several servers that belong together: a cluster, a replicated pair, a pair under Sentinel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers.process import Config, ServerProcess
from tests.servers.waiting import until

SLOTS = 16_384
_NODE_TIMEOUT_MS = "1500"
_DOWN_AFTER_MS = 800


@dataclass(frozen=True, slots=True)
class Cluster:
    """Masters in slot order, each with an equal share of the slots, and their replicas (maybe none)."""

    masters: tuple[ServerProcess, ...]
    replicas: tuple[ServerProcess, ...]

    @property
    def url(self) -> str:
        """One node to start from; a cluster client finds the others."""
        return self.masters[0].url

    def flush(self) -> None:
        """Empty every master."""
        for node in self.masters:
            with node.client() as client:
                client.flushall()


@dataclass(frozen=True, slots=True)
class Pair:
    """A primary and a replica that has caught up with it once."""

    primary: ServerProcess
    replica: ServerProcess


@dataclass(frozen=True, slots=True)
class Sentinels:
    """A pair watched by three Sentinels under the name `service`."""

    service: str
    pair: Pair
    sentinels: tuple[ServerProcess, ...]

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """What a Sentinel client is given."""
        return [("127.0.0.1", sentinel.port) for sentinel in self.sentinels]


@contextmanager
def cluster(binary: Path, *, masters: int = 3, replicas: int = 0, config: Config | None = None) -> Iterator[Cluster]:
    """Run `masters` masters, the first `replicas` of them with a replica each; takes 2 s to agree."""
    settings: Config = {
        "cluster-enabled": "yes",
        "cluster-node-timeout": _NODE_TIMEOUT_MS,
        "cluster-replica-validity-factor": "0",
        **(config or {}),
    }
    with ExitStack() as stack:
        nodes = [stack.enter_context(ServerProcess.start(binary, settings)) for _ in range(masters + replicas)]
        _introduce(nodes, masters)
        until(lambda: all(_agrees(node, nodes) for node in nodes), "the cluster's nodes agree")
        ids = [_execute(node, "CLUSTER MYID") for node in nodes]
        for number, replica in enumerate(nodes[masters:]):
            _execute(replica, "CLUSTER REPLICATE", ids[number])
        until(lambda: all(_linked(replica) for replica in nodes[masters:]), "the cluster's replicas follow")
        yield Cluster(tuple(nodes[:masters]), tuple(nodes[masters:]))


@contextmanager
def pair(binary: Path, *, config: Config | None = None) -> Iterator[Pair]:
    """Run a primary, configured by `config`, and a replica of it."""
    with ServerProcess.start(binary, config) as primary:
        following: Config = {**(config or {}), "replicaof": f"127.0.0.1 {primary.port}"}
        with ServerProcess.start(binary, following) as replica:
            until(lambda: _linked(replica), "the replica follows")
            yield Pair(primary, replica)


@contextmanager
def sentinels(binary: Path, *, service: str = "spills", config: Config | None = None) -> Iterator[Sentinels]:
    """Run a pair and three Sentinels, two of which must agree before they promote the replica."""
    with ExitStack() as stack:
        watched = stack.enter_context(pair(binary, config=config))
        watching: Config = {
            "sentinel": [
                f"monitor {service} 127.0.0.1 {watched.primary.port} 2",
                f"down-after-milliseconds {service} {_DOWN_AFTER_MS}",
                f"failover-timeout {service} 3000",
            ]
        }
        trio = [stack.enter_context(ServerProcess.start(binary, watching, sentinel=True)) for _ in range(3)]
        until(lambda: all(_sees_everybody(one, service) for one in trio), "the Sentinels know each other")
        yield Sentinels(service, watched, tuple(trio))


def primary_ports(running: Sentinels) -> set[int]:
    """The ports of the primary as the Sentinels see it now: one port, once they agree. A client may ask any of them."""
    answers = [_ask(one, "SENTINEL GET-MASTER-ADDR-BY-NAME", running.service) for one in running.sentinels]
    return {int(answer[1]) for answer in answers if isinstance(answer, list)}


def _introduce(nodes: Sequence[ServerProcess], masters: int) -> None:
    share = SLOTS // masters
    for number, node in enumerate(nodes):
        _execute(node, "CLUSTER SET-CONFIG-EPOCH", number + 1)
        if number < masters:
            end = SLOTS if number == masters - 1 else (number + 1) * share
            _execute(node, "CLUSTER ADDSLOTS", *range(number * share, end))
        if number:
            _execute(nodes[0], "CLUSTER MEET", "127.0.0.1", node.port)


def _agrees(node: ServerProcess, nodes: Sequence[ServerProcess]) -> bool:
    facts = dict(line.split(":", 1) for line in _execute(node, "CLUSTER INFO").split() if ":" in line)
    known = _execute(node, "CLUSTER NODES")
    return (
        facts["cluster_state"] == "ok" and facts["cluster_known_nodes"] == str(len(nodes)) and "handshake" not in known
    )


def _linked(replica: ServerProcess) -> bool:
    return "master_link_status:up" in _execute(replica, "INFO", "replication")


def _sees_everybody(sentinel: ServerProcess, service: str) -> bool:
    flat = _ask(sentinel, "SENTINEL MASTER", service)
    assert isinstance(flat, list)
    facts: dict[bytes, bytes] = dict(zip(flat[::2], flat[1::2], strict=True))
    return (facts[b"num-other-sentinels"], facts[b"num-slaves"]) == (b"2", b"1")


def _execute(node: ServerProcess, command: str, *arguments: str | int) -> str:
    answer = _ask(node, command, *arguments)
    assert isinstance(answer, bytes)
    return answer.decode()


def _ask(node: ServerProcess, command: str, *arguments: str | int) -> object:
    with node.client() as client:
        # The answers as the server gave them; the client would make structures of its own of some.
        client.response_callbacks.clear()
        answer: object = client.execute_command(command, *arguments)
    return answer
