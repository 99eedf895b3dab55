"""An upstream in a process of its own: JSON-RPC, a message a line, over its stdin and stdout.

`/bin/sh` forks a watcher and then becomes the command, so that not even SIGKILL of ours leaves the child behind: the
watcher reads from a pipe whose other end only we hold, and when we are gone without a word it kills the child's group.
What the child writes to stderr goes to ours.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from spillcache.mcp.lines import LineBuffer
from spillcache.mcp.proxy.config import Upstream
from spillcache.mcp.proxy.lines import Unreadable, read_line

_log = logging.getLogger("spillcache")

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]

_WATCHED = """
fd=$1; shift
( read -r word <"/dev/fd/$fd"; if [ -z "$word" ]; then kill -KILL -- -$$; fi ) </dev/null >/dev/null 2>&1 &
exec "$@"
"""

_READ_BYTES = 1 << 18  # 345 KB in two reads
_LEAVE_S = 2.0  # to end by itself once its stdin is closed, and again after SIGTERM: what the protocol asks


@asynccontextmanager
async def child_streams(upstream: Upstream, environment: Mapping[str, str]) -> AsyncIterator[Streams]:
    """Start the command and connect to it; leaving ends it, and whatever it started.

    `environment` is that of this process, of which the child gets no more than its upstream's table says. The reading
    end closes when the child's stdout does. Raises OSError for what cannot be started.
    """
    read_send, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, write_receive = anyio.create_memory_object_stream[SessionMessage](0)
    lifeline_end, lifeline = os.pipe()
    try:
        process = await _start(upstream, environment, lifeline_end)
    except BaseException:
        os.close(lifeline)
        for stream in (read_send, read, write, write_receive):
            stream.close()
        raise
    finally:
        os.close(lifeline_end)
    try:
        async with anyio.create_task_group() as tasks:
            if process.stdout is not None and process.stdin is not None:
                tasks.start_soon(_read, process.stdout, read_send, upstream.max_message_bytes)
                tasks.start_soon(_write, process.stdin, write_receive, read_send)
            try:
                yield read, write
            finally:
                read.close()
                write.close()
                with anyio.CancelScope(shield=True):
                    await _end(process)
                tasks.cancel_scope.cancel()
    finally:
        with suppress(OSError):  # the watcher is gone when its group was killed
            os.write(lifeline, b"ended\n")
        os.close(lifeline)


async def _start(upstream: Upstream, environment: Mapping[str, str], lifeline_end: int) -> Process:
    command = upstream.command or ""
    if (
        os.sep not in command and shutil.which(command) is None
    ):  # the shell's own message would be lost among the child's
        raise FileNotFoundError(2, f"there is no command {command!r} on PATH")
    return await asyncio.create_subprocess_exec(
        "/bin/sh",
        "-c",
        _WATCHED,
        "spillcache-upstream",
        str(lifeline_end),
        command,
        *upstream.args,
        stdin=PIPE,
        stdout=PIPE,
        stderr=None,
        limit=_READ_BYTES * 2,
        env=_environment_of(upstream, environment),
        cwd=upstream.cwd,
        start_new_session=True,  # Ctrl-C is for us; we then end the child in order
        pass_fds=(lifeline_end,),
    )


def _environment_of(upstream: Upstream, environment: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: environment[name] for name in upstream.inherit_env if name in environment}
    given = {name: secret.get_secret_value() for name, secret in upstream.env.items()}
    return {**get_default_environment(), **inherited, **given}


async def _read(
    stdout: asyncio.StreamReader, messages: MemoryObjectSendStream[SessionMessage | Exception], cap: int
) -> None:
    lines = LineBuffer(cap)
    async with messages:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # nobody listens any more
            while data := await stdout.read(_READ_BYTES):
                for line in lines.feed(data):
                    found = read_line(line, cap)
                    if isinstance(found, Unreadable):
                        _log.warning("upstream_line_unreadable", extra={"why": found.why})
                    elif found is not None:
                        await messages.send(found)


async def _write(
    stdin: asyncio.StreamWriter,
    messages: MemoryObjectReceiveStream[SessionMessage],
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    async with messages:
        try:
            async for one in messages:
                text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
                stdin.write(text.encode() + b"\n")
                await stdin.drain()
        except (ConnectionError, RuntimeError):  # it closed its stdin: then it answers no more, alive or not
            await incoming.aclose()


async def _end(process: Process) -> None:
    """Close its stdin; then SIGTERM, then SIGKILL, to it and what it started."""
    if process.stdin is not None:
        process.stdin.close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        with anyio.move_on_after(_LEAVE_S):
            await _gone(process)
            break
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
    with suppress(ProcessLookupError):  # children of its own that it left behind
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


async def _gone(process: Process) -> None:
    # Not wait(): that also waits for the end of stdout, which a child of the child may hold open.
    while process.returncode is None:  # noqa: ASYNC110 - nothing else tells
        await anyio.sleep(_POLL_S)


_POLL_S = 0.01
