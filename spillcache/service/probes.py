"""Probes: whether the process lives, and whether it wants requests. Neither asks Redis.

Readiness that hung on Redis would take every replica out of service at once when Redis fails, and with them the typed
errors that tell agents what happened. So `/readyz` says how the store was when it was last used, in its body only.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from spillcache.errors import ArgumentsInvalid, StoreError
from spillcache.http.problems import problem_response
from spillcache.service.phase import Phase
from spillcache.watch import Verb
from spillcache.wiring.acts import ActWatcher

ALIVE: Final = "/healthz"
READY: Final = "/readyz"
PROBES: Final = frozenset({ALIVE, READY})

_METHODS: Final = ("GET", "HEAD")


class StoreSeen(ActWatcher):
    """How the store was at the last act that used it: "ok", or the code of its error; "unknown" before the first."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._state = "unknown"
        self._at: float | None = None

    def ended(self, verb: Verb, spill_id: str, took_s: float, error: BaseException | None) -> None:
        """Looks at how an act ended. Only of the store's own errors and of none at all it is known that it was used."""
        if error is None or isinstance(error, StoreError):
            self._state, self._at = error.code if error is not None else "ok", self._monotonic()

    def as_dict(self) -> dict[str, Any]:
        """`state`, and how many seconds ago that was seen."""
        seen = {"seen_s_ago": round(self._monotonic() - self._at, 1)} if self._at is not None else {}
        return {"state": self._state, **seen}


class Probes:
    """Answers them, without credentials."""

    def __init__(self, phase: Phase, store: StoreSeen) -> None:
        self._phase, self._store = phase, store

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a probe."""
        if scope["method"] not in _METHODS:
            refused = ArgumentsInvalid("a probe is a GET or a HEAD")
            await problem_response(refused, status=405, headers={"Allow": ", ".join(_METHODS)})(scope, receive, send)
            return
        answer: dict[str, Any] = {"status": "alive"}
        status = 200
        if scope["path"] == READY:
            status, ready = (503, "draining") if self._phase.draining else (200, "ready")
            answer = {"status": ready, "store": self._store.as_dict()}
        response = Response(orjson.dumps(answer), status, {"Cache-Control": "no-store"}, "application/json")
        await response(scope, receive, send)
