"""`spillcache page`: one page."""

from __future__ import annotations

import sys

import click
from rich.console import Console
from rich.markup import escape

from spillcache.cli.answers import console, json_option, print_json, write_raw
from spillcache.cli.opened import opened
from spillcache.cli.session import Session
from spillcache.cli.verb import Verb
from spillcache.page import Page


@click.command(cls=Verb)
@click.argument("spill_id", metavar="ID")
@click.option("--cursor", metavar="C", help="Where to go on: the next_cursor of the page before, exactly as it came.")
@click.option("--result", metavar="NAME", help="Begin at this named result (or its number) and stay inside it.")
@click.option("--budget", type=click.IntRange(min=1), metavar="N", help="Size cap of the page as JSON, in bytes.")
@json_option
@click.pass_obj
def page(
    session: Session, spill_id: str, cursor: str | None, result: str | None, budget: int | None, as_json: bool
) -> None:
    """Print the first page of the spill ID, or the page that a cursor asks for.

    The page's bytes go to standard output; where they are, the status and the next command go to standard error.
    """
    with opened(session) as cache:
        answer = cache.page(spill_id, cursor=cursor, result=result, budget=budget)
    if as_json:
        print_json(answer.as_dict())
        return
    aside = console(aside=True)
    aside.print(f"[dim]──[/] [bold]{answer.position}[/] [dim]{answer.chunk_kind}[/]", soft_wrap=True)
    _print_chunk(answer)
    _print_trailer(answer, session, budget, aside)


def _print_chunk(answer: Page) -> None:
    as_text = answer.chunk_kind == "base64" and sys.stdout.isatty()
    write_raw(answer.chunk.encode() if as_text else answer.data)


def _print_trailer(answer: Page, session: Session, budget: int | None, aside: Console) -> None:
    color = "green" if answer.status == "COMPLETE" else "yellow"
    of_result = f", result {answer.result_status}" if answer.result_status else ""
    aside.print(f"[dim]──[/] [bold {color}]{answer.status}[/]{of_result}", soft_wrap=True)
    for begin, end in answer.unread:
        aside.print(f"[dim]   unread:[/] bytes {begin}-{end}")
    if answer.next_cursor is not None:
        words = ["page", answer.spill_id, "--cursor", answer.next_cursor]
        words += ["--budget", str(budget)] if budget is not None else []
        aside.print(f"[dim]   next:[/] {escape(session.command(*words))}", soft_wrap=True)
    if answer.receipt is not None:
        aside.print(f"[dim]   receipt:[/] {answer.receipt}", soft_wrap=True)
