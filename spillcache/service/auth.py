"""Who calls: from bearer credentials to a tenant.

Credentials are static tokens (`tokens.py`) and JSON Web Tokens (`jwts.py`); none are asked for where only this machine
can call. What was wrong with a credential is not told to whoever sent it: each failure has the same words.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from dataclasses import dataclass
from typing import Final, Protocol

from spillcache.errors import ArgumentsInvalid, Unauthorized

_BEARER: Final = re.compile(rb"bearer +([A-Za-z0-9\-._~+/]+=*) *", re.IGNORECASE)  # RFC 6750, 2.1
_MAX_TOKEN_BYTES: Final = 16_384  # web tokens with many claims take some KB; what is longer is not looked at
_NEXT_STEP: Final = "Tell the operator: the client needs a valid bearer token. This is a FAILED call, not empty data."


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose call it is. `subject` tells credentials of one tenant apart; it is a digest and opens nothing."""

    tenant: str
    subject: str = ""


class Authenticator(Protocol):
    """Finds out who sent a request."""

    async def identify(self, authorization: bytes | None) -> Identity:
        """Whose the value of an Authorization header is. Raises `Unauthorized`, `IssuerUnavailable`."""
        ...


class TokenSource(Protocol):
    """Knows some tokens."""

    async def find(self, token: str) -> Identity | None:
        """Whose token it is, None when it is not one of these.

        Raises `Unauthorized` for one of these that is bad, `IssuerUnavailable` where that cannot be found out.
        """
        ...


class Anybody:
    """Everybody is the one `tenant`, whatever they send."""

    def __init__(self, tenant: str) -> None:
        self._identity = Identity(tenant)

    async def identify(self, authorization: bytes | None) -> Identity:
        """The tenant."""
        return self._identity


class Bearer:
    """Whoever sends a token that one of `sources` knows; they are asked in their order."""

    def __init__(self, *sources: TokenSource) -> None:
        self._sources = sources

    async def identify(self, authorization: bytes | None) -> Identity:
        """See `Authenticator`."""
        if authorization is None:
            raise Unauthorized("no credentials came with the call", next_step=_NEXT_STEP)
        found = _BEARER.fullmatch(authorization) if len(authorization) <= _MAX_TOKEN_BYTES else None
        if found is not None:
            token = found[1].decode("ascii")
            for source in self._sources:
                identity = await source.find(token)
                if identity is not None:
                    return identity
        raise refused()


def refused() -> Unauthorized:
    """The one error for every credential that does not count."""
    return Unauthorized("the credentials are not valid", next_step=_NEXT_STEP)


def subject_of(*parts: str) -> str:
    """A subject for `Identity`: 64 bits of a digest."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches who listens on `host`. A name other than localhost may be anything."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def nobody_checked(host: str, tenant: str, *, allow_no_auth: bool) -> Anybody:
    """Serving without credentials. Raises `ArgumentsInvalid` beyond loopback, unless that was asked for."""
    if allow_no_auth or is_loopback(host):
        return Anybody(tenant)
    raise ArgumentsInvalid(
        f"listening on {host} without credentials would let everybody who reaches it read and write",
        next_step=(
            "Set SPILLCACHE_TOKENS_FILE (`spillcache tokens new` makes one) or SPILLCACHE_JWKS_URL, "
            "listen on 127.0.0.1, or set SPILLCACHE_ALLOW_NO_AUTH=true where something in front checks."
        ),
    )
