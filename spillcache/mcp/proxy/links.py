"""Which caller gets which link: links are made when a caller first comes, and ended when it has long been away.

A tenant never shares a connection, and so never a child process, with another; nor does the holder of one credential
with that of another where credentials are forwarded. On stdio there is one caller, whose links last as long as it.
"""

from __future__ import annotations

import contextvars
import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Final

import anyio
from anyio.abc import TaskGroup

from spillcache import defaults
from spillcache.errors import UpstreamUnavailable
from spillcache.mcp.proxy.audience import Audience
from spillcache.mcp.proxy.catalogue import Catalogue
from spillcache.mcp.proxy.config import Upstream
from spillcache.mcp.proxy.link import Link, Patience
from spillcache.mcp.proxy.session import Greeting

IDLE_S: Final = 300.0  # agents think for a minute or two between calls; starting a child takes seconds


_BUSY: Final = (
    "Call again in a few seconds; if that happens often, tell the operator to raise SPILLCACHE_MAX_CALLERS. "
    "This is a FAILED call, not an empty result."
)


@dataclass(slots=True)
class CallerLinks:
    """One caller's links, by namespace, and its audience."""

    audience: Audience
    links: dict[str, Link]
    catalogues: dict[str, Catalogue]
    users: int = 0
    last_used: float = 0.0
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """While a request needs them they are not ended."""
        self.users += 1
        try:
            yield
        finally:
            self.users -= 1
            self.last_used = anyio.current_time()


class Links:
    """All links of a proxy. They run within `running`.

    `upstreams` are by namespace; "" is that of a single one. `environment` is this process's.
    """

    def __init__(
        self,
        upstreams: Mapping[str, Upstream],
        *,
        environment: Mapping[str, str],
        patience: Patience,
        idle_s: float = IDLE_S,
        max_callers: int = defaults.MAX_CALLERS,
    ) -> None:
        self.upstreams = upstreams
        self._environment, self._patience = environment, patience
        self._idle_s, self._max_callers = idle_s, max_callers
        self._callers: dict[tuple[str, str], CallerLinks] = {}
        self._tasks: TaskGroup | None = None
        self._forwards = any(upstream.forward_authorization for upstream in upstreams.values())

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Make links possible; leaving ends them all."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
                tasks.cancel_scope.cancel()

    def of(
        self, tenant: str, greeting: Greeting, *, authorization: str | None = None, for_ever: bool = False
    ) -> CallerLinks:
        """The links of a caller. `greeting` is what its upstreams are told when the links are new.

        `authorization` is the caller's header, used where an upstream is configured to get it. Links `for_ever` are
        not ended when idle. Raises `UpstreamUnavailable` when there are too many callers at once.
        """
        credential = authorization if self._forwards else None
        key = (tenant, "" if credential is None else hashlib.sha256(credential.encode()).hexdigest())
        found = self._callers.get(key)
        if found is None:
            self._make_room()
            found = self._callers[key] = self._make(greeting, credential)
            self._start(key, found, for_ever=for_ever)
        return found

    def _make(self, greeting: Greeting, credential: str | None) -> CallerLinks:
        audience = Audience()
        links = {
            namespace: Link(
                namespace,
                upstream,
                greeting,
                audience,
                environment=self._environment,
                authorization=credential if upstream.forward_authorization else None,
                patience=self._patience,
            )
            for namespace, upstream in self.upstreams.items()
        }
        return CallerLinks(audience, links, {namespace: Catalogue(link) for namespace, link in links.items()})

    def _start(self, key: tuple[str, str], links: CallerLinks, *, for_ever: bool) -> None:
        if self._tasks is None:
            raise RuntimeError("links are made while they are running only")
        links.last_used = anyio.current_time()
        # Not in the context of the request that happens to come first: its id is not the next one's.
        contextvars.Context().run(self._tasks.start_soon, self._keep, key, links, for_ever)

    async def _keep(self, key: tuple[str, str], links: CallerLinks, for_ever: bool) -> None:
        with links.scope:
            async with anyio.create_task_group() as tasks:
                links.audience.holding.tasks = tasks
                for link in links.links.values():
                    tasks.start_soon(link.run)
                while for_ever or not self._is_idle(links):  # noqa: ASYNC110 - time passes unannounced
                    await anyio.sleep(self._idle_s / 4)
                self._callers.pop(key, None)
                tasks.cancel_scope.cancel()

    def _is_idle(self, links: CallerLinks) -> bool:
        return not links.users and anyio.current_time() - links.last_used > self._idle_s

    def _make_room(self) -> None:
        if len(self._callers) < self._max_callers:
            return
        unused = [(links.last_used, key) for key, links in self._callers.items() if not links.users]
        if not unused:
            raise UpstreamUnavailable(
                f"this proxy serves {self._max_callers} callers at once, and all of them are busy",
                next_step=_BUSY,
            )
        self._callers.pop(min(unused)[1]).scope.cancel()
