"""Questions of a modern upstream to a client of the handshake era.

A modern server answers a call by what it needs to know, and is called again with that. A modern client does so itself.
For an older one, which expects to be asked while its call runs, the proxy does it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from mcp_types.methods import is_input_required

from spillcache.errors import UpstreamUnavailable
from spillcache.mcp.proxy.asked import Asked

MAX_ROUNDS: Final = 10  # what the SDK's clients allow

Send = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


async def answered(asked: Asked, params: dict[str, Any], send: Send) -> dict[str, Any]:
    """The result of `send(params)`, after whatever questions the upstream has for a client that cannot read them.

    Raises `UpstreamUnavailable` for questions without end, and for a client that cannot be asked.
    """
    result = await send(params)
    if asked.modern:
        return result
    for _ in range(MAX_ROUNDS):
        if not is_input_required(result):
            return result
        result = await send(params | await _responses(asked, result))
    raise UpstreamUnavailable(
        f"the tool's server asked for more {MAX_ROUNDS} times over",
        next_step="Call again with more complete arguments. This is a FAILED call, not an empty result.",
    )


async def _responses(asked: Asked, result: dict[str, Any]) -> dict[str, Any]:
    if not asked.links.audience.can_answer:
        raise UpstreamUnavailable(
            "the tool's server asks for input, and this client cannot be asked for it over this connection",
            next_step="Call again with complete arguments, or tell the operator. "
            "This is a FAILED call, not an empty result.",
        )
    questions = result.get("inputRequests") or {}
    given = {
        key: await asked.links.audience.ask(str(question.get("method")), question.get("params"))
        for key, question in questions.items()
    }
    state = {"requestState": result["requestState"]} if "requestState" in result else {}
    return {"inputResponses": given, **state}
