"""Standard output and standard error as a command line needs them: what cannot be written is told apart, in one place.

Everything that prints goes through `sys.stdout` in the end, so that is what is put in place here.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from spillcache.cli.failures import OutputClosed, StandardOutputFailed

_OUT, _ERR = 1, 2


class _Answers(io.BufferedWriter):
    """Standard output. Raises `StandardOutputFailed`, and `OutputClosed` when nobody reads it any more."""

    def write(self, data: Any, /) -> int:
        with _told_apart():
            return super().write(data)

    def flush(self) -> None:
        with _told_apart():
            super().flush()


class _Remarks(io.BufferedWriter):
    """Standard error. Who cannot be told is not told: the exit code still says how it went."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError:
            _discard(_ERR)
            return len(data)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError:
            _discard(_ERR)
            super().flush()


def guard() -> None:
    """Put both in the place of Python's own. A descriptor that was closed before we began counts as one that fails."""
    for descriptor, stream in ((_OUT, sys.stdout), (_ERR, sys.stderr)):
        if stream is None:  # and a socket that took its number would be written to
            os.dup2(os.open(os.devnull, os.O_RDONLY), descriptor)
    encoding = sys.stdout.encoding if sys.stdout is not None else "utf-8"
    errors = sys.stdout.errors if sys.stdout is not None else "strict"
    answers, remarks = _Answers(_raw(_OUT)), _Remarks(_raw(_ERR))
    sys.stdout = io.TextIOWrapper(answers, encoding=encoding, errors=errors, line_buffering=answers.isatty())
    sys.stderr = io.TextIOWrapper(remarks, encoding=encoding, errors="backslashreplace", line_buffering=True)


def drop_output() -> None:
    """Nobody reads standard output, or it takes nothing: let what is still buffered go nowhere, without complaint."""
    _discard(_OUT)


@contextmanager
def already_done(next_step: str) -> Iterator[None]:
    """Print inside of this what was done for good: when that fails, the error's next step still says it."""
    try:
        yield
        sys.stdout.flush()
    except StandardOutputFailed as error:
        raise StandardOutputFailed(error.message, next_step=next_step) from None


def _raw(descriptor: int) -> io.FileIO:
    return io.FileIO(descriptor, "w", closefd=False)


def _discard(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


@contextmanager
def _told_apart() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise OutputClosed from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise StandardOutputFailed(f"standard output cannot be written ({reason})") from None
