"""A server with a bit of everything: `python -m tests.mcp.proxy.upstreams.everything [--era legacy] [--http PORT]`.

Written on the official SDK's low-level server. With `--era legacy` it knows the handshake only; over HTTP that means
sessions. Tools that tell of themselves write to the file TRACE names.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated, ToolsListChanged
from pydantic import ConfigDict
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.mcp.proxy.upstreams.sizes import metrics

Context = Any
NOTE = "note:///today"
bus = InMemorySubscriptionBus()
arguments = argparse.ArgumentParser()
arguments.add_argument("--era", default="both")
arguments.add_argument("--http", type=int, default=0)
arguments.add_argument("--name", default="everything")
arguments.add_argument("--extra-tool")
arguments.add_argument("--sessions", action="store_true")
given = arguments.parse_args()


def trace(word: str) -> None:
    """Leave a word for the test."""
    if path := os.environ.get("TRACE"):
        with Path(path).open("a") as file:
            file.write(f"{word}\n")


def text(value: str) -> dict[str, Any]:
    """A result of one text block."""
    return {"content": [{"type": "text", "text": value}], "isError": False}


TYPED = {
    "type": "object",
    "properties": {"rows": {"type": "array", "items": {"$ref": "#/$defs/row"}}},
    "required": ["rows"],
    "$defs": {"row": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
}


async def list_tools(_context: Context, _params: object) -> types.ListToolsResult:
    """Every tool takes anything."""
    trace("listed")
    names = [*TOOLS, *([given.extra_tool] if given.extra_tool else [])]
    return types.ListToolsResult(
        tools=[
            types.Tool(
                name=name,
                description=f"the tool {name}",
                input_schema={"type": "object"},
                output_schema=TYPED if name == "typed" else None,
            )
            for name in names
        ]
    )


async def call_tool(context: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    """Find the tool and run it."""
    trace(f"called {params.name}")
    if params.name not in (*TOOLS, given.extra_tool):
        raise MCPError(types.INVALID_PARAMS, f"no tool {params.name}")
    tool = TOOLS.get(params.name, TOOLS["echo"])
    return {"resultType": "complete"} | await tool(context, params)


async def echo(_context: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    """Its arguments, as text."""
    return text(json.dumps(params.arguments or {}))


async def big(_context: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    """A large JSON document."""
    return text(metrics((params.arguments or {}).get("points", 5_000)))


async def typed(_context: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    """Text and the same as structured content."""
    rows = {"rows": [{"n": n} for n in range((params.arguments or {}).get("rows", 3))]}
    return text(json.dumps(rows)) | {"structuredContent": rows}


async def odd(_context: Context, _params: types.CallToolRequestParams) -> dict[str, Any]:
    """What no model knows."""
    return {
        "content": [{"type": "text", "text": "known", "annotations": {"priority": 0.5}, "_meta": {"a": None}}],
        "isError": True,
        "_meta": {"vendor/thing": [1, None, {"deep": True}]},
    }


async def where(_context: Context, _params: types.CallToolRequestParams) -> dict[str, Any]:
    """The process and its environment."""
    return text(json.dumps({"pid": os.getpid(), "environment": dict(os.environ)}))


async def slow(context: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    """Tell of progress, then wait to be cancelled."""
    for step in (1, 2, 3):
        await context.session.report_progress(step, 3, f"step {step}")
    if (params.arguments or {}).get("ends"):
        return text("done")
    trace("waiting")
    try:
        await anyio.sleep_forever()
    finally:
        trace("cancelled")
    return text("never")


async def die(_context: Context, _params: types.CallToolRequestParams) -> dict[str, Any]:
    """End without an answer."""
    os._exit(3)


async def link(_context: Context, _params: types.CallToolRequestParams) -> dict[str, Any]:
    """A link to a resource, and one embedded."""
    resource = {"uri": NOTE, "mimeType": "text/plain", "text": "embedded"}
    return {
        "content": [
            {"type": "resource_link", "uri": NOTE, "name": "today"},
            {"type": "resource", "resource": resource},
        ],
        "isError": False,
    }


async def ask(context: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    """Ask the client something: in a handshake while the call runs, in the modern era by the answer."""
    question = types.ElicitRequestFormParams(
        message="how many?",
        requested_schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    )
    if context.protocol_version >= "2026":
        given_answers: dict[str, Any] = dict(params.input_responses or {})
        if "n" not in given_answers:
            return types.InputRequiredResult(
                input_requests={"n": types.ElicitRequest(params=question)}, request_state="asked"
            ).model_dump(by_alias=True, mode="json", exclude_none=True)
        return text(f"answered {given_answers['n'].content['n']} after {params.request_state}")
    answer = await context.session.elicit_form(question.message, question.requested_schema)
    return text(f"answered {answer.content['n']}")


async def sample(context: Context, _params: types.CallToolRequestParams) -> dict[str, Any]:
    """Ask for a message and for roots while the call runs."""
    answer: Any = await context.session.create_message(
        [types.SamplingMessage(role="user", content=types.TextContent(text="say it"))], max_tokens=5
    )
    roots = await context.session.list_roots()
    return text(f"{answer.content.text} at {roots.roots[0].uri}")


async def log(context: Context, _params: types.CallToolRequestParams) -> dict[str, Any]:
    """A log message."""
    await context.session.send_log_message("warning", {"said": "hello"}, logger="deep")
    return text("logged")


async def change(context: Context, _params: types.CallToolRequestParams) -> dict[str, Any]:
    """Tell that the tools and a resource changed."""
    if context.protocol_version >= "2026":
        await bus.publish(ToolsListChanged())
        await bus.publish(ResourceUpdated(NOTE))
    else:
        await context.session.send_tool_list_changed()
        await context.session.send_resource_updated(NOTE)
    return text("changed")


async def headers(context: Context, _params: types.CallToolRequestParams) -> dict[str, Any]:
    """The HTTP headers of the call."""
    return text(json.dumps(dict(context.request.headers)))


async def orphan(_context: Context, _params: types.CallToolRequestParams) -> dict[str, Any]:
    """Start a child that holds our stdout open and will not end by itself."""
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(600)")
    return text(str(child.pid))


TOOLS = {
    "echo": echo, "big": big, "typed": typed, "odd": odd, "where": where, "slow": slow, "die": die, "link": link,
    "ask": ask, "sample": sample, "log": log, "change": change, "headers": headers, "orphan": orphan,
}  # fmt: skip


async def list_resources(_context: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    """Two pages."""
    if params is not None and params.cursor == "more":
        return types.ListResourcesResult(resources=[types.Resource(uri="note:///old", name="old")])
    return types.ListResourcesResult(resources=[types.Resource(uri=NOTE, name="today")], next_cursor="more")


async def list_templates(_context: Context, _params: object) -> types.ListResourceTemplatesResult:
    """One."""
    return types.ListResourceTemplatesResult(
        resource_templates=[types.ResourceTemplate(uri_template="note:///{day}", name="a day")]
    )


async def read_resource(_context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    """Which one was read; or, after a question mark, as many letters."""
    size = int(str(params.uri).rpartition("?")[2] or 0) if "?" in str(params.uri) else 0
    body = "x" * size or f"{given.name} has {params.uri}"
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=params.uri, text=body)])


async def list_prompts(_context: Context, _params: object) -> types.ListPromptsResult:
    """One."""
    return types.ListPromptsResult(prompts=[types.Prompt(name="greet")])


async def get_prompt(_context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    """Name and arguments."""
    message = types.PromptMessage(role="user", content=types.TextContent(text=f"{params.name} {params.arguments}"))
    return types.GetPromptResult(messages=[message])


async def complete(_context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    """What was to be completed."""
    named = getattr(params.ref, "name", None) or getattr(params.ref, "uri", "")
    return types.CompleteResult(completion=types.Completion(values=[f"{named}:{params.argument.value}"]))


async def subscribe(_context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
    """Take note."""
    trace(f"subscribed {params.uri}")
    return types.EmptyResult()


async def unsubscribe(_context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    """Take note."""
    trace(f"unsubscribed {params.uri}")
    return types.EmptyResult()


async def set_level(_context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    """Take note."""
    trace(f"level {params.level}")
    return types.EmptyResult()


class Vendor(types.RequestParams):
    """Parameters of a method that is not of the protocol."""

    model_config = ConfigDict(extra="allow")


async def vendor(_context: Context, params: Vendor) -> dict[str, Any]:
    """Its parameters."""
    return {"method": "vendor/own", **(params.model_extra or {})}


def build() -> Server[Any]:
    """The server."""
    server: Server[Any] = Server(
        given.name,
        version="1",
        instructions=f"instructions of {given.name}",
        on_list_tools=list_tools,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
        on_subscriptions_listen=ListenHandler(bus),
    )
    server.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)
    server.add_request_handler("vendor/own", Vendor, vendor)
    return server


class LegacyOnly:
    """Refuses what only the modern era sends, as an old server would."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 400 to a modern request."""
        version = dict(scope.get("headers", [])).get(b"mcp-protocol-version", b"")
        if version >= b"2026":
            await send({"type": "http.response.start", "status": 400, "headers": []})
            await send({"type": "http.response.body", "body": b"Bad Request"})
            return
        await self._app(scope, receive, send)


async def main() -> None:
    """Serve until stdin ends, or for ever over HTTP."""
    server = build()
    if given.http:
        app: ASGIApp = server.streamable_http_app(stateless_http=not given.sessions)
        app = LegacyOnly(app) if given.era == "legacy" else app
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", given.http))
        await uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)).serve([listener])
        return
    print("a line on stderr", file=sys.stderr, flush=True)  # noqa: T201 - that is what is tested
    async with stdio_server() as (received, sent):
        options = server.create_initialization_options()
        if given.era == "legacy":
            async with server.lifespan(server) as state:
                await serve_loop(server, received, sent, lifespan_state=state, init_options=options)
        else:
            await server.run(received, sent, options)


if __name__ == "__main__":
    asyncio.run(main())
