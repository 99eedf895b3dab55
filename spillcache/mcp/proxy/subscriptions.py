"""What a link has subscribed to, and again after every reconnection, in whichever way its upstream wants it.

A server of the handshake era tells list changes unasked and takes one request for each resource; a modern one tells
nothing but on a stream that names everything wanted.
"""

from __future__ import annotations

from typing import Any, Final

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND

from spillcache.mcp.proxy.session import UpstreamSession

_AGAIN_S: Final = 1.0  # between two listening streams that the upstream ended

_FLAGS: Final = {"tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged"}


class Subscriptions:
    """The resources that somebody before the proxy wants to hear of, by the upstream's own URIs."""

    def __init__(self) -> None:
        self._wanted: dict[str, int] = {}
        self._changed = anyio.Event()

    def want(self, uri: str) -> bool:
        """One more wants it; whether it is the first."""
        self._wanted[uri] = self._wanted.get(uri, 0) + 1
        return self._told(first=self._wanted[uri] == 1)

    def drop(self, uri: str) -> bool:
        """One wants it no longer; whether it was the last."""
        left = self._wanted.get(uri, 0) - 1
        if left > 0:
            self._wanted[uri] = left
            return False
        return self._told(first=self._wanted.pop(uri, None) is not None)

    async def keep(self, session: UpstreamSession) -> None:
        """Subscribe on a new connection, and keep the stream of a modern one open. Ends with the connection."""
        if session.modern:
            while not session.closed.is_set():
                await self._listen(session)
            return
        for uri in list(self._wanted):
            try:
                await session.request("resources/subscribe", {"uri": uri})
            except MCPError:
                continue  # it is gone from this upstream: there will be nothing to hear of it

    def _told(self, *, first: bool) -> bool:
        if first:
            self._changed.set()
        return first

    async def _listen(self, session: UpstreamSession) -> None:
        """One stream, until what is wanted changes or the upstream ends it."""
        self._changed = anyio.Event()
        wanted = self._filter(session)
        async with anyio.create_task_group() as tasks:
            if wanted:
                tasks.start_soon(self._stream, session, wanted)
            await self._changed.wait()
            tasks.cancel_scope.cancel()

    async def _stream(self, session: UpstreamSession, wanted: dict[str, Any]) -> None:
        while not session.closed.is_set():
            try:
                await session.request("subscriptions/listen", {"notifications": wanted})
            except MCPError as error:
                if session.closed.is_set() or error.code == METHOD_NOT_FOUND:
                    return
            await anyio.sleep(_AGAIN_S)

    def _filter(self, session: UpstreamSession) -> dict[str, Any]:
        told = session.capabilities
        wanted: dict[str, Any] = {
            flag: True for kind, flag in _FLAGS.items() if (told.get(kind) or {}).get("listChanged")
        }
        if self._wanted:
            wanted["resourceSubscriptions"] = list(self._wanted)
        return wanted
