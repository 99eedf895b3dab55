"""`spillcache page`: one page."""

from __future__ import annotations

import click

from spillcache.cli.answers import json_option, print_json, view_option
from spillcache.cli.exits import Ending
from spillcache.cli.opened import opened
from spillcache.cli.paged import show_page
from spillcache.cli.session import Session
from spillcache.cli.verb import Verb
from spillcache.page import View


@click.command(cls=Verb)
@click.argument("spill_id", metavar="ID")
@click.option("--cursor", metavar="C", help="Where to go on: the next_cursor of the page before, exactly as it came.")
@click.option("--result", metavar="NAME", help="Begin at this named result (or its number) and stay inside it.")
@view_option
@click.option("--budget", type=click.IntRange(min=1), metavar="N", help="Size cap of the page as JSON, in bytes.")
@json_option
@click.pass_obj
def page(
    session: Session,
    spill_id: str,
    cursor: str | None,
    result: str | None,
    view: View,
    budget: int | None,
    as_json: bool,
) -> Ending:
    """Print the first page of the spill ID, or the page that a cursor asks for.

    The page's bytes go to standard output; where they are, the status and the next command go to standard error.
    Exit code 0 means COMPLETE, every byte up to here in one walk, and 3 PARTIAL.
    """
    with opened(session) as cache:
        answer = cache.page(spill_id, cursor=cursor, result=result, view=view, budget=budget)
    if as_json:
        print_json(answer.as_dict())
    else:
        sized = ["--budget", str(budget)] if budget is not None else []
        show_page(answer, lambda following: session.command("page", answer.spill_id, "--cursor", following, *sized))
    return answer.status
