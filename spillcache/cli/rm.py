"""`spillcache rm`: remove a spill now."""

from __future__ import annotations

import click

from spillcache.cli.answers import console, json_option, print_json
from spillcache.cli.opened import opened
from spillcache.cli.output import already_done
from spillcache.cli.session import Session
from spillcache.cli.verb import Verb
from spillcache.ids import parse_id


@click.command(cls=Verb)
@click.argument("spill_id", metavar="ID")
@json_option
@click.pass_obj
def rm(session: Session, spill_id: str, as_json: bool) -> None:
    """Remove the spill ID now, before its lease ends. It takes no key ring."""
    with opened(session, reads=False) as cache:
        cache.delete(spill_id)
    removed = parse_id(spill_id)
    with already_done(f"{removed} was removed."):
        if as_json:
            print_json({"spill_id": removed, "deleted": True})
        else:
            console().print(f"removed {removed}")
