"""The HTTP protocol on a connection: uvicorn's on httptools, with a bound on what comes before anybody is asked who.

httptools keeps a header until its end has come, however long that takes. What is refused here has not reached the edge.
"""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from spillcache.errors import ArgumentsInvalid
from spillcache.http.problems import problem_response

_log = logging.getLogger("spillcache")

#: A request's line and headers; what is longer is refused with status 431. nginx takes 32 KiB, h11 64 KiB.
MAX_HEAD_BYTES: Final = 64 << 10


class BoundedProtocol(HttpToolsProtocol):
    """Answers what is no HTTP, or has too much of it before its body, with a problem, and closes."""

    _has_told = False  # whether the parser told anything of what it was just fed
    _untold_bytes = 0
    _is_too_large = False

    def data_received(self, data: bytes) -> None:
        """Parse what came. Bytes of which nothing is told are being kept: a header, a trailer, the size of a chunk."""
        self._has_told = False
        super().data_received(data)
        self._untold_bytes = 0 if self._has_told else self._untold_bytes + len(data)
        if self._untold_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._is_too_large = True
            self.send_400_response("")

    def on_message_begin(self) -> None:
        """See uvicorn."""
        self._has_told = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begin to answer, unless the head is too large: then what is raised here is how the parser learns it."""
        self._has_told = True
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > MAX_HEAD_BYTES:
            self._is_too_large = True
            raise ValueError("the head is too large")
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """See uvicorn."""
        self._has_told = True
        super().on_body(body)

    def send_400_response(self, msg: str) -> None:
        """Refuse what was sent, unless an answer has begun, and close."""
        status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE if self._is_too_large else HTTPStatus.BAD_REQUEST
        _log.warning("not_http", extra={"status": status.value})
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete or not cycle.response_started:
            self.transport.write(_refusal(status))
        self.transport.close()


def _refusal(status: HTTPStatus) -> bytes:
    large = f"the request's line and headers take more than {MAX_HEAD_BYTES} bytes"
    said = large if status is HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE else "what was sent is not a request of HTTP"
    problem = problem_response(ArgumentsInvalid(said), status=status.value, headers={"Connection": "close"})
    lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode()]
    lines += [name + b": " + value for name, value in problem.raw_headers]
    return b"\r\n".join([*lines, b"", bytes(problem.body)])
