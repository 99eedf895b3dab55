"""`spillcache series`: time series in numbers."""

from __future__ import annotations

import click
from rich.markup import escape
from rich.table import Table

from spillcache.cli.answers import console, json_option, print_json, say, visible
from spillcache.cli.contents import why_partial
from spillcache.cli.exits import Ending
from spillcache.cli.opened import opened
from spillcache.cli.session import Session
from spillcache.cli.verb import Verb
from spillcache.series_listing import SeriesEntry, SeriesListing


@click.command(cls=Verb)
@click.argument("spill_id", metavar="ID")
@click.option("--result", metavar="NAME", help="The series of this named result (or its number) alone.")
@click.option("--cursor", metavar="C", help="Where to go on: the next_cursor of the list before, exactly as it came.")
@click.option("--budget", type=click.IntRange(min=1), metavar="N", help="Size cap of the list as JSON; else all of it.")
@json_option
@click.pass_obj
def series(
    session: Session, spill_id: str, result: str | None, cursor: str | None, budget: int | None, as_json: bool
) -> Ending:
    """List the time series in the spill ID: labels, count, times, min, max, last, and how many are NaN.

    Derived when the payload was stored, and spelled as it is there: a table of contents, not the data. So it is always
    PARTIAL, exit code 3.
    """
    with opened(session) as cache:
        listing = cache.series(spill_id, result=result, cursor=cursor, budget=budget)
    if as_json:
        print_json(listing.as_dict())
    else:
        if listing.entries:
            console().print(_table(listing.entries))
        _say_what_it_is(listing, session, budget)
    return "PARTIAL"


def _say_what_it_is(listing: SeriesListing, session: Session, budget: int | None) -> None:
    answer, aside = listing.as_dict(), console(aside=True)
    known = f"{listing.series:,}" if "series" in answer else "unknown"
    known = f"at least {known}" if listing.series and listing.partial else known
    say(aside, f"[bold yellow]PARTIAL[/] {known} series, {len(listing.entries):,} listed. [dim]{answer['note']}[/]")
    if listing.partial:
        say(aside, f"[dim]There may be more: {why_partial(listing.partial)}.[/]")
    if listing.next_cursor is not None:
        words = ["series", listing.spill_id, "--cursor", listing.next_cursor, "--budget", str(budget)]
        aside.print(f"[dim]   next:[/] {escape(session.command(*words))}", soft_wrap=True)
    elif listing.entries:
        number = str(listing.entries[0].result or 1)
        command = session.command("page", listing.spill_id, "--result", number, "--view", "compact")
        aside.print(f"[dim]   to read the values:[/] {escape(command)}", soft_wrap=True)


def _table(entries: tuple[SeriesEntry, ...]) -> Table:
    table = Table(header_style="bold", border_style="dim")
    table.add_column("result", justify="right")
    table.add_column("labels", overflow="fold", style="cyan")
    for name in ("count", "start", "end", "min", "max", "last", "NaN"):
        table.add_column(name, justify="right", overflow="fold")
    for entry in entries:
        spelled = (entry.first_time, entry.last_time, entry.least, entry.greatest, entry.last)
        table.add_row(
            str(entry.result or ""),
            escape(visible(entry.labels)) if not entry.labels_omitted else "(too long to be listed)",
            f"{entry.points:,}",
            *(escape(visible(one or "")) for one in spelled),
            str(entry.nan or ""),
        )
    return table
