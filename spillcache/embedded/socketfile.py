"""Who, if anyone, answers on a unix socket, and where a socket may live.

Spoken here is only as much of the protocol as finding a server again needs: a `PING` before any client
exists.
"""

from __future__ import annotations

import errno
import hashlib
import os
import socket
import stat
import struct
import sys
from enum import Enum
from pathlib import Path

from spillcache.errors import StoreUnavailable

MAX_PATH_BYTES = 100  # sun_path holds 104 bytes on macOS, 108 on Linux, one of them the closing zero

PING_TIMEOUT_S = 1.0
_SOL_LOCAL, _LOCAL_PEERPID = 0, 2  # <sys/un.h> on macOS


class Answer(Enum):
    """What a `PING` met."""

    READY = "ready"
    ABSENT = "absent"  # no socket file, or one that nobody listens on
    SILENT = "silent"  # somebody listens, but does not answer: still starting, stopped by a signal, or hung


def ask(path: Path) -> Answer:
    """Send one `PING` to the socket at `path`. Raises OSError for what is neither absence nor silence."""
    return _exchange(path, b"PING\r\n", expect=b"+PONG")


def shut_down(path: Path) -> Answer:
    """Send `SHUTDOWN NOSAVE`; ABSENT when the server closed the connection, as it does when it obeys."""
    return _exchange(path, b"SHUTDOWN NOSAVE\r\n", expect=b"-")


def peer_pid(path: Path) -> int | None:
    """The process id of whoever listens at `path`, as the kernel knows it; None when nobody does.

    A pid file can name a process that has long been another one; this cannot.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PING_TIMEOUT_S)
        try:
            connection.connect(os.fspath(path))
        except (FileNotFoundError, ConnectionRefusedError):
            return None
        if sys.platform == "darwin":
            return int(connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID))
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", credentials)[0])


def short_enough(directory: Path, name: str, *, fallback_root: Path) -> Path:
    """`directory/name` if a socket can have so long a name, else a stand-in under `fallback_root`.

    The stand-in depends only on `directory` and the user, so that the next process finds it again.
    """
    wanted = directory / name
    if len(os.fsencode(wanted)) <= MAX_PATH_BYTES:
        return wanted
    digest = hashlib.sha256(os.fsencode(directory.absolute())).hexdigest()[:16]
    return private_directory(fallback_root / f"spillcache-{os.getuid()}-{digest}") / name


def private_directory(path: Path) -> Path:
    """Make `path` a directory that only this user may enter, and return it.

    Raises StoreUnavailable when something else is there: in a directory that others may write to, somebody
    could have put a directory of theirs in its place.
    """
    try:
        path.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise StoreUnavailable("The embedded server's directory belongs to somebody else or is a link.")
        path.chmod(stat.S_IRWXU)
    except OSError as error:
        raise StoreUnavailable(f"The embedded server's directory cannot be used: {error.strerror}.") from error
    return path


def _exchange(path: Path, request: bytes, *, expect: bytes) -> Answer:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PING_TIMEOUT_S)
        try:
            connection.connect(os.fspath(path))
            connection.sendall(request)
            reply = connection.recv(64)
        except (FileNotFoundError, ConnectionRefusedError, ConnectionResetError, BrokenPipeError):
            return Answer.ABSENT
        except TimeoutError:
            return Answer.SILENT
        except OSError as error:
            if error.errno == errno.EAGAIN:  # the listener's queue is full: it has stopped accepting
                return Answer.SILENT
            raise
    if not reply:
        return Answer.ABSENT
    return Answer.READY if reply.startswith(expect) else Answer.SILENT
