"""An agent's host: it hands the tool's texts to its agent, cut where hosts cut, and keeps a transcript."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from mcp import Client

from spillcache import defaults
from tests.mcp.texts import text_of


@dataclass(frozen=True, slots=True)
class Seen:
    """What an agent was shown: the arguments of its call, and the text up to where the host cut it."""

    arguments: dict[str, Any]
    text: str
    cut: bool = False

    @property
    def answer(self) -> dict[str, Any] | None:
        """The text as a program reads it; None where it was cut."""
        return None if self.cut else json.loads(self.text)

    @property
    def says(self) -> str:
        """How much this is: COMPLETE, PARTIAL, FAILED or truncated; "" where the host cut that word off."""
        answer = self.answer or {}
        return str(answer.get("status") or answer.get("completeness") or "")


@dataclass(slots=True)
class Host:
    """The host of one agent. `most` is how many characters of an answer it shows; what is beyond, it drops silently."""

    client: Client
    most: int | None = None
    seen: list[Seen] = field(default_factory=list)

    def received(self, envelope: dict[str, Any]) -> dict[str, Any]:
        """Show the agent what its own tool returned."""
        self.seen.append(Seen({}, json.dumps(envelope)))
        return envelope

    async def call(self, **arguments: Any) -> Seen:
        """Call the reading tool for the agent, and show it the text."""
        text = text_of(await self.client.call_tool(defaults.TOOL_NAME, arguments))
        self.seen.append(Seen(arguments, text[: self.most], cut=self.most is not None and len(text) > self.most))
        return self.seen[-1]
