"""Run the command line as a user would: a process, with an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spillcache.sync import SpillCache

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Ran:
    """A finished command."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.out.decode()

    @property
    def answer(self) -> Any:
        """The one line of JSON on standard output."""
        (line,) = self.out.splitlines()
        return json.loads(line)

    @property
    def answers(self) -> list[Any]:
        """One JSON value for each line of standard output."""
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass(frozen=True, slots=True)
class Program:
    """The program under an environment. Calling it runs a command to its end."""

    environment: Mapping[str, str] = field(repr=False)
    directory: Path

    def __call__(self, *arguments: str | Path, stdin: bytes = b"", **environment: str) -> Ran:
        """Run a command; `environment` goes over the program's."""
        done = subprocess.run(
            self.command(*arguments),
            input=stdin,
            capture_output=True,
            env={**self.environment, **environment},
            cwd=self.directory,
            timeout=60,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr.decode())

    def into(self, device: str, *arguments: str | Path, stdin: bytes = b"") -> Ran:
        """Run a command with a device as its standard output."""
        with open(device, "wb") as output:  # noqa: PTH123 - a device
            done = subprocess.run(
                self.command(*arguments), input=stdin, stdout=output, stderr=subprocess.PIPE,
                env=dict(self.environment), cwd=self.directory, timeout=60, check=False,
            )  # fmt: skip
        return Ran(done.returncode, b"", done.stderr.decode())

    def python(self, code: str, **environment: str) -> Ran:
        """Run Python code under the program's environment."""
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            env={**self.environment, **environment},
            cwd=self.directory,
            timeout=60,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr.decode())

    def start(
        self,
        *arguments: str | Path,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.PIPE,
        **environment: str,
    ) -> subprocess.Popen[bytes]:
        """Start a command and return at once."""
        return subprocess.Popen(
            self.command(*arguments),
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            env={**self.environment, **environment},
            cwd=self.directory,
        )

    def put(self, payload: bytes, *options: str, **environment: str) -> str:
        """Store a payload with the command; its spill id."""
        spill_id: str = self("put", "-", "--json", *options, stdin=payload, **environment).answer["spill_id"]
        return spill_id

    def store(self, payload: bytes, tool: str = "") -> str:
        """Store a payload with the library, which takes no process; its spill id."""
        with SpillCache.from_url(self.environment["SPILLCACHE_REDIS_URL"], keyring=None) as cache:
            return cache.put(payload, tool=tool).spill_id

    @staticmethod
    def command(*arguments: str | Path) -> list[str]:
        """The command line."""
        return [sys.executable, "-m", "spillcache.cli", *map(str, arguments)]


def clean_environment(state_home: Path, **settings: str) -> dict[str, str]:
    """What a process needs, without any setting of the machine that runs the tests."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "LANG") if name in os.environ}
    return {**kept, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(state_home), **settings}
