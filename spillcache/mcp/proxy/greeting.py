"""What the proxy says of itself when a client opens: what its upstreams can do, as far as this client can have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import anyio

from spillcache.errors import UpstreamUnavailable
from spillcache.mcp.proxy.link import Link
from spillcache.mcp.proxy.links import CallerLinks
from spillcache.mcp.proxy.session import UpstreamSession

_OURS_TOO: Final = ("prompts", "resources")  # the proxy has some itself, which never change
_KINDS: Final = ("completions", "logging")


async def opened(links: CallerLinks) -> dict[str, UpstreamSession | None]:
    """The session of each link, None for one that cannot be had now; waits as long as a call would."""
    sessions: dict[str, UpstreamSession | None] = {}

    async def wait(namespace: str, link: Link) -> None:
        try:
            sessions[namespace] = await link.session()
        except UpstreamUnavailable:  # said again, to whoever asks it for something
            sessions[namespace] = None

    async with anyio.create_task_group() as tasks:
        for namespace, link in links.links.items():
            tasks.start_soon(wait, namespace, link)
    return {namespace: sessions[namespace] for namespace in links.links}


def capabilities_of(sessions: Mapping[str, UpstreamSession | None], *, hears: bool) -> dict[str, Any]:
    """The capabilities to tell a client. `hears` says that changes can reach it.

    An upstream that is not there yet may turn out to have everything.
    """
    told = [None if session is None else session.capabilities for session in sessions.values()]
    merged: dict[str, Any] = {}
    if list(sessions) == [""] and told[0] is not None:  # with a single one, what is not of the core passes too
        merged |= told[0]
    for kind in _KINDS:
        if any(one is None or kind in one for one in told):
            merged[kind] = {}
    for kind in _OURS_TOO:
        merged[kind] = {"listChanged": hears and any(one is None or kind in one for one in told)}
    merged["resources"]["subscribe"] = hears and any(
        one is None or (one.get("resources") or {}).get("subscribe") for one in told
    )
    merged["tools"] = {"listChanged": hears}
    return merged


def instructions_of(sessions: Mapping[str, UpstreamSession | None], tool: str) -> str:
    """The upstreams' own instructions, under their names where there are several, and how to read on."""
    said = [
        f"{namespace}: {text}" if namespace else str(text)
        for namespace, session in sessions.items()
        if session is not None and (text := session.hello.get("instructions"))
    ]
    ours = f'A result that says completeness "truncated" is read page by page with the tool {tool}.'
    return "\n\n".join([*said, ours])
