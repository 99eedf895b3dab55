"""Replicas of `spillcache serve` behind haproxy, round-robin and without stickiness, as they come and go."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from spillcache import defaults
from tests.foreign.haproxy import Balancer, haproxy
from tests.foreign.node import CLIENTS, drive
from tests.foreign.payloads import sha256
from tests.foreign.rehearsal import Rehearsal, told
from tests.foreign.serving import Served, new_keyring, serving, settings
from tests.servers.caches import metrics
from tests.servers.process import free_port
from tests.servers.requirements import requires

_DRAIN_S = "1"
_WORKERS = 8


class Replicas:
    """Processes on one Redis and one key ring, each on a port of its own that the balancer knows."""

    def __init__(self, redis_url: str, directory: Path, stack: ExitStack) -> None:
        self._environment = settings(redis_url, new_keyring(), drain_s=_DRAIN_S)
        self._directory, self._stack = directory, stack
        self.ports = [free_port() for _ in range(4)]

    def start(self, port: int) -> Served:
        """Start one; the balancer says when it can be used."""
        return self._stack.enter_context(serving(["serve"], self._environment, self._directory, port=port))

    def balanced(self, *, retrying: bool) -> Balancer:
        """A balancer before all ports, whether something listens there or not."""
        return self._stack.enter_context(haproxy(self._directory, self.ports, retrying=retrying))


@pytest.fixture
def replicas(redis_url: str, tmp_path: Path) -> Iterator[Replicas]:
    """None yet."""
    with ExitStack() as stack:
        yield Replicas(redis_url, tmp_path, stack)


@requires("haproxy", "npm packages")
async def test_walks_go_on_while_replicas_are_killed_added_drained_and_scaled_to_one(replicas: Replicas) -> None:
    """Four clients read at once through whatever replica is there; each gets the stored bytes, unbroken."""
    one, two, three, added = replicas.ports
    first, second, third = (replicas.start(port) for port in (one, two, three))
    balancer = replicas.balanced(retrying=True)
    balancer.until_up(one, two, three)
    payload = metrics(results=12, points=1_500)
    spill_id = first.put(payload)

    def add() -> None:
        replicas.start(added)
        balancer.until_up(two, three, added)

    def drain() -> None:
        second.terminate()
        assert second.until_ended() == 0
        balancer.until_up(three, added)

    # A killed replica takes the answers with it that it had begun; their pages are asked for again.
    rehearsal = Rehearsal({15: first.kill, 30: add, 60: drain, 90: third.kill})
    with told(rehearsal) as tell:
        walk = {"tool": defaults.TOOL_NAME, "spill_id": spill_id, "tell": tell, "patience": 3}
        walks = await asyncio.gather(
            *(drive({"url": f"{balancer.url}/mcp"}, [("walk", walk)], client=client) for client in CLIENTS)
        )
    assert rehearsal.over, rehearsal.errors
    balancer.until_up(added)
    outcomes = [one_told.answers[0] for one_told in walks]
    assert [outcome.get("sha256") for outcome in outcomes] == [sha256(payload)] * len(CLIENTS), outcomes
    assert all(outcome["last"]["status"] == "COMPLETE" for outcome in outcomes)


@requires("haproxy")
async def test_a_rolling_restart_loses_no_request(replicas: Replicas) -> None:
    """Each replica in turn drains, ends and comes back under load; a balancer that never retries sees no failure."""
    running = {port: replicas.start(port) for port in replicas.ports[:3]}
    balancer = replicas.balanced(retrying=False)
    balancer.until_up(*running)
    spill_id = running[replicas.ports[0]].put(metrics())
    asked = f"{balancer.url}/v1/spills/{spill_id}/pages"
    over = asyncio.Event()

    async def load(http: httpx.AsyncClient) -> list[tuple[int, str]]:
        answers = []
        while not over.is_set():
            answer = await http.get(asked, params={"max_bytes": 2_000})
            answers.append((answer.status_code, answer.json().get("chunk", "")))
        return answers

    def restart(port: int) -> None:
        running[port].terminate()
        assert running[port].until_ended() == 0
        running[port] = replicas.start(port)
        balancer.until_up(*running)

    async with httpx.AsyncClient() as http:
        workers = [asyncio.create_task(load(http)) for _ in range(_WORKERS)]
        for port in list(running):
            await asyncio.to_thread(restart, port)
        over.set()
        answers = [answer for worker in await asyncio.gather(*workers) for answer in worker]
    assert len(set(answers)) == 1
    assert answers[0][0] == 200
    assert len(answers) > 10 * _WORKERS
