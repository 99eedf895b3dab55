"""Standard input and output as pipes of the event loop, where that is what they are.

The SDK reads and writes them in threads, three hops for each message, and a thread that waits for input cannot be told
to stop. Hosts give their servers pipes or sockets, which need no thread; files and terminals are left to the SDK.
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from typing import IO, Final

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.stdio import stdio_server
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage

from spillcache import defaults
from spillcache.mcp.lines import LineBuffer, Overlong
from spillcache.mcp.messages import BadLine, read_message

if sys.platform != "win32":
    import fcntl

Streams = tuple[ReadStream[SessionMessage | Exception], WriteStream[SessionMessage]]

_READ_BYTES: Final = 1 << 18
_FLUSH_S: Final = 3.0  # for a client that reads on while it ends


@asynccontextmanager
async def standard_streams() -> AsyncIterator[Streams]:
    """Messages from standard input and to standard output; what is no message comes as the exception it caused.

    Meanwhile nothing else reads the one, and what else is printed goes to standard error.
    """
    if sys.platform == "win32" or not all(_is_pipe(fd) for fd in (0, 1)):
        async with stdio_server() as streams:
            yield streams
        return
    with _claimed(0, os.open(os.devnull, os.O_RDONLY)) as source, _claimed(1, os.dup(2)) as sink:
        ends = os.fdopen(source, "rb", buffering=0), os.fdopen(sink, "wb", buffering=0)
        async with opened(*ends) as (reader, writer), _messages(reader, writer) as streams:
            yield streams


def _is_pipe(fd: int) -> bool:
    try:
        mode = os.fstat(fd).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


@contextmanager
def _claimed(fd: int, diversion: int) -> Iterator[int]:
    """A private descriptor of what `fd` was, while `fd` is the diversion. Takes the diversion's ownership."""
    private = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    os.dup2(diversion, fd)
    os.close(diversion)
    try:
        yield os.dup(private)  # the loop closes its own
    finally:
        os.set_blocking(private, True)
        os.dup2(private, fd)
        os.close(private)


@asynccontextmanager
async def opened(
    source: IO[bytes], sink: IO[bytes]
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """The ends of two pipes, unbuffered, as streams of the running loop, which owns them and closes them at the end."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_READ_BYTES)
    with ExitStack() as begun:  # until the loop owns them
        begun.callback(sink.close)
        begun.callback(source.close)
        reading, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), source)
        begun.callback(reading.close)
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), sink
        )
        begun.pop_all()
    transport.set_write_buffer_limits(high=0)  # what was drained is written: nothing is lost at the end
    try:
        yield reader, asyncio.StreamWriter(transport, protocol, None, loop)
    finally:
        transport.close()
        reading.close()


@asynccontextmanager
async def _messages(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> AsyncIterator[Streams]:
    incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as reading:
        reading.start_soon(_read, reader, incoming)
        async with anyio.create_task_group() as writing:
            writing.start_soon(_write, writer, outgoing)
            try:
                yield received, sent
            finally:
                received.close()
                sent.close()  # what was accepted is still written
                writing.cancel_scope.deadline = anyio.current_time() + _FLUSH_S
        reading.cancel_scope.cancel()


async def _read(reader: asyncio.StreamReader, messages: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    lines = LineBuffer(defaults.MAX_PAYLOAD_BYTES)
    async with messages:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # nobody listens any more
            while data := await reader.read(_READ_BYTES):
                for line in lines.feed(data):
                    await messages.send(_message(line))


def _message(line: bytes | Overlong) -> SessionMessage | Exception:
    try:
        return SessionMessage(read_message(line))
    except BadLine as bad:
        return bad


async def _write(writer: asyncio.StreamWriter, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
    async with messages:
        async for item in messages:
            writer.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            try:
                await writer.drain()
            except ConnectionError:
                raise BrokenPipeError("nobody reads standard output any more") from None
