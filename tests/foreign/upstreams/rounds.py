"""Tools that ask their client as the 2026-07-28 protocol has it: by a result that wants input, and a new call."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from typing import Any, Final

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

Wire = dict[str, Any]

_KEY: Final = secrets.token_bytes(32)


def _form(message: str, **properties: str) -> Wire:
    fields = {name: {"type": kind} for name, kind in properties.items()}
    schema = {"type": "object", "properties": fields, "required": list(fields)}
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}}


def _sample(prompt: str) -> Wire:
    said = {"role": "user", "content": {"type": "text", "text": prompt}}
    return {"method": "sampling/createMessage", "params": {"messages": [said], "maxTokens": 100}}


_ROOTS: Final[Wire] = {"method": "roots/list", "params": {}}
_NAME: Final = _form("What is your name?", name="string")

PROMPT: Final = "test_input_required_result_prompt"

ROUNDS: Final[dict[str, tuple[Wire, ...]]] = {
    "test_input_required_result_elicitation": ({"user_name": _NAME},),
    "test_input_required_result_sampling": ({"capital_question": _sample("What is the capital of France?")},),
    "test_input_required_result_list_roots": ({"client_roots": _ROOTS},),
    "test_input_required_result_request_state": ({"confirm": _form("Please confirm", ok="boolean")},),
    "test_input_required_result_multiple_inputs": (
        {"user_name": _NAME, "greeting": _sample("Generate a greeting"), "client_roots": _ROOTS},
    ),
    "test_input_required_result_multi_round": (
        {"step1": _form("Step 1: What is your name?", name="string")},
        {"step2": _form("Step 2: What is your favorite color?", color="string")},
    ),
    "test_input_required_result_tampered_state": ({"confirm": _form("Please confirm", ok="boolean")},),
    "test_input_required_result_capabilities": ({"user_name": _NAME, "greeting": _sample("Generate a greeting")},),
    "test_streaming_elicitation": ({"user_name": _NAME},),
    PROMPT: ({"user_context": _form("What context should the prompt use?", context="string")},),
}
"""Tool, or prompt → what each of its rounds asks, by the key under which the answer comes."""


def next_round(
    context: ServerRequestContext[Any, Any],
    params: types.CallToolRequestParams | types.GetPromptRequestParams,
) -> Wire | str:
    """The result that asks for more, or, after the last round, what was answered, as text.

    Asks for nothing that the client has not said it can do. Raises MCPError for a state that is not ours.
    """
    done = _rounds_done(params.name, params.request_state) if params.request_state else 0
    answers = params.input_responses or {}
    rounds = ROUNDS[params.name]
    asked = _possible(rounds[min(done, len(rounds) - 1)], context.session.client_capabilities)
    if not (answers.keys() >= rounds[max(done - 1, 0)].keys() & asked.keys()) or not answers:
        return _wanting(params.name, asked, done or 1)
    if max(done, 1) < len(rounds):
        return _wanting(params.name, _possible(rounds[done], context.session.client_capabilities), done + 1)
    return f"state-ok {json.dumps({key: answer.model_dump() for key, answer in answers.items()}, default=str)}"


def _wanting(name: str, asked: Wire, done: int) -> Wire:
    return {"resultType": "input_required", "inputRequests": asked, "requestState": _state(name, done)}


def _possible(asked: Wire, capabilities: types.ClientCapabilities | None) -> Wire:
    able = capabilities or types.ClientCapabilities()
    by_method = {
        "elicitation/create": able.elicitation,
        "sampling/createMessage": able.sampling,
        "roots/list": able.roots,
    }
    return {key: one for key, one in asked.items() if by_method[one["method"]] is not None}


def _state(name: str, done: int) -> str:
    said = f"{name}.{done}"
    return f"{said}.{hmac.new(_KEY, said.encode(), hashlib.sha256).hexdigest()}"


def _rounds_done(name: str, state: str) -> int:
    number = state.split(".")[1] if state.count(".") == 2 else ""
    if not number.isdigit() or not hmac.compare_digest(state.encode(), _state(name, int(number)).encode()):
        raise MCPError(types.INVALID_PARAMS, "requestState is not one of ours")
    return int(number)
