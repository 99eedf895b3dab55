"""Calls that are held: an upstream of the handshake era asks while its call runs, a modern client by answers.

The call goes on upstream in a task of its own. What it asks becomes an answer to the client, "input required", whose
`requestState` names the call; the client's next request carries what it was asked for, and gets the next answer. Such a
state is good in this process only, so this is for the one client on stdio.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup
from mcp.server.context import ServerRequestContext
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST

from spillcache.errors import ArgumentsInvalid, SpillError

_FORGOTTEN_S: Final = 600.0  # a person who is asked may take a while; then the call is given up

Send = Callable[[dict[str, Any], ProgressFnT], Awaitable[dict[str, Any]]]


@dataclass(slots=True)
class _Question:
    method: str
    params: Mapping[str, Any] | None
    answered: anyio.Event = field(default_factory=anyio.Event)
    answer: dict[str, Any] = field(default_factory=dict)

    def put(self, token: str) -> dict[str, Any]:
        """As the client gets it."""
        request: dict[str, Any] = {"method": self.method}
        if self.params is not None:
            request["params"] = dict(self.params)
        return {"resultType": "input_required", "inputRequests": {_KEY: request}, "requestState": token}


_KEY: Final = "question"


class _Held:
    """One call. `context` is the client's request that waits for it at the moment."""

    def __init__(self, context: ServerRequestContext[Any, Any]) -> None:
        self.context = context
        self.scope = anyio.CancelScope()
        self._moves: asyncio.Queue[dict[str, Any] | Exception | _Question] = asyncio.Queue()

    async def run(self, send: Send, params: dict[str, Any]) -> None:
        """Make the call upstream."""
        with self.scope:
            try:
                self._moves.put_nowait(await send(params, self._progress))
            except (MCPError, SpillError) as error:
                self._moves.put_nowait(error)

    async def ask(self, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Put a question to the client, in its turn."""
        question = _Question(method, params)
        self._moves.put_nowait(question)
        await question.answered.wait()
        return question.answer

    async def move(self) -> dict[str, Any] | _Question:
        """What comes next: a question or the result. A client that gives up gives up the call."""
        self.scope.deadline = float("inf")
        try:
            move = await self._moves.get()
        except anyio.get_cancelled_exc_class():
            self.scope.cancel()
            raise
        if isinstance(move, _Question):
            self.scope.deadline = anyio.current_time() + _FORGOTTEN_S
        elif isinstance(move, Exception):
            raise move
        return move

    def is_over(self, now: float) -> bool:
        """Whether it was given up, or its client has not answered for too long."""
        return self.scope.cancel_called or now > self.scope.deadline

    async def _progress(self, progress: float, total: float | None, message: str | None) -> None:
        await self.context.session.report_progress(progress, total, message)


class Holding:
    """The calls of one client that may ask. `tasks` is where they run."""

    def __init__(self) -> None:
        self.tasks: TaskGroup | None = None
        self._running: list[_Held] = []
        self._waiting: dict[str, tuple[_Held, _Question]] = {}

    async def call(self, context: ServerRequestContext[Any, Any], params: dict[str, Any], send: Send) -> dict[str, Any]:
        """The result of a call, or its next question. Raises what `send` does, and `ArgumentsInvalid`."""
        self._forget()
        held = self._resumed(context, params) if "requestState" in params else self._started(context, params, send)
        move = await held.move()
        if not isinstance(move, _Question):
            return move
        token = secrets.token_urlsafe(16)
        self._waiting[token] = held, move
        return move.put(token)

    async def ask(self, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """A question of an upstream. Raises `MCPError` unless it is clear which call it belongs to.

        In the handshake era nothing says that, so only one call may be running.
        """
        if len(self._running) != 1:
            raise MCPError(INVALID_REQUEST, f"nobody can be asked: {len(self._running)} calls are running")
        return await self._running[0].ask(method, params)

    def _started(self, context: ServerRequestContext[Any, Any], params: dict[str, Any], send: Send) -> _Held:
        if self.tasks is None:
            raise RuntimeError("calls are held while links are running only")
        held = _Held(context)
        self.tasks.start_soon(self._run, held, send, params)
        return held

    def _resumed(self, context: ServerRequestContext[Any, Any], params: dict[str, Any]) -> _Held:
        held, question = self._waiting.pop(str(params["requestState"]), (None, None))
        if held is None or question is None:
            raise ArgumentsInvalid(
                "the call that asked is over: it was answered already, or waited too long",
                next_step="Call the tool again, without a requestState.",
            )
        held.context = context
        question.answer = dict((params.get("inputResponses") or {}).get(_KEY) or {})
        question.answered.set()
        return held

    async def _run(self, held: _Held, send: Send, params: dict[str, Any]) -> None:
        self._running.append(held)
        try:
            await held.run(send, params)
        finally:
            # Its questions stay: what an upstream asked of its own accord outlives the call that carried the question,
            # and who answers gets the call's result.
            self._running.remove(held)

    def _forget(self) -> None:
        now = anyio.current_time()
        for token in [token for token, (held, _) in self._waiting.items() if held.is_over(now)]:
            del self._waiting[token]
