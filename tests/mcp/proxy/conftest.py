"""Servers behind the proxy that tests share: starting one takes longer than most tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
import uvloop

from spillcache.mcp.proxy.config import Upstream, make_upstream
from tests.mcp.proxy.fronts import program, web_program
from tests.servers.waiting import until


def pytest_asyncio_loop_factories(item: pytest.Item) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Children are started on the loop of the command as well: it once hid from us that they had ended."""
    both = item.path.name == "test_child.py"
    return {"asyncio": asyncio.new_event_loop} | ({"uvloop": uvloop.new_event_loop} if both else {})


@dataclass(frozen=True, slots=True)
class Behind:
    """A running server, and the file in which it tells of itself."""

    upstream: Upstream
    trace: Path

    def told(self, word: str) -> int:
        """How often it has said so."""
        return self.trace.read_text().splitlines().count(word)

    async def tells(self, word: str, times: int = 1) -> None:
        """Wait until it has said so that often."""
        await anyio.to_thread.run_sync(until, lambda: self.told(word) >= times, f"{word} {times} times")


class Eras:
    """One server over HTTP for each era, started when it is first asked for."""

    def __init__(self, stack: ExitStack, directory: Path) -> None:
        self._stack, self._directory = stack, directory
        self._running: dict[str, Behind] = {}

    def __getitem__(self, era: str) -> Behind:
        """The server "legacy" knows the handshake, and sessions; "modern" knows both, and is spoken to in the newer."""
        if era not in self._running:
            trace = self._directory / era
            trace.touch()
            arguments = ["--era", "legacy", "--sessions"] if era == "legacy" else []
            url = self._stack.enter_context(web_program(*arguments, trace=trace))
            self._running[era] = Behind(make_upstream(url=url), trace)
        return self._running[era]


@pytest.fixture(scope="module")
def eras(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Eras]:
    """Servers over HTTP, by era."""
    with ExitStack() as stack:
        yield Eras(stack, tmp_path_factory.mktemp("traces"))


@pytest.fixture
def child(tmp_path: Path) -> Behind:
    """A server that the proxy starts."""
    trace = tmp_path / "trace"
    trace.touch()
    return Behind(program("everything", env={"TRACE": str(trace)}), trace)
