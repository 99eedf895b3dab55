"""Running foreign JavaScript: the client libraries through drive.mjs, and packages that are programs."""

from __future__ import annotations

import asyncio
import json
import os
from asyncio.subprocess import PIPE
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from scripts.foreign import node, node_modules, npm_program

_DRIVE = Path(__file__).with_name("drive.mjs")
_PATIENCE_S = 120.0

Server = Mapping[str, Any]
"""How a client reaches a server: {"url", "headers"} over HTTP, {"command", "args", "env"} over stdio."""

Step = tuple[str, Any]
"""What to do and with what: a method of the client library, or a step that drive.mjs adds."""

CLIENTS: Final = (("sdk", "legacy"), ("client", "legacy"), ("client", "auto"), ("client", "modern"))
"""Library and era: `@modelcontextprotocol/sdk` (1.x) speaks the older one only, `@modelcontextprotocol/client` both."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a client was told: an answer for each step, and what the server said unasked."""

    era: str
    server: Mapping[str, Any]
    capabilities: Mapping[str, Any]
    answers: Sequence[Any]
    said: Sequence[Mapping[str, Any]]

    def of(self, method: str) -> list[Mapping[str, Any]]:
        """The parameters of everything said by this method."""
        return [one.get("params", {}) for one in self.said if one["method"] == method]


@dataclass(frozen=True, slots=True)
class Ended:
    """A program that ended."""

    code: int
    output: str
    errors: str


async def drive(server: Server, steps: Sequence[Step], *, client: tuple[str, str] = CLIENTS[1], **more: Any) -> Told:
    """Do `steps` one after the other with a client library. Raises AssertionError with its words when it dies.

    `more`: `name` of the client, `capable` False for one that can be asked nothing.
    """
    library, era = client
    task = {"library": library, "era": era, "server": server, **more}
    task["steps"] = [{"do": what, "with": arguments} for what, arguments in steps]
    ended = await run_node(_DRIVE, stdin=json.dumps(task))
    assert ended.code == 0, ended.errors
    told = json.loads(ended.output)
    return Told(told["era"], told["server"], told["capabilities"], told["answers"], told["said"])


async def run_npm(package: str, *arguments: str, directory: Path | None = None) -> Ended:
    """Run the program of an npm package to its end; `directory` is its home."""
    return await run_node(npm_program(package), *arguments, directory=directory)


async def run_node(script: Path, *arguments: str, stdin: str = "", directory: Path | None = None) -> Ended:
    """Run a script to its end. Raises TimeoutError, and leaves no process behind, when it takes two minutes."""
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(directory or Path.home()),
        "FOREIGN_NODE_MODULES": str(node_modules()),
    }
    process = await asyncio.create_subprocess_exec(
        *(str(node()), str(script), *arguments),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=environment,
        cwd=directory,
    )
    try:
        async with asyncio.timeout(_PATIENCE_S):
            output, errors = await process.communicate(stdin.encode())
    except BaseException:
        process.kill()
        await process.wait()
        raise
    return Ended(process.returncode or 0, output.decode(), errors.decode())
