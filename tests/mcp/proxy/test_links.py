"""Whose link is whose, and how long it lasts."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from spillcache.errors import UpstreamUnavailable
from spillcache.mcp.proxy.links import CallerLinks, Links
from spillcache.mcp.proxy.session import Greeting
from tests.mcp.proxy.fronts import QUICK, program
from tests.mcp.proxy.test_child import alive
from tests.servers.waiting import until

GREETING = Greeting({"name": "test", "version": "1"}, {})


@asynccontextmanager
async def running(**limits: Any) -> AsyncIterator[Links]:
    """Links to a small server."""
    links = Links({"": program("bytes")}, environment=dict(os.environ), patience=QUICK, **limits)
    async with links.running():
        yield links


async def child_of(links: CallerLinks) -> int:
    """The process at the other end."""
    result = await links.links[""].request("tools/call", {"name": "pid", "arguments": {}})
    return int(result["content"][0]["text"])


async def test_a_caller_keeps_its_link_and_shares_it_with_no_other() -> None:
    """By tenant; credentials tell callers apart only where they are forwarded."""
    async with running() as links:
        red, blue = links.of("red", GREETING), links.of("blue", GREETING)
        again = links.of("red", GREETING, authorization="Bearer other")
        assert red is again
        assert red is not blue
        assert await child_of(red) != await child_of(blue)


async def test_an_idle_link_ends_and_one_in_use_does_not() -> None:
    """With its child; whoever comes again gets a new one."""
    async with running(idle_s=0.05) as links:
        idle, busy = links.of("idle", GREETING), links.of("busy", GREETING)
        with busy.in_use():
            with idle.in_use():
                gone, kept = await child_of(idle), await child_of(busy)
            await anyio.to_thread.run_sync(until, lambda: not alive(gone), "the idle one is gone")
            assert alive(kept)
            assert links.of("idle", GREETING) is not idle
            assert links.of("busy", GREETING) is busy


async def test_too_many_callers_take_the_place_of_who_is_away_longest() -> None:
    """Where nobody is away, the next one is told."""
    async with running(max_callers=2) as links:
        first, second = links.of("first", GREETING), links.of("second", GREETING)
        with second.in_use():
            gone = await child_of(first)
            third = links.of("third", GREETING)
            await anyio.to_thread.run_sync(until, lambda: not alive(gone), "the first one is gone")
            with third.in_use(), pytest.raises(UpstreamUnavailable, match="all of them are busy"):
                links.of("fourth", GREETING)


async def test_a_lost_link_is_made_again() -> None:
    """A call that comes meanwhile waits for it."""
    async with running() as links:
        link = links.of("a", GREETING).links[""]
        first = await child_of(links.of("a", GREETING))
        os.kill(first, 9)
        await anyio.to_thread.run_sync(until, lambda: link.connected is None, "the loss is noticed")
        assert await child_of(links.of("a", GREETING)) != first
