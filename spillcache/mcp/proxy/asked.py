"""One request of a client, with what is known of who makes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp.shared.dispatcher import ProgressFnT
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from spillcache.caller import Caller
from spillcache.mcp.proxy.audience import Context
from spillcache.mcp.proxy.links import CallerLinks


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, whose it is, and its caller's links.

    `budget` is what the caller's host takes of an answer, `full` what it takes of a full read, in bytes.
    """

    context: Context
    caller: Caller
    budget: int
    full: int
    links: CallerLinks

    @property
    def method(self) -> str:
        """Its method."""
        return self.context.method

    @property
    def params(self) -> dict[str, Any]:
        """Its parameters, as they came."""
        return dict(self.context.params or {})

    @property
    def modern(self) -> bool:
        """Whether the client speaks the era without sessions."""
        return self.context.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def may_be_held(self) -> bool:
        """Whether a question of a call can become its answer: a modern client's, whose next request comes here too."""
        return self.modern and self.context.request is None

    @property
    def on_progress(self) -> ProgressFnT | None:
        """Where progress goes; None when the client did not ask for any."""
        wants = "progressToken" in (self.params.get("_meta") or {})
        return self.context.session.report_progress if wants else None
