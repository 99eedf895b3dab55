"""The fleet: reader processes that are asked in turn, one of which does not live to the end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, cast

import orjson


class ReaderGoneError(Exception):
    """The process ended before it answered."""


class ReaderProcess:
    """One reader and what it has served. `pages` counts its answers, `name` tells it from the others."""

    def __init__(self, name: str, url: str, keyring_file: Path) -> None:
        self.name = name
        self.pages = 0
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter, and a module of this package
            [sys.executable, "-m", "spillcache.demo.reader", url, str(keyring_file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for us; we then end the readers
        )
        self._requests = cast("IO[bytes]", self._process.stdin)
        self._answers = cast("IO[bytes]", self._process.stdout)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs, -9 when SIGKILL ended it."""
        return self._process.poll()

    def ask(self, request: Mapping[str, Any]) -> bytes:
        """The answer, one line of JSON. Raises `ReaderGoneError`."""
        try:
            self._requests.write(orjson.dumps(request, option=orjson.OPT_APPEND_NEWLINE))
            self._requests.flush()
        except BrokenPipeError:
            raise ReaderGoneError(self.name) from None
        line = self._answers.readline()
        if not line.endswith(b"\n"):
            raise ReaderGoneError(self.name)
        self.pages += 1
        return line[:-1]

    def kill(self) -> None:
        """SIGKILL: no handler runs, nothing is handed over."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End it, if it still runs, and close its pipes."""
        self.kill()
        self._answers.close()
        try:
            self._requests.close()
        except BrokenPipeError:  # what could not be sent to a killed reader is still in our buffer
            return


class Fleet:
    """Readers that take turns. A context manager; leaving it ends them all."""

    def __init__(self, names: tuple[str, ...], url: str, keyring_file: Path) -> None:
        self.readers = [ReaderProcess(name, url, keyring_file) for name in names]
        self._turn = 0
        self.handed_on = 0

    def next_reader(self) -> ReaderProcess:
        """Whose turn it is."""
        return self.readers[self._turn % len(self.readers)]

    def ask(self, request: Mapping[str, Any]) -> bytes:
        """The answer of whoever is next; of the one after, when that one is gone. Raises `ReaderGoneError`."""
        for _ in self.readers:
            reader = self.next_reader()
            self._turn += 1
            try:
                return reader.ask(request)
            except ReaderGoneError:
                self.handed_on += 1
        raise ReaderGoneError("all of them")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for reader in self.readers:
            reader.close()
