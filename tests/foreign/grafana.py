"""The part of Grafana that mcp-grafana needs to query a Prometheus: one data source, whose queries go to a real one."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SOURCE = "real-prometheus"
"""The data source's uid."""


@contextmanager
def grafana(prometheus_url: str) -> Iterator[str]:
    """Serve the stand-in; its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(prometheus_url))
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def _handler(prometheus_url: str) -> type[BaseHTTPRequestHandler]:
    described = {"id": 1, "uid": SOURCE, "name": "Prometheus", "type": "prometheus", "access": "proxy", "jsonData": {}}
    described_at = f"/api/datasources/uid/{SOURCE}"
    forwarded = f"{described_at}/resources/"

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == described_at:
                self._answer(200, json.dumps(described).encode())
            elif self.path.startswith(forwarded):
                self._forward(self.path.removeprefix(forwarded))
            else:
                self._answer(404, b'{"message":"not part of this stand-in"}')

        do_POST = do_GET  # noqa: N815 - the base class names it

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
            """Say nothing: the test's own output is what a reader looks for."""

        def _forward(self, path: str) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0"))) or None
            kind = {"Content-Type": self.headers["Content-Type"]} if body else {}
            request = urllib.request.Request(f"{prometheus_url}/{path}", body, kind, method=self.command)  # noqa: S310
            with urllib.request.urlopen(request) as answer:  # noqa: S310 - loopback
                self._answer(answer.status, answer.read())

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler
