"""Routes: which face answers at which path."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import ASGIApp, Receive, Scope, Send

from spillcache.caller import caller_of
from spillcache.errors import ArgumentsInvalid
from spillcache.http.problems import problem_response


class Routes:
    """Apps by the first segment of their path (`/mcp`). Each sees that as its root path, as if it were mounted."""

    def __init__(self, apps: Mapping[str, ASGIApp]) -> None:
        self._apps = apps
        places = ", ".join(apps)
        self._nowhere = ArgumentsInvalid("there is no such address", next_step=f"This server answers at {places}.")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request to its app."""
        root = "/" + scope["path"][1:].partition("/")[0]
        app = self._apps.get(root)
        if app is not None:
            await app({**scope, "root_path": scope.get("root_path", "") + root}, receive, send)
            return
        request_id = caller_of(scope).request_id
        await problem_response(self._nowhere, status=404, request_id=request_id)(scope, receive, send)
