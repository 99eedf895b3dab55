"""`spillcache full`: as much at once as is allowed."""

from __future__ import annotations

import click

from spillcache.cli.answers import json_option, print_json
from spillcache.cli.exits import Ending
from spillcache.cli.opened import opened, settings_of
from spillcache.cli.paged import show_page
from spillcache.cli.session import Session
from spillcache.cli.verb import Verb


@click.command(cls=Verb)
@click.argument("spill_id", metavar="ID")
@click.option("--cursor", metavar="C", help="Where to begin: a next_cursor, exactly as it came; else at the start.")
@click.option(
    "--cap", type=click.IntRange(min=1), metavar="N", help="Size cap as JSON, in bytes.  [env: SPILLCACHE_FULL_BYTES]"
)
@json_option
@click.pass_obj
def full(session: Session, spill_id: str, cursor: str | None, cap: int | None, as_json: bool) -> Ending:
    """Print one large page of the spill ID, from the start or from a cursor.

    Exit code 0 means COMPLETE: that was everything. Else it is 3, and the next command is on standard error.
    """
    allowed = settings_of(session).full_bytes if cap is None else cap
    with opened(session) as cache:
        answer = cache.full(spill_id, cursor=cursor, cap=allowed)
    if as_json:
        print_json(answer.as_dict())
    else:
        capped = ["--cap", str(cap)] if cap is not None else []
        show_page(answer, lambda following: session.command("full", answer.spill_id, "--cursor", following, *capped))
    return answer.status
