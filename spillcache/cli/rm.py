"""`spillcache rm`: remove a spill now."""

from __future__ import annotations

import click

from spillcache.cli.answers import Verb, console, json_option, print_json
from spillcache.cli.opened import opened
from spillcache.cli.session import Session
from spillcache.ids import parse_id


@click.command(cls=Verb)
@click.argument("spill_id", metavar="ID")
@json_option
@click.pass_obj
def rm(session: Session, spill_id: str, as_json: bool) -> None:
    """Remove the spill ID now, before its lease ends."""
    with opened(session) as cache:
        cache.delete(spill_id)
    removed = parse_id(spill_id)
    if as_json:
        print_json({"spill_id": removed, "deleted": True})
    else:
        console().print(f"removed {removed}")
