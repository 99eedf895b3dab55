"""JSON Web Tokens as bearer credentials: signed by a published key, not expired, for us, and naming a tenant."""

from __future__ import annotations

from typing import Any, Final

import jwt

from spillcache.service.auth import Identity, refused, subject_of
from spillcache.service.jwks import ALGORITHMS, KeySet

_LEEWAY_S: Final = 30  # clocks of issuers and replicas differ by seconds
_MAX_TENANT: Final = 256  # hashed for every cursor; names of tenants are shorter

#: A token's text nests as its sender likes, and claims may be numbers that no clock knows.
_UNREADABLE: Final = (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError)


class JsonWebTokens:
    """Tokens signed by one of `keys`. `issuer` and `audience` are checked where they are given."""

    def __init__(
        self, keys: KeySet, *, tenant_claim: str, issuer: str | None = None, audience: str | None = None
    ) -> None:
        self._keys, self._tenant_claim = keys, tenant_claim
        self._issuer, self._audience = issuer, audience

    async def find(self, token: str) -> Identity | None:
        """See `TokenSource`. The algorithm is the key's own, whatever the token's header says."""
        if token.count(".") != 2:
            return None
        try:
            header = jwt.get_unverified_header(token)
        except _UNREADABLE:
            return None
        if header.get("alg") not in ALGORITHMS:
            raise refused()
        key = await self._keys.key(header.get("kid"))
        try:
            claims = self._claims(token, key)
        except _UNREADABLE:
            claims = {}
        tenant = claims.get(self._tenant_claim)
        if not isinstance(tenant, str) or not tenant.strip() or len(tenant) > _MAX_TENANT:
            raise refused()
        return Identity(tenant, subject_of("jwt", str(claims.get("iss", "")), str(claims.get("sub", ""))))

    def _claims(self, token: str, key: jwt.PyJWK) -> dict[str, Any]:
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=list(ALGORITHMS),
            audience=self._audience,
            issuer=self._issuer,
            leeway=_LEEWAY_S,
            options={"require": ["exp"], "verify_aud": self._audience is not None},
        )
        return claims
