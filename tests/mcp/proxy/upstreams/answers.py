"""A server over HTTP that answers calls with bytes of its own making, by the name of the tool."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Final

JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"


def result(request_id: Any, text: bytes = b"fine") -> bytes:
    """A tool's result."""
    return (
        json.dumps({"jsonrpc": "2.0", "id": request_id, "result": {"content": [{"type": "text", "text": "@@"}]}})
        .encode()
        .replace(b"@@", text)
    )


def event(data: bytes) -> bytes:
    """The event that carries a message."""
    return b"event: message\r\ndata: " + data + b"\r\n\r\n"


def answer(tool: str, request_id: int) -> tuple[str, bytes]:
    """Content type and body."""
    refused = {"jsonrpc": "2.0", "id": None, "error": {"code": -32602, "message": "refused"}}
    told = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
    backwards = {"result": {"content": [{"type": "text", "text": "fine"}]}, "jsonrpc": "2.0", "id": request_id}
    return {
        "events": (EVENTS, event(json.dumps(told).encode()) + event(result(request_id))),
        "backwards": (EVENTS, event(json.dumps(backwards).encode())),
        "as text": (EVENTS, event(result(str(request_id)))),
        "cp949": (EVENTS, event(result(request_id, "한글".encode("cp949")))),
        "another's event": (EVENTS, event(result(request_id + 1000))),
        "nobody's event": (EVENTS, event(result(None))),
        "another's": (JSON, result(request_id + 1000)),
        "refused": (JSON, json.dumps(refused).encode()),
        "refused event": (EVENTS, event(json.dumps(refused).encode())),
        "no answer": (JSON, json.dumps(told).encode()),
        "batch": (JSON, b"[" + result(request_id) + b"]"),
        "cut": (JSON, result(request_id)[:-9]),
        "large": (EVENTS, event(result(request_id, b"x" * 2_000_000))),
    }[tool]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - so it is called
        """Say nothing."""

    def do_GET(self) -> None:
        """There is no stream of our own accord."""
        self._send(405, JSON, b"")

    def do_POST(self) -> None:
        """Answer a message. A tool whose name begins with `gzip ` does as the one named after it, and compresses."""
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        request_id, method = message.get("id"), message["method"]
        hello = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "a"}}
        simple: dict[str, Any] = {"initialize": hello, "tools/list": {"tools": []}}
        if method == "tools/call":
            name = message["params"]["name"]
            kind, body = answer(name.removeprefix("gzip "), request_id)
            self._send(200, kind, body, compress=name.startswith("gzip "))
        elif method in simple:
            self._send(200, JSON, json.dumps({"jsonrpc": "2.0", "id": request_id, "result": simple[method]}).encode())
        elif request_id is None:
            self._send(202, JSON, b"")
        else:
            error = {"code": -32601, "message": "Method not found"}
            self._send(200, JSON, json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}).encode())

    def _send(self, status: int, kind: str, body: bytes, *, compress: bool = False) -> None:
        body = gzip.compress(body) if compress else body
        self.send_response(status)
        self.send_header("content-type", kind)
        if compress:
            self.send_header("content-encoding", "gzip")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def answering() -> Iterator[str]:
    """Serve in a thread; gives the URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
        finally:
            server.shutdown()
            thread.join()
