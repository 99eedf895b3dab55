"""Resources, prompts, completions and log levels: to the upstream whose they are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
from mcp.shared.exceptions import MCPError

from spillcache.errors import ArgumentsInvalid
from spillcache.mcp.proxy.asked import Asked
from spillcache.mcp.proxy.link import Link
from spillcache.mcp.proxy.names import split_name, split_uri, with_public_uris
from spillcache.mcp.proxy.questions import answered

_LEAVE_S: Final = 2.0


async def read(asked: Asked) -> dict[str, Any]:
    """A resource, whole: its reader is the host, which knows what to do with it, not the model.

    One over the cap of an upstream's messages is an error.
    """
    link, uri = _by_uri(asked, asked.params.get("uri"))
    params = {**asked.params, "uri": uri}

    async def send(params: dict[str, Any]) -> dict[str, Any]:
        return await link.request("resources/read", params, on_progress=asked.on_progress)

    return with_public_uris(await answered(asked, params, send), link.namespace)


async def prompted(asked: Asked) -> dict[str, Any]:
    """A prompt."""
    link, name = _by_name(asked, asked.params.get("name"))
    params = {**asked.params, "name": name}

    async def send(params: dict[str, Any]) -> dict[str, Any]:
        return await link.request("prompts/get", params, on_progress=asked.on_progress)

    return with_public_uris(await answered(asked, params, send), link.namespace)


async def completed(asked: Asked) -> dict[str, Any]:
    """A completion, for an argument of a prompt or of a resource template."""
    reference = dict(asked.params.get("ref") or {})
    if reference.get("type") == "ref/resource":
        link, reference["uri"] = _by_uri(asked, reference.get("uri"))
    else:
        link, reference["name"] = _by_name(asked, reference.get("name"))
    return await link.request("completion/complete", {**asked.params, "ref": reference})


async def levelled(asked: Asked) -> dict[str, Any]:
    """A level of log messages, for all upstreams that log."""
    for link in asked.links.links.values():
        await link.set_log_level(str(asked.params.get("level")))
    return {}


async def subscribed(asked: Asked) -> dict[str, Any]:
    """A subscription, or its end, of the one client on stdio."""
    link, uri = _by_uri(asked, asked.params.get("uri"))
    session = await link.session()
    wants = asked.method == "resources/subscribe"
    news = link.subscriptions.want(uri) if wants else link.subscriptions.drop(uri)
    if session.modern or not news:  # a modern upstream hears of it on its stream
        return {}
    try:
        await link.request(asked.method, {"uri": uri})
    except MCPError:
        if wants:
            link.subscriptions.drop(uri)
        raise
    return {}


@asynccontextmanager
async def subscribed_during(asked: Asked, uris: Iterable[str]) -> AsyncIterator[None]:
    """Subscriptions that last as long as a modern client listens.

    One that an upstream refuses is not heard of: that protocol has no answer for a single one.
    """
    wanted = [_by_uri(asked, uri) for uri in uris]
    news = [(link, uri) for link, uri in wanted if link.subscriptions.want(uri)]
    await _tell("resources/subscribe", news)
    try:
        yield
    finally:
        over = [(link, uri) for link, uri in wanted if link.subscriptions.drop(uri)]
        with anyio.move_on_after(_LEAVE_S, shield=True):  # a stream ends by being cancelled
            await _tell("resources/unsubscribe", over)


async def _tell(method: str, targets: list[tuple[Link, str]]) -> None:
    for link, uri in targets:
        session = link.connected
        if session is not None and not session.modern:
            try:
                await session.request(method, {"uri": uri})
            except MCPError:
                continue


def _by_uri(asked: Asked, uri: object) -> tuple[Link, str]:
    return _found(asked, *(("", str(uri)) if "" in asked.links.links else split_uri(str(uri))), what="resource")


def _by_name(asked: Asked, name: object) -> tuple[Link, str]:
    return _found(asked, *(("", str(name)) if "" in asked.links.links else split_name(str(name))), what="prompt")


def _found(asked: Asked, namespace: str, inner: str, *, what: str) -> tuple[Link, str]:
    link = asked.links.links.get(namespace)
    if link is None:
        raise ArgumentsInvalid(f"there is no {what} of that name", next_step=f"List the {what}s and use one of them.")
    return link, inner
