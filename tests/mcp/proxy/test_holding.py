"""Calls that are held while a modern client is asked what an older upstream wants to know."""

from __future__ import annotations

from typing import Any, cast

import anyio
from mcp.shared.dispatcher import ProgressFnT

from spillcache.mcp.proxy.holding import Holding

CONTEXT = cast("Any", None)  # of the client's request; needed for progress only


async def test_a_question_outlives_the_call_that_carried_it() -> None:
    """An upstream asks for roots of its own accord, and finishes the call meanwhile: neither answer is lost."""
    holding = Holding()
    finish, heard = anyio.Event(), dict[str, Any]()

    async def ask() -> None:
        heard.update(await holding.ask("roots/list", None))

    async def send(_params: dict[str, Any], _progress: ProgressFnT) -> dict[str, Any]:
        tasks.start_soon(ask)
        await finish.wait()
        return {"content": []}

    async with anyio.create_task_group() as tasks:
        holding.tasks = tasks
        asked = await holding.call(CONTEXT, {"name": "slow"}, send)
        finish.set()
        await anyio.wait_all_tasks_blocked()  # the call upstream is over
        answers: dict[str, Any] = {key: {"roots": []} for key in asked["inputRequests"]}
        again = {"name": "slow", "requestState": asked["requestState"], "inputResponses": answers}
        assert await holding.call(CONTEXT, again, send) == {"content": []}
    assert heard == {"roots": []}
