"""A link: one caller's connection to one upstream, made again whenever it is lost.

A session that dies answers "Connection closed" for ever, so no session is ever kept: a task connects, waits for the
end, and connects again, later and later while that fails. Who calls meanwhile waits for the attempt under way, for a
bounded time, and is then told. A call that was running is never sent again: nobody knows how far it came.
"""

from __future__ import annotations

import logging
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import anyio
from mcp.shared.dispatcher import DispatchContext, ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.transport_context import TransportContext
from mcp_types import INVALID_REQUEST

from spillcache.errors import ArgumentsInvalid, UpstreamUnavailable
from spillcache.mcp.proxy.audience import Audience
from spillcache.mcp.proxy.child import child_streams
from spillcache.mcp.proxy.config import Upstream
from spillcache.mcp.proxy.endpoint import endpoint_streams
from spillcache.mcp.proxy.failures import typed, unreachable, why_unreachable
from spillcache.mcp.proxy.names import public_uri
from spillcache.mcp.proxy.session import EndedByQuestion, Greeting, UpstreamSession, open_session
from spillcache.mcp.proxy.subscriptions import Subscriptions
from spillcache.tool.numbers import travels

_log = logging.getLogger("spillcache")


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a link waits, in seconds.

    `connect_s`: for a connection, from its start until it is negotiated; a child may have to be downloaded first.
    `call_s`: a call for a connection. `first_s` and `longest_s`: between two attempts, at first and at the most.
    """

    connect_s: float = 120.0
    call_s: float = 30.0
    first_s: float = 0.25
    longest_s: float = 30.0


_STEADY_S: Final = 10.0  # a connection that lived this long was good: the next one is tried at once


class Link:
    """One connection, supervised by `run`.

    `namespace` is "" for a single upstream. `environment` is this process's, `authorization` the caller's header where
    it is forwarded.
    """

    def __init__(
        self,
        namespace: str,
        upstream: Upstream,
        greeting: Greeting,
        audience: Audience,
        *,
        environment: Mapping[str, str],
        authorization: str | None = None,
        patience: Patience,
    ) -> None:
        self.namespace, self.upstream = namespace, upstream
        self.subscriptions = Subscriptions()
        self._greeting, self._audience = greeting, audience
        self._environment, self._authorization = environment, authorization
        self._patience = patience
        self._session: UpstreamSession | None = None
        self._outcome = anyio.Event()
        self._stale = anyio.Event()
        self._why = "it has not answered yet"
        self._asks = True
        self._has_been_up = False
        self._log_level: str | None = None

    async def set_log_level(self, level: str) -> None:
        """Which log messages the upstream should send from now on, after a reconnection too."""
        self._log_level = level
        await self._apply_log_level(await self.session())

    async def run(self) -> None:
        """Keep the connection until cancelled."""
        pause = self._patience.first_s
        while True:
            began = anyio.current_time()
            try:
                await self._once()
            except Exception as error:  # whatever it was, the next attempt may go well
                self._asks = not isinstance(_first(error), EndedByQuestion)
                if not self._asks:
                    continue
                self._why = _reason(error)
                _log.warning("upstream_failed", extra={"upstream": self.namespace, "why": self._why})
            if self._session is None:  # else it was up: who waits by now waits for the next attempt
                self._settle()
            self._session = None
            if anyio.current_time() - began > _STEADY_S:
                pause = self._patience.first_s
            await anyio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - replicas must not knock in step
            pause = min(pause * 2, self._patience.longest_s)

    async def session(self) -> UpstreamSession:
        """The connection; waits for the attempt under way, or the next one. Raises `UpstreamUnavailable`."""
        if self._session is None or self._session.closed.is_set():
            with anyio.move_on_after(self._patience.call_s):
                await self._outcome.wait()
        if self._session is None:
            raise unreachable(self._why, self.namespace)
        return self._session

    @property
    def connected(self) -> UpstreamSession | None:
        """The connection as it is now."""
        return self._session

    async def request(
        self, method: str, params: Mapping[str, Any] | None, *, on_progress: ProgressFnT | None = None
    ) -> dict[str, Any]:
        """Relay a request; its result as it came.

        Raises `ArgumentsInvalid`, `UpstreamUnavailable`, `UpstreamInvalid`, `PayloadTooLarge`, and `MCPError` for the
        upstream's own errors.
        """
        if not travels(params):
            raise ArgumentsInvalid(
                "a number is NaN, infinite or too large for JSON; it would have arrived as null, so nothing was sent",
                next_step="Send a finite number, or leave it out. Nothing was run.",
            )
        session = await self.session()
        try:
            return await session.request(method, params, on_progress=on_progress)
        except MCPError as error:
            failure = typed(error, alive=not session.closed.is_set())
            if failure is None:
                raise
            raise failure from None

    async def _once(self) -> None:
        async with self._connected() as session, anyio.create_task_group() as tasks:
            self._session = session
            self._settle()
            await self._apply_log_level(session)
            tasks.start_soon(self.subscriptions.keep, session)
            if self._has_been_up:  # what changed meanwhile nobody has told
                tasks.start_soon(self._announce, session)
            self._has_been_up = True
            await self._ended(session)
            tasks.cancel_scope.cancel()
        self._why = "the connection was lost"

    def _settle(self) -> None:
        """Wake those who wait for an attempt: it is over, well or not."""
        self._outcome.set()
        self._outcome = anyio.Event()

    async def _ended(self, session: UpstreamSession) -> None:
        async with anyio.create_task_group() as either:

            async def first(event: anyio.Event) -> None:
                await event.wait()
                either.cancel_scope.cancel()

            either.start_soon(first, session.closed)
            either.start_soon(first, self._stale)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[UpstreamSession]:
        self._stale = anyio.Event()
        with anyio.CancelScope() as patience:
            patience.deadline = anyio.current_time() + self._patience.connect_s
            if self.upstream.command is not None:
                streams: Any = child_streams(self.upstream, self._environment)
            else:
                streams = endpoint_streams(self.upstream, authorization=self._authorization, ended=self._stale.set)
            async with (
                streams as (read, write),
                open_session(
                    read,
                    write,
                    self._greeting,
                    on_request=self._on_request,
                    on_notify=self._on_notify,
                    asks=self._asks,
                ) as session,
            ):
                patience.deadline = float("inf")
                yield session
        if patience.cancelled_caught:
            raise TimeoutError

    async def _apply_log_level(self, session: UpstreamSession) -> None:
        """A modern upstream is told with each request, one of the handshake era once."""
        session.log_level = self._log_level
        if self._log_level is not None and not session.modern and "logging" in session.capabilities:
            await session.request("logging/setLevel", {"level": self._log_level})

    async def _announce(self, session: UpstreamSession) -> None:
        for kind in ("tools", "resources", "prompts"):
            if kind in session.capabilities:
                await self._audience.hear(f"notifications/{kind}/list_changed", None)

    async def _on_request(
        self, _context: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        answer = {} if method == "ping" else await self._audience.ask(method, params)
        if not travels(answer):
            raise MCPError(INVALID_REQUEST, "the answer holds a number that JSON cannot carry")
        return answer

    async def _on_notify(
        self, _context: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
    ) -> None:
        if method in _OURS:
            return
        if method == "notifications/resources/updated" and params is not None:
            params = {**params, "uri": public_uri(self.namespace, str(params.get("uri", "")))}
        await self._audience.hear(method, params)


#: The dispatcher has applied these already, or they answer a subscription of our own.
_OURS: Final = frozenset(
    {"notifications/cancelled", "notifications/progress", "notifications/subscriptions/acknowledged"}
)


def _first(error: BaseException) -> BaseException:
    """What a task group wrapped, or one of several."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _reason(error: BaseException) -> str:
    """What went wrong, in words that hold nothing secret: no command, no URL, no text of the upstream's."""
    error = _first(error)
    if isinstance(error, UpstreamUnavailable):
        return why_unreachable(error)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, MCPError):
        failure = typed(error, alive=True)
        return why_unreachable(failure) if failure is not None else f"it refused the connection ({error.code})"
    return "it took too long" if isinstance(error, TimeoutError) else type(error).__name__
