"""A model behind any URL that speaks OpenAI's chat completions with tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx2

_TIMEOUT_S = 300.0  # of one turn: local models think long

Message = dict[str, Any]


class ModelFailedError(Exception):
    """The model could not be asked, or what came is no answer of this protocol. Says nothing of any data."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model said. `message` goes back into the conversation as it came; `tokens` is None if not reported."""

    message: Message
    tokens: int | None

    @property
    def text(self) -> str:
        """Its words."""
        return str(self.message.get("content") or "")

    @property
    def calls(self) -> Sequence[Mapping[str, Any]]:
        """The calls of tools that it asks for."""
        return self.message.get("tool_calls") or ()


class Model:
    """A model. An asynchronous context manager; `key` is sent as a bearer token where there is one.

    `temperature` is asked for where it is set; some models refuse every request that names one.
    """

    def __init__(self, url: str, name: str, key: str | None, temperature: float | None = None) -> None:
        self._asked: dict[str, Any] = {"model": name}
        if temperature is not None:
            self._asked["temperature"] = temperature
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx2.AsyncClient(base_url=url.rstrip("/"), headers=headers, timeout=_TIMEOUT_S)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def turn(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Turn:
        """The next message. Raises `ModelFailedError`, which names neither the key nor what was sent."""
        asked = self._asked | {"messages": list(messages), "tools": list(tools)}
        try:
            response = await self._http.post("/chat/completions", json=asked)
        except httpx2.HTTPError as error:
            raise ModelFailedError(f"the model cannot be reached ({type(error).__name__})") from None
        if response.status_code != 200:
            raise ModelFailedError(f"the model answered with HTTP status {response.status_code}")
        try:
            answer = response.json()
            message = answer["choices"][0]["message"]
            used = answer.get("usage")
            tokens = int(used["prompt_tokens"]) + int(used["completion_tokens"]) if used else None
            turn = Turn(dict(message), tokens)
            if not all(isinstance(call["function"], dict) for call in turn.calls):
                raise TypeError
        except (ValueError, LookupError, TypeError, AttributeError):
            raise ModelFailedError("what the model sent is no chat completion") from None
        return turn


def function_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A tool of tools/list as these models are offered it."""
    function = {"name": entry["name"], "description": entry["description"], "parameters": entry["inputSchema"]}
    return {"type": "function", "function": function}
