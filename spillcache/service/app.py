"""The application: MCP at `/mcp`, REST at `/v1`, probes, all behind one edge."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final

from starlette.types import ASGIApp

from spillcache import SpillCache
from spillcache.http.app import rest_app
from spillcache.mcp.http import mcp_app
from spillcache.mcp.server import build_server
from spillcache.service.auth import Anybody, Authenticator, Bearer, TokenSource, is_loopback, nobody_checked
from spillcache.service.edge import Edge
from spillcache.service.hosts import Hosts
from spillcache.service.jwks import KeySet
from spillcache.service.jwts import JsonWebTokens
from spillcache.service.phase import Phase
from spillcache.service.probes import Probes, StoreSeen
from spillcache.service.routes import Routes
from spillcache.service.tokens import TokenFile
from spillcache.service.tooling import tool_options
from spillcache.watch import UNWATCHED, Watcher
from spillcache.wiring.settings import Settings

_log = logging.getLogger("spillcache")

_ANY_AUDIENCE: Final = "without SPILLCACHE_JWT_AUDIENCE a token that the issuer made for another service opens this one"


@dataclass(frozen=True, slots=True)
class Faces:
    """What a process serves: apps by path, and the lifespan that must surround their serving."""

    apps: Mapping[str, ASGIApp]
    lifespan: AbstractAsyncContextManager[object]


def serve_faces(cache: SpillCache, settings: Settings) -> Faces:
    """MCP and REST on a cache. The edge looks at Host and Origin, so MCP need not."""
    options = tool_options(settings)
    mcp, lifespan = mcp_app(
        build_server(cache, options), max_request_bytes=settings.max_request_bytes, allowed_hosts=None
    )
    rest = rest_app(
        cache,
        budget=settings.budget_bytes,
        full_bytes=settings.full_bytes,
        max_page_bytes=settings.max_page_bytes,
    )
    return Faces({"/mcp": mcp, "/v1": rest}, lifespan)


def edge_app(
    apps: Mapping[str, ASGIApp],
    settings: Settings,
    *,
    phase: Phase,
    store: StoreSeen,
    watcher: Watcher = UNWATCHED,
) -> ASGIApp:
    """Apps by path behind an edge with the credentials, hosts and probes of these settings.

    Raises `ArgumentsInvalid` when credentials are asked for beyond loopback and none are configured, or when they are
    not valid.
    """
    authenticator = authenticator_of(settings)
    return Edge(
        Routes(apps),
        authenticator=authenticator,
        phase=phase,
        probes=Probes(phase, store),
        hosts=_hosts(authenticator, settings),
        watcher=watcher,
    )


def authenticator_of(settings: Settings) -> Authenticator:
    """Who may call under these settings. Raises `ArgumentsInvalid`."""
    sources: list[TokenSource] = []
    if settings.tokens_file is not None:
        sources.append(TokenFile(settings.tokens_file))
    if settings.jwks_url is not None:
        if settings.jwt_audience is None:
            _log.warning("jwt_audience_not_set", extra={"meaning": _ANY_AUDIENCE})
        sources.append(
            JsonWebTokens(
                KeySet(settings.jwks_url),
                tenant_claim=settings.jwt_tenant_claim,
                issuer=settings.jwt_issuer,
                audience=settings.jwt_audience,
            )
        )
    if sources:
        return Bearer(*sources)
    return nobody_checked(settings.host, settings.tenant, allow_no_auth=settings.allow_no_auth)


def _hosts(authenticator: Authenticator, settings: Settings) -> Hosts | None:
    """What is looked at of Host and Origin, if anything.

    Where credentials are asked for, a web page that gets here by a name of its own has none to send. Where none are,
    a browser's is the only name that tells its pages from a client, and beyond loopback that is Origin alone, unless
    our own names are configured.
    """
    if isinstance(authenticator, Anybody):
        known = is_loopback(settings.host) or bool(settings.allowed_hosts)
        return Hosts(settings.allowed_hosts, any_host=not known)
    return Hosts(settings.allowed_hosts) if settings.allowed_hosts else None
