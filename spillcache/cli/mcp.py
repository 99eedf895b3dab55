"""`spillcache mcp`: the tool over standard input and output, for one agent."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
from types import FrameType
from typing import NoReturn

import click

from spillcache.cli import exits
from spillcache.cli.extras import needs_extra
from spillcache.cli.opened import settings_of
from spillcache.cli.session import Session
from spillcache.cli.verb import Verb


@click.command(cls=Verb)
@click.pass_obj
def mcp(session: Session) -> None:
    """Serve the tool that reads spills as an MCP server on standard input and output, until the input ends.

    Standard output is the protocol's; logs go to standard error. The tenant is that of the settings.
    """
    with needs_extra("mcp"):
        from spillcache.service.stdio import run_stdio  # noqa: PLC0415 - only this command needs the extra
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    asyncio.run(run_stdio(settings_of(session), secrets.token_hex(8)))


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    # At once: a thread waits for standard input and cannot be told to stop, and reading has nothing to undo.
    sys.stderr.flush()
    os._exit(exits.TERMINATED if number == signal.SIGTERM else exits.INTERRUPTED)
