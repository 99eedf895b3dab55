"""What comes over a connection before anybody is asked who: it is bounded, and refused with a problem."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
import uvicorn
from starlette.responses import Response
from uvicorn.server import ServerState

from spillcache.service.protocol import MAX_HEAD_BYTES, BoundedProtocol

START = b"POST /x HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = START + b"Transfer-Encoding: chunked\r\n\r\n"


class Wire(asyncio.Transport):
    """A connection's server side, which remembers what was sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.closed = False

    def write(self, data: Any) -> None:
        """Remember it."""
        self.sent += data

    def close(self) -> None:
        """Remember that."""
        self.closed = True

    def is_closing(self) -> bool:
        """Whether it was closed."""
        return self.closed

    def pause_reading(self) -> None:
        """What is fed comes all the same."""

    def resume_reading(self) -> None:
        """See above."""

    @property
    def answer(self) -> tuple[int, Any]:
        """Status and document of the one answer."""
        head, _, body = self.sent.partition(b"\r\n\r\n")
        assert f"content-length: {len(body)}".encode() in head
        assert b"connection: close" in head
        return int(head.split()[1]), json.loads(body)


@pytest.fixture
async def wire() -> Wire:
    """A connection."""
    return Wire()


@pytest.fixture
async def protocol(wire: Wire) -> BoundedProtocol:
    """The protocol on it; its app answers at once, without a look at the body."""
    config = uvicorn.Config(Response("done"), log_config=None, lifespan="off")
    made = BoundedProtocol(config, ServerState(), {})
    made.connection_made(wire)
    return made


@pytest.mark.parametrize(
    "begun",
    [b"GET /", START + b"X-A: ", START + b"X-", CHUNKED + b"1\r\na\r\n0\r\nX-Trailer: "],
    ids=["the line", "a header", "a header's name", "a trailer"],
)
async def test_what_never_ends_is_cut_off(protocol: BoundedProtocol, wire: Wire, begun: bytes) -> None:
    """With 431, once more of it has come than a request may have; nothing of it is kept after that."""
    protocol.data_received(begun)
    for _ in range(MAX_HEAD_BYTES // 4_096):
        protocol.data_received(b"a" * 4_096)
    assert not wire.closed
    protocol.data_received(b"a")
    status, problem = wire.answer
    assert (status, problem["code"], wire.closed) == (431, "arguments_invalid", True)
    assert str(MAX_HEAD_BYTES) in problem["detail"]


@pytest.mark.parametrize("pieces", [1, 7], ids=["at once", "in pieces"])
async def test_many_headers_are_one_head(protocol: BoundedProtocol, wire: Wire, pieces: int) -> None:
    """However small each is; the app does not hear of the request."""
    lines = b"".join(b"X-%d: %s\r\n" % (number, b"a" * 200) for number in range(400))
    head = START + lines + b"\r\n"
    step = -(-len(head) // pieces)
    for start in range(0, len(head), step):
        protocol.data_received(head[start : start + step])
    assert wire.answer[0] == 431
    assert wire.closed


async def test_a_head_and_a_body_that_are_in_bounds_pass(protocol: BoundedProtocol, wire: Wire) -> None:
    """A body of any size, in any pieces, and the next request's head right behind it."""
    big = START + b"X-A: " + b"a" * 60_000 + b"\r\nContent-Length: 500000\r\n\r\n"
    for data in (big, *([b"b" * 100_000] * 4), b"b" * 100_000 + START[:9], START[9:] + b"Content-Length: 0\r\n\r\n"):
        protocol.data_received(data)
        await asyncio.sleep(0)
    await asyncio.gather(*protocol.tasks)
    assert not wire.closed
    assert wire.sent.count(b"HTTP/1.1 200 OK") == 2


async def test_what_is_no_http_is_a_problem(protocol: BoundedProtocol, wire: Wire) -> None:
    """With a document like every other."""
    protocol.data_received(b"\x16\x03\x01 not http\r\n\r\n")
    status, problem = wire.answer
    assert (status, problem["code"], wire.closed) == (400, "arguments_invalid", True)
