"""The relay: one method of the protocol, one way through the proxy.

It sits before the SDK's handlers, where requests and results are still plain dicts, so that nothing a model does not
know gets lost, and answers all but the handshake, pings and the stream of changes itself.

Which eras work together, client before upstream:

| | handshake upstream | modern upstream (2026-07-28) |
|---|---|---|
| handshake client, stdio | everything | everything; questions of a call are put to the client while it waits |
| handshake client, HTTP | all but questions, changes and subscriptions: nobody can be reached between requests | same |
| modern client, stdio | everything; a call that asks is held, and asks by its answer (one such call at a time) | all |
| modern client, HTTP | all but questions: none are offered, as the next request may go elsewhere | everything |
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    SERVER_INFO_META_KEY,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)
from mcp_types import methods as protocol
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from spillcache import SpillCache
from spillcache.caller import Caller, caller_of
from spillcache.errors import ArgumentsInvalid, SpillError
from spillcache.mcp.proxy.asked import Asked
from spillcache.mcp.proxy.audience import Context
from spillcache.mcp.proxy.calls import Calls
from spillcache.mcp.proxy.failures import as_mcp_error, handled
from spillcache.mcp.proxy.greeting import capabilities_of, instructions_of, opened
from spillcache.mcp.proxy.links import CallerLinks, Links
from spillcache.mcp.proxy.lists import PAGED, ToolLists
from spillcache.mcp.proxy.own import Own
from spillcache.mcp.proxy.reading import levelled, subscribed_during
from spillcache.mcp.proxy.session import Greeting
from spillcache.mcp.server import named_in_log, names_of_client, protocol_error
from spillcache.tool.definition import ToolOptions

Way = Callable[[Asked], Awaitable[dict[str, Any]]]

#: Results that the modern protocol wants to say how long they may be kept. Nothing is known of it here: not at all.
_CACHEABLE: Final = frozenset({"tools/list", "resources/read", *PAGED})

_LEFT_TO_THE_SDK: Final = frozenset({"ping", "subscriptions/listen"})


class Relay:
    """Middleware of the front server. `identity` is what the proxy calls itself, in wire form."""

    def __init__(
        self, cache: SpillCache, options: ToolOptions, links: Links, *, caller: Caller | None, identity: dict[str, Any]
    ) -> None:
        self._options, self._links, self._caller, self._identity = options, links, caller, identity
        self._cache = cache
        self._standing: CallerLinks | None = None
        #: Why the one client on stdio was refused.
        self.refused: ArgumentsInvalid | None = None
        self._lists = ToolLists(options)
        self._own = own = Own(cache, options)
        self._ways: dict[str, Way] = {
            "tools/list": self._lists.tools,
            "tools/call": Calls(cache, options).call,
            **dict.fromkeys(PAGED, own.paged),
            "resources/read": own.read,
            "resources/subscribe": own.subscribed,
            "resources/unsubscribe": own.subscribed,
            "prompts/get": own.prompted,
            "completion/complete": own.completed,
            "logging/setLevel": levelled,
        }

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Answer a request, or pass a notification on."""
        context = ctx
        if context.request_id is None:
            await self._notified(context)
            return await call_next(context)
        if context.method in ("initialize", "server/discover"):
            return await self._greet(context, call_next)
        if context.method in _LEFT_TO_THE_SDK:
            return await call_next(context)
        _validate(context)
        with self._told():
            asked = self._asked(context)
            with (
                asked.links.in_use(),
                asked.links.audience.present(context),
                named_in_log(context, asked.caller),
                handled(),
            ):
                return self._finished(asked, await self._way(asked)(asked))

    async def listen(self, context: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """A modern client's stream of changes: subscribed upstream as long as it is open."""
        asked = self._asked(context)
        with asked.links.in_use():
            with self._told():
                uris = await self._own.theirs(asked, params.notifications.resource_subscriptions or ())
            async with subscribed_during(asked, uris):
                return await asked.links.audience.listen(context, params)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What goes wrong is counted, and said as the protocol says errors."""
        try:
            yield
        except ArgumentsInvalid as error:
            self._cache.watcher.failed("proxy", error)
            raise protocol_error(error) from None
        except SpillError as error:
            self._cache.watcher.failed("proxy", error)
            raise as_mcp_error(error) from None

    def _way(self, asked: Asked) -> Way:
        way = self._ways.get(asked.method)
        if way is not None:
            return way
        if "" not in asked.links.links:  # whose a method is that we do not know, nothing says
            raise MCPError(METHOD_NOT_FOUND, "Method not found", asked.method)
        return _verbatim

    async def _greet(self, context: Context, call_next: CallNext) -> HandlerResult:
        result = await call_next(context)
        if not isinstance(result, dict):
            return result
        asked = self._asked(context, opens=True)
        with asked.links.in_use():
            sessions = await opened(asked.links)
            if context.request is None:  # a tool of our name must show now, not when it is first called
                await self._refuse_same_name(asked)
        hears = asked.modern or context.request is None
        capabilities = capabilities_of(sessions, hears=hears)
        instructions = instructions_of(sessions, self._options.name)
        return {**result, "capabilities": capabilities, "instructions": instructions}

    async def _refuse_same_name(self, asked: Asked) -> None:
        try:
            await self._lists.checked(asked.links)
        except ArgumentsInvalid as error:
            self.refused = error
            raise protocol_error(error) from None
        except (SpillError, MCPError):  # lost since, or it has no list: said when somebody asks for it
            return

    async def _notified(self, context: Context) -> None:
        """What a client tells on its own: with one client, its upstreams may hear it."""
        if self._standing is None or context.method in _NOT_PASSED:
            return
        for link in self._standing.links.values():
            session = link.connected
            if session is not None and not session.modern:
                await session.notify(context.method, context.params)

    def _asked(self, context: Context, *, opens: bool = False) -> Asked:
        caller = self._caller if context.request is None else caller_of(context.request.scope)
        if caller is None:
            raise RuntimeError("a proxy on stdio is given its caller when it is built")
        names = names_of_client(context, caller)
        page, full = self._options.allowance(names)
        links = (
            self._links_on_stdio(context, caller, opens) if context.request is None else self._links_of(context, caller)
        )
        return Asked(context, caller, page, full, links)

    def _links_on_stdio(self, context: Context, caller: Caller, opens: bool) -> CallerLinks:
        if self._standing is None:
            modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
            if not opens and not modern:
                raise MCPError(INVALID_REQUEST, "the connection is not initialized")
            greeting = _greeting(context, modern=modern)
            self._standing = self._links.of(caller.tenant, greeting, for_ever=True)
            if not modern:
                self._standing.audience.stand(context.session)
        return self._standing

    def _links_of(self, context: Context, caller: Caller) -> CallerLinks:
        """Over HTTP a caller's links serve all its clients: they are greeted in the proxy's name."""
        authorization = None if context.request is None else context.request.headers.get("authorization")
        return self._links.of(caller.tenant, Greeting(self._identity, {}), authorization=authorization)

    def _finished(self, asked: Asked, result: dict[str, Any]) -> dict[str, Any]:
        """The result in the client's era: what only the other one says is added or taken away."""
        if not asked.modern:
            return {key: value for key, value in result.items() if key not in _MODERN_ONLY}
        meta = result.get("_meta") or {}
        finished = {"resultType": "complete", **result, "_meta": {SERVER_INFO_META_KEY: self._identity, **meta}}
        if asked.method in _CACHEABLE and finished["resultType"] == "complete":
            finished = {"ttlMs": 0, "cacheScope": "private", **finished}
        return finished


_MODERN_ONLY: Final = frozenset({"resultType", "ttlMs", "cacheScope"})

#: The dispatcher has applied these, or they are the handshake of the client's own connection.
_NOT_PASSED: Final = frozenset({"notifications/initialized", "notifications/cancelled", "notifications/progress"})


async def _verbatim(asked: Asked) -> dict[str, Any]:
    """A method of an extension, of which only client and upstream know."""
    return await asked.links.links[""].request(asked.method, asked.params, on_progress=asked.on_progress)


def _validate(context: Context) -> None:
    """Refuse what the SDK would refuse: what is of the protocol must be right in the client's own version of it."""
    if context.method not in protocol.SPEC_CLIENT_METHODS:
        return
    try:
        protocol.validate_client_request(context.method, context.protocol_version, context.params)
    except KeyError:
        raise MCPError(METHOD_NOT_FOUND, "Method not found", context.method) from None


def _greeting(context: Context, *, modern: bool) -> Greeting:
    """Who the one client on stdio is. A modern upstream is told with each request what that request's client can do."""
    params: dict[str, Any] = dict(context.params or {})
    if modern:
        meta = params.get("_meta") or {}
        return Greeting(meta.get(CLIENT_INFO_META_KEY) or {}, meta.get(CLIENT_CAPABILITIES_META_KEY) or {})
    return Greeting(params.get("clientInfo") or {}, params.get("capabilities") or {})
