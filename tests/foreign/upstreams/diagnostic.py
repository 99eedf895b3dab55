"""An MCP server with the diagnostic tools, resources and prompts that the conformance suite calls by name.

``python diagnostic.py`` serves stdio; what a proxy in front of it passes on is then measured by the suite.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from tests.foreign.upstreams.rounds import PROMPT, ROUNDS, next_round

Context = ServerRequestContext[Any, Any]
Wire = dict[str, Any]

_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
_WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA="
_CHOICES = ["option1", "option2", "option3"]


def _text(text: str) -> Wire:
    return {"type": "text", "text": text}


def _image() -> Wire:
    return {"type": "image", "data": _PNG, "mimeType": "image/png"}


def _embedded(uri: str, kind: str, text: str) -> Wire:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}}


def _titled(*pairs: tuple[str, str]) -> list[Wire]:
    return [{"const": value, "title": title} for value, title in pairs]


FIXED: dict[str, list[Wire]] = {
    "test_simple_text": [_text("This is a simple text response for testing.")],
    "test_image_content": [_image()],
    "test_audio_content": [{"type": "audio", "data": _WAV, "mimeType": "audio/wav"}],
    "test_embedded_resource": [
        _embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        _text("Multiple content types test:"),
        _image(),
        _embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
    "json_schema_2020_12_tool": [_text("called")],
    "test_header": [_text("called")],
}

_DEFAULTS: Wire = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
_ENUMS: Wire = {
    "untitledSingle": {"type": "string", "enum": _CHOICES},
    "titledSingle": {"type": "string", "oneOf": _titled(("value1", "First Option"), ("value2", "Second Option"))},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _CHOICES}},
    "titledMulti": {"type": "array", "items": {"anyOf": _titled(("value1", "First Choice"), ("value2", "Second"))}},
}
_USER: Wire = {"username": {"type": "string"}, "email": {"type": "string"}}

INPUT_SCHEMAS: dict[str, Wire] = {
    "test_sampling": {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
    "test_elicitation": {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
    "test_header": {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}},
    "json_schema_2020_12_tool": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
}

RESOURCES: dict[str, Wire] = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": _PNG},
    "test://watched-resource": {"mimeType": "text/plain", "text": "watched"},
}

PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    PROMPT: (),
}


async def _logging(context: Context, _arguments: Wire) -> Wire:
    for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.session.send_log_message("info", said, related_request_id=context.request_id)
        await asyncio.sleep(0.05)  # so that a client sees them one after the other
    return {"content": [_text("Logged three times.")]}


async def _progress(context: Context, _arguments: Wire) -> Wire:
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100)
        await asyncio.sleep(0.05)
    return {"content": [_text("Done.")]}


async def _needing(context: Context, _arguments: Wire) -> Wire:
    able = context.session.client_capabilities
    if able is None or able.sampling is None:
        needed: Wire = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "This needs a client that samples", needed)
    return {"content": [_text("This client samples.")]}


async def _failing(_context: Context, _arguments: Wire) -> Wire:
    return {"isError": True, "content": [_text("This tool intentionally returns an error for testing")]}


async def _sampling(context: Context, arguments: Wire) -> Wire:
    asked = types.SamplingMessage(role="user", content=types.TextContent(text=arguments["prompt"]))
    answer = await context.session.create_message([asked], max_tokens=100)
    said = answer.content.text if isinstance(answer.content, types.TextContent) else ""
    return {"content": [_text(f"LLM response: {said}")]}


def _eliciting(properties: Wire, words: str) -> Callable[[Context, Wire], Awaitable[Wire]]:
    async def tool(context: Context, arguments: Wire) -> Wire:
        schema = {"type": "object", "properties": properties, "required": list(properties)[:2]}
        answer = await context.session.elicit_form(
            arguments.get("message", "Please fill this in"), schema, related_request_id=context.request_id
        )
        return {"content": [_text(f"{words}: action={answer.action}, content={answer.content}")]}

    return tool


ACTING: dict[str, Callable[[Context, Wire], Awaitable[Wire]]] = {
    "test_tool_with_logging": _logging,
    "test_logging_tool": _logging,
    "test_missing_capability": _needing,
    "test_tool_with_progress": _progress,
    "test_error_handling": _failing,
    "test_sampling": _sampling,
    "test_elicitation": _eliciting(_USER, "User response"),
    "test_elicitation_sep1034_defaults": _eliciting(_DEFAULTS, "Elicitation completed"),
    "test_elicitation_sep1330_enums": _eliciting(_ENUMS, "Elicitation completed"),
}


async def list_tools(_context: Context, _params: object) -> Wire:
    """Every tool, with the schema that the suite looks for."""
    return {
        "tools": [
            {"name": name, "description": name, "inputSchema": INPUT_SCHEMAS.get(name, {"type": "object"})}
            for name in (*FIXED, *ACTING, *(name for name in ROUNDS if name != PROMPT))
        ]
    }


async def call_tool(context: Context, params: types.CallToolRequestParams) -> Wire:
    """A fixed result, or one that comes after something else."""
    if params.name in FIXED:
        return {"content": FIXED[params.name]}
    if params.name in ROUNDS:
        asked = next_round(context, params)
        return {"content": [_text(asked)]} if isinstance(asked, str) else asked
    if params.name not in ACTING:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
    return await ACTING[params.name](context, params.arguments or {})


async def list_resources(_context: Context, _params: object) -> Wire:
    """The resources without their contents."""
    return {"resources": [{"uri": uri, "name": uri, "mimeType": held["mimeType"]} for uri, held in RESOURCES.items()]}


async def list_templates(_context: Context, _params: object) -> Wire:
    """The one template."""
    return {"resourceTemplates": [{"uriTemplate": "test://template/{id}/data", "name": "template"}]}


async def read_resource(_context: Context, params: types.ReadResourceRequestParams) -> Wire:
    """A resource, or what the template makes of an id. Raises MCPError for an unknown one."""
    if params.uri in RESOURCES:
        return {"contents": [{"uri": params.uri, **RESOURCES[params.uri]}]}
    if params.uri.startswith("test://template/"):
        number = params.uri.removeprefix("test://template/").removesuffix("/data")
        text = f'{{"id":"{number}","templateTest":true,"data":"Data for ID: {number}"}}'
        return {"contents": [{"uri": params.uri, "mimeType": "application/json", "text": text}]}
    raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": params.uri})


async def list_prompts(_context: Context, _params: object) -> Wire:
    """The prompts and their arguments."""
    return {
        "prompts": [
            {"name": name, "description": name, "arguments": [{"name": one, "required": True} for one in arguments]}
            for name, arguments in PROMPTS.items()
        ]
    }


async def get_prompt(context: Context, params: types.GetPromptRequestParams) -> Wire:
    """A prompt's messages."""
    if params.name == PROMPT:
        asked = next_round(context, params)
        return {"messages": [{"role": "user", "content": _text(asked)}]} if isinstance(asked, str) else asked
    given = params.arguments or {}
    contents = {
        "test_simple_prompt": [_text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments": [
            _text(f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'")
        ],
        "test_prompt_with_embedded_resource": [
            _embedded(given.get("resourceUri", ""), "text/plain", "Embedded resource content for testing."),
            _text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image": [_image(), _text("Please analyze the image above.")],
    }[params.name]
    return {"messages": [{"role": "user", "content": content} for content in contents]}


async def complete(_context: Context, params: types.CompleteRequestParams) -> Wire:
    """Two values that begin as asked."""
    begun = params.argument.value
    return {"completion": {"values": [f"{begun}1", f"{begun}2"], "total": 2, "hasMore": False}}


async def nothing(_context: Context, _params: object) -> Wire:
    """Agree to a log level or a subscription."""
    return {}


def _whole(handler: Callable[[Context, Any], Awaitable[Wire]]) -> Callable[[Context, Any], Awaitable[Wire]]:
    """What the 2026-07-28 protocol wants of every result, and the 2025 ones overlook."""

    async def answer(context: Context, params: Any) -> Wire:
        return {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **await handler(context, params)}

    return answer


def build() -> Server[Any]:
    """The server, with handlers that answer in wire form."""
    server: Server[Any] = Server("diagnostic", version="1")
    for method, params, handler in (
        ("tools/list", types.PaginatedRequestParams, list_tools),
        ("tools/call", types.CallToolRequestParams, call_tool),
        ("resources/list", types.PaginatedRequestParams, list_resources),
        ("resources/templates/list", types.PaginatedRequestParams, list_templates),
        ("resources/read", types.ReadResourceRequestParams, read_resource),
        ("resources/subscribe", types.SubscribeRequestParams, nothing),
        ("resources/unsubscribe", types.UnsubscribeRequestParams, nothing),
        ("prompts/list", types.PaginatedRequestParams, list_prompts),
        ("prompts/get", types.GetPromptRequestParams, get_prompt),
        ("completion/complete", types.CompleteRequestParams, complete),
        ("logging/setLevel", types.SetLevelRequestParams, nothing),
    ):
        # Strict clients of the 2025 protocols refuse anything in a result that is meant to be empty.
        server.add_request_handler(method, params, handler if handler is nothing else _whole(handler))
    return server


async def main() -> None:
    """Serve stdio until it ends."""
    server = build()
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
