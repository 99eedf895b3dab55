"""An upstream in a process of its own: JSON-RPC, a message a line, over its stdin and stdout.

`/bin/sh` forks a watcher and then becomes the command, so that not even SIGKILL of ours leaves the child behind: the
watcher reads from a pipe whose other end only we hold, and when we are gone without a word it kills the child's group.
What the child writes to stderr goes to ours.

The process is started past the event loop, because uvloop hands down descriptors that are none of the child's business,
ends of its own pipes among them: they would stay open in whatever it leaves behind, and its end would not be seen.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from spillcache.errors import ArgumentsInvalid
from spillcache.mcp.lines import LineBuffer
from spillcache.mcp.pipes import opened
from spillcache.mcp.proxy.config import Upstream
from spillcache.mcp.proxy.inflight import InFlight
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
_LAST_WORDS_S = 1.0  # to read what a process wrote before it ended, where others still hold its stdout open


@asynccontextmanager
async def child_streams(upstream: Upstream, environment: Mapping[str, str]) -> AsyncIterator[Streams]:
    """Start the command and connect to it; leaving ends it, and whatever it started.

    `environment` is that of this process, of which the child gets no more than its upstream's table says. The reading
    end closes when the child's stdout does, or the child ends. Raises OSError for what cannot be started.
    """
    child = await _started(upstream, environment)
    try:
        async with _connected(child, upstream.max_message_bytes) as streams:
            yield streams
    finally:
        with anyio.CancelScope(shield=True):
            await child.end()
        child.let_go()


class _Child:
    """A running command, and the pipe by which its watcher knows that we are there."""

    def __init__(self, process: subprocess.Popen[bytes], lifeline: int) -> None:
        self.process, self.gone = process, asyncio.Event()
        self._lifeline, self._loop = lifeline, asyncio.get_running_loop()
        threading.Thread(target=self._wait, name="spillcache-upstream", daemon=True).start()

    def _wait(self) -> None:
        self.process.wait()
        with suppress(RuntimeError):  # the loop was closed meanwhile
            self._loop.call_soon_threadsafe(self.gone.set)

    async def end(self) -> None:
        """Its stdin is closed; then SIGTERM, then SIGKILL, to it and what it started."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with anyio.move_on_after(_LEAVE_S):
                await self.gone.wait()
                break
            self._signal(number)
        self._signal(signal.SIGKILL)  # children of its own that it left behind
        await self.gone.wait()

    def let_go(self) -> None:
        """The watcher, where it lives, ends without doing anything."""
        with suppress(OSError):  # it is gone when its group was killed
            os.write(self._lifeline, b"ended\n")
        os.close(self._lifeline)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


def check_commands(upstreams: Mapping[str, Upstream], environment: Mapping[str, str]) -> None:
    """Raise `ArgumentsInvalid` for an upstream whose command does not exist: most likely it is misspelt."""
    for namespace, upstream in upstreams.items():
        missing = None if upstream.command is None else _missing(upstream, environment)
        if missing is not None:
            raise ArgumentsInvalid(
                f"upstream {namespace!r}: {missing}" if namespace else missing,
                next_step="Correct the command, or install it, and start again.",
            )


def _missing(upstream: Upstream, environment: Mapping[str, str]) -> str | None:
    """What is said of a command that cannot be found where the shell will look for it."""
    command = upstream.command or ""
    here = Path(upstream.cwd or "").absolute()
    if not here.is_dir():
        return f"there is no directory {upstream.cwd!r} to start the command in"
    if os.sep in command:
        if shutil.which(here / command):
            return None
        return f"{command!r} is no program" if (here / command).exists() else f"there is no command {command!r}"
    found = shutil.which(command, path=_environment_of(upstream, environment).get("PATH"))
    return None if found else f"there is no command {command!r} on PATH"


async def _started(upstream: Upstream, environment: Mapping[str, str]) -> _Child:
    command = upstream.command or ""
    missing = _missing(upstream, environment)
    if missing is not None:  # the shell's own message would be lost among the child's
        raise FileNotFoundError(2, missing)
    lifeline_end, lifeline = os.pipe()
    arguments = ("/bin/sh", "-c", _WATCHED, "spillcache-upstream", str(lifeline_end), command, *upstream.args)
    try:
        process = subprocess.Popen(  # noqa: ASYNC220, S603 - no longer than the loop's own; the operator's command
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None,
            bufsize=0,
            pipesize=_READ_BYTES,
            env=_environment_of(upstream, environment),
            cwd=upstream.cwd,
            start_new_session=True,  # Ctrl-C is for us; we then end the child in order
            pass_fds=(lifeline_end,),
        )
    except BaseException:
        os.close(lifeline)
        raise
    finally:
        os.close(lifeline_end)
    return _Child(process, lifeline)


def _environment_of(upstream: Upstream, environment: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: environment[name] for name in upstream.inherit_env if name in environment}
    given = {name: secret.get_secret_value() for name, secret in upstream.env.items()}
    return {**get_default_environment(), **inherited, **given}


@asynccontextmanager
async def _connected(child: _Child, cap: int) -> AsyncIterator[Streams]:
    assert child.process.stdout is not None  # noqa: S101 - asked for
    assert child.process.stdin is not None  # noqa: S101
    async with (
        opened(child.process.stdout, child.process.stdin) as (reader, writer),
        anyio.create_task_group() as tasks,
    ):
        read_send, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, write_receive = anyio.create_memory_object_stream[SessionMessage](0)
        flight, reading = InFlight(), anyio.CancelScope()
        tasks.start_soon(_read, reader, read_send, cap, flight, reading)
        tasks.start_soon(_write, writer, write_receive, read_send, flight)
        tasks.start_soon(_watch, child.gone, reading)
        try:
            yield read, write
        finally:
            read.close()
            write.close()
            writer.close()
            with anyio.CancelScope(shield=True):
                await child.end()
            read_send.close()  # tasks that never began to run have not
            write_receive.close()
            tasks.cancel_scope.cancel()


async def _watch(gone: asyncio.Event, reading: anyio.CancelScope) -> None:
    await gone.wait()
    reading.deadline = anyio.current_time() + _LAST_WORDS_S


async def _read(
    stdout: asyncio.StreamReader,
    messages: MemoryObjectSendStream[SessionMessage | Exception],
    cap: int,
    flight: InFlight,
    scope: anyio.CancelScope,
) -> None:
    lines = LineBuffer(cap)
    async with messages:
        # Nobody listens any more, or nobody speaks.
        with scope, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
            while data := await stdout.read(_READ_BYTES):
                for line in lines.feed(data):
                    for found in read_line(line, cap):
                        for message in _to_hand_on(found, flight):
                            await messages.send(message)


def _to_hand_on(found: SessionMessage | Unreadable, flight: InFlight) -> list[SessionMessage]:
    if isinstance(found, SessionMessage):
        return flight.received(found)
    _log.warning("upstream_line_unreadable", extra={"why": found.why})
    return [] if found.error is None else flight.failed(found.error)


async def _write(
    stdin: asyncio.StreamWriter,
    messages: MemoryObjectReceiveStream[SessionMessage],
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    flight: InFlight,
) -> None:
    async with messages:
        try:
            async for one in messages:
                flight.sent(one.message)
                text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
                stdin.write(text.encode() + b"\n")
                await stdin.drain()
        except (ConnectionError, RuntimeError):  # it closed its stdin: then it answers no more, alive or not
            await incoming.aclose()
