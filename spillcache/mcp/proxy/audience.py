"""Who stands before the proxy for one caller: hears what upstreams tell, and is asked what they ask.

On stdio there is one client, which hears and answers whenever it likes. Over HTTP there is nobody between requests:
log messages go to the requests in flight, changes to whoever listens for them, and nobody can be asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from mcp.server.connection import allowed_log_levels
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import event_from_wire
from mcp_types import ServerNotification, ServerRequest
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, RootModel

from spillcache.mcp.proxy.holding import Holding

Context = ServerRequestContext[Any, Any]


class _Raw(BaseModel):
    """A message as the upstream sent it; the SDK's session wants a model, of whichever kind."""

    method: str
    params: dict[str, Any] | None = None


class _RawResult(RootModel[dict[str, Any]]):
    pass


class Audience:
    """The clients of one caller, as far as they can be reached."""

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self._bus)
        self.holding = Holding()
        self._standing: ServerSession | None = None
        self._present: dict[object, Context] = {}

    def stand(self, session: ServerSession) -> None:
        """This client has a channel of its own, and is there until the end."""
        self._standing = session

    @contextmanager
    def present(self, context: Context) -> Iterator[None]:
        """During a request, its answer can carry notifications."""
        key = object()
        self._present[key] = context
        try:
            yield
        finally:
            del self._present[key]

    @property
    def can_answer(self) -> bool:
        """Whether there is a client that may be asked something."""
        return self._standing is not None and not _is_modern(self._standing)

    async def hear(self, method: str, params: Mapping[str, Any] | None) -> None:
        """Pass a notification of an upstream on to whoever may have it."""
        event = event_from_wire(method, params)
        if event is not None:
            await self._bus.publish(event)
        if self._standing is not None and not _is_modern(self._standing):
            await self._standing.send_notification(_notification(method, params))
        elif method == "notifications/message":
            await self._log(method, dict(params or {}))

    async def ask(self, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Ask the client what an upstream asks. Raises `MCPError` where nobody can be asked."""
        if self._standing is None or not self.can_answer:
            return await self.holding.ask(method, params)
        request = cast("ServerRequest", _Raw(method=method, params=_plain(params)))
        answer = await self._standing.send_request(request, _RawResult)
        return answer.root

    async def _log(self, method: str, params: dict[str, Any]) -> None:
        """In this era log messages travel with the answer of a request that wants them."""
        for context in list(self._present.values()):
            if params.get("level") in allowed_log_levels(context.protocol_version, context.meta):
                await context.session.send_notification(_notification(method, params), context.request_id)
                if context.request is None:  # one pipe carries all answers: once is enough
                    return


def _notification(method: str, params: Mapping[str, Any] | None) -> ServerNotification:
    return cast("ServerNotification", _Raw(method=method, params=_plain(params)))


def _plain(params: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if params is None else dict(params)


def _is_modern(session: ServerSession) -> bool:
    return session.protocol_version in MODERN_PROTOCOL_VERSIONS
