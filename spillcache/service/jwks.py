"""The keys that sign JSON Web Tokens, as their issuer publishes them (a JWK Set, RFC 7517), kept for a while."""

from __future__ import annotations

import asyncio
import json
import logging
import time
import urllib.request
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from typing import Any, Final
from urllib.parse import urlsplit

import jwt

from spillcache.errors import ArgumentsInvalid, IssuerUnavailable, SpillError
from spillcache.service.auth import is_loopback, refused

_log = logging.getLogger("spillcache")

#: Asymmetric ones only: with HS256 the published key itself would sign.
ALGORITHMS: Final = ("RS256", "ES256", "EdDSA")

_KEEP_S: Final = 300.0  # how long a key that was withdrawn may still sign
_STALE_S: Final = 3600.0  # the issuer may be down that long; then its keys no longer count
_ASK_S: Final = 60.0  # made-up key ids must not become a load on the issuer
_RETRY_S: Final = 5.0  # what callers are told: a few seconds
_TIMEOUT_S: Final = 5.0  # to connect, and for each piece of the answer; meanwhile only calls with unknown keys wait
_MAX_BYTES: Final = 1 << 20  # a set of a hundred keys takes 50 KB


class KeySet:
    """The keys at a URL. `fetch` reads it in a thread and may raise `OSError`, `ValueError`, `HTTPException`.

    Raises `ArgumentsInvalid` for what is no URL of HTTP, and for http beyond this machine: who answers there, lets in.
    """

    def __init__(
        self, url: str, *, fetch: Callable[[str], bytes] | None = None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        _check_address(url)
        self._url, self._fetch, self._monotonic = url, fetch or _read, monotonic
        self._keys: Mapping[str | None, jwt.PyJWK] = {}
        self._got_at: float | None = None
        self._asked_at: float | None = None
        self._failed = False
        self._lock = asyncio.Lock()
        self._renewal: asyncio.Task[None] | None = None
        # A thread of its own: an issuer that hangs holds up nothing else that waits for one.
        self._thread = ThreadPoolExecutor(1, "spillcache-jwks")

    async def key(self, kid: str | None) -> jwt.PyJWK:
        """The key of that id; without one the only key there is. Raises `Unauthorized`, `IssuerUnavailable`."""
        found = self._find(kid)
        if found is None:
            await self._renew(kid)
            found = self._find(kid)
        elif self._age() >= _KEEP_S and self._renewal is None:  # aside: nobody waits for an issuer that is slow or down
            self._renewal = asyncio.create_task(self._renew(kid))
            self._renewal.add_done_callback(self._renewed)
        if found is None:
            raise self._why_not()
        return found

    def _why_not(self) -> SpillError:
        if self._stale:
            return IssuerUnavailable("the keys that sign credentials cannot be had at the moment")
        return refused()

    @property
    def _stale(self) -> bool:
        return self._age() >= _STALE_S

    def _renewed(self, _task: asyncio.Task[None]) -> None:
        self._renewal = None

    def _find(self, kid: str | None) -> jwt.PyJWK | None:
        if self._stale:
            return None
        if kid is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(kid)

    def _age(self) -> float:
        return float("inf") if self._got_at is None else self._monotonic() - self._got_at

    async def _renew(self, kid: str | None) -> None:
        async with self._lock:
            if not self._may_ask(kid):
                return
            self._asked_at = self._monotonic()
            try:
                text = await asyncio.get_running_loop().run_in_executor(self._thread, self._fetch, self._url)
                keys = _usable(text)
            except (OSError, ValueError, HTTPException, RecursionError) as error:
                self._failed = True
                _log.error("jwks_not_read", extra={"type": type(error).__name__})
            else:
                self._failed = False
                self._keys, self._got_at = keys, self._monotonic()

    def _may_ask(self, kid: str | None) -> bool:
        """Asked with the lock held: whoever held it before may have brought what is wanted."""
        if self._asked_at is None:
            return True
        since = self._monotonic() - self._asked_at
        if self._failed:
            return since >= _RETRY_S
        return since >= (_ASK_S if self._find(kid) is None else _KEEP_S)


def _check_address(url: str) -> None:
    try:
        parts = urlsplit(url)
        scheme, host = parts.scheme, parts.hostname or ""
    except ValueError:
        scheme = host = ""
    if scheme not in ("http", "https") or not host:
        raise ArgumentsInvalid(
            "the address of the JWT keys is not an http or https URL", next_step="Correct SPILLCACHE_JWKS_URL."
        )
    if scheme == "http" and not is_loopback(host):
        raise ArgumentsInvalid(
            "the JWT keys would come over http: whoever answers in place of the issuer could let anybody in",
            next_step="Set SPILLCACHE_JWKS_URL to an https URL, or to one on loopback.",
        )


def _usable(text: bytes) -> dict[str | None, jwt.PyJWK]:
    """The keys of a set that may sign; others (for encryption, of other kinds) are passed over."""
    found: dict[str | None, jwt.PyJWK] = {}
    for listed in _listed(text):
        key = _parsed(listed)
        if key is not None and key.algorithm_name in ALGORITHMS and listed.get("use", "sig") == "sig":
            found[key.key_id] = key
    return found


def _parsed(listed: dict[str, Any]) -> jwt.PyJWK | None:
    """A key; None for one that is of no kind known here, or badly made: the others of its set still count."""
    if not isinstance(listed.get("kid"), str | None):
        return None
    try:
        return jwt.PyJWK.from_dict(listed)
    except jwt.PyJWTError:
        return None
    except Exception as error:  # what the libraries below make of a stranger's numbers is not in any contract
        _log.warning("jwks_key_not_read", extra={"type": type(error).__name__})
        return None


def _listed(text: bytes) -> list[dict[str, Any]]:
    document = json.loads(text)
    keys = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(keys, list):
        raise ValueError("not a JWK Set")  # noqa: TRY004 - what a fetch may raise
    return [key for key in keys if isinstance(key, dict)]


def _read(url: str) -> bytes:
    """Raises `OSError`, which covers urllib's, `HTTPException`, and `ValueError`.

    A redirect is an error: the operator named a URL.
    """
    opener = urllib.request.build_opener(_NoRedirect)
    with opener.open(url, timeout=_TIMEOUT_S) as answer:
        text: bytes = answer.read(_MAX_BYTES + 1)
    if len(text) > _MAX_BYTES:
        raise ValueError("too large for a JWK Set")
    return text


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_args: Any, **_kwargs: Any) -> None:
        return None
