"""`spillcache serve`: MCP and REST over HTTP."""

from __future__ import annotations

import click

from spillcache.cli.extras import needs_extra
from spillcache.cli.opened import settings_of
from spillcache.cli.session import Session
from spillcache.cli.verb import Verb


@click.command(cls=Verb)
@click.option("--host", metavar="ADDRESS", help="Where to listen.  [env: SPILLCACHE_HOST; default: 127.0.0.1]")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="0 takes a free one.  [env: SPILLCACHE_PORT; default: 8321]"
)
@click.option(
    "--metrics-port",
    type=click.IntRange(-1, 65535),
    help="Prometheus metrics; -1 for none.  [env: SPILLCACHE_METRICS_PORT; default: 9321]",
)
@click.option(
    "--drain",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="How long to go on accepting after SIGTERM.  [env: SPILLCACHE_DRAIN_S; default: 5]",
)
@click.pass_obj
def serve(session: Session, host: str | None, port: int | None, metrics_port: int | None, drain: float | None) -> None:
    """Serve MCP at /mcp and REST at /v1, with /healthz and /readyz, and metrics on a second port.

    Run any number side by side with the same Redis and key ring: none keeps anything that another lacks. Beyond
    loopback it asks for credentials: see `spillcache tokens`. The log event `listening` says where it is. SIGTERM or
    Ctrl-C drains and ends it with exit code 0; a second one ends it at once.
    """
    with needs_extra("serve"):
        from spillcache.service.run import run_service  # noqa: PLC0415 - only this command needs the extra
    settings = settings_of(session, host=host, port=port, metrics_port=metrics_port, drain_s=drain)
    run_service(settings)
