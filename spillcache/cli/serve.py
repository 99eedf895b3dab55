"""`spillcache serve`: MCP and REST over HTTP."""

from __future__ import annotations

from typing import Any

import click

from spillcache.cli.extras import needs_extra
from spillcache.cli.listening import listening_options
from spillcache.cli.opened import settings_of
from spillcache.cli.session import Session
from spillcache.cli.verb import Verb


@click.command(cls=Verb)
@listening_options
@click.pass_obj
def serve(session: Session, /, **listening: Any) -> None:
    """Serve MCP at /mcp and REST at /v1, with /healthz and /readyz, and metrics on a second port.

    Run any number side by side with the same Redis and key ring: none keeps anything that another lacks. Beyond
    loopback it asks for credentials: see `spillcache tokens`. The log event `listening` says where it is. SIGTERM or
    Ctrl-C drains and ends it with exit code 0; a second one ends it at once.
    """
    with needs_extra("serve"):
        from spillcache.service.run import run_service  # noqa: PLC0415 - only this command needs the extra
    run_service(settings_of(session, **listening))
