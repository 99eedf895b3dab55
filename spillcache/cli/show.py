"""`spillcache show`: what a spill contains, and how long it stays."""

from __future__ import annotations

from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from spillcache.cli.answers import (
    console,
    human_bytes,
    human_seconds,
    json_option,
    print_facts,
    print_json,
    say,
    visible,
)
from spillcache.cli.contents import how_many, why_partial
from spillcache.cli.exits import Ending
from spillcache.cli.opened import opened
from spillcache.cli.session import Session
from spillcache.cli.verb import Verb
from spillcache.listing import Entry, Listing
from spillcache.sync import Stat

_ROWS = 50  # what a terminal still shows at a glance


@click.command(cls=Verb)
@click.argument("spill_id", metavar="ID")
@click.option("--all", "every", is_flag=True, help=f"Every result; else the first {_ROWS}.")
@json_option
@click.pass_obj
def show(session: Session, spill_id: str, every: bool, as_json: bool) -> Ending:
    """Show the inventory of the spill ID as a table: name, path, bytes, pages, counts. Looking renews the lease.

    A table of contents, not the data. So it is always PARTIAL, exit code 3.
    """
    with opened(session) as cache:
        listing = cache.inventory(spill_id)
        stat = cache.stat(spill_id)
    if as_json:
        print_json(_as_dict(stat, listing))
    else:
        _print(stat, listing, session, every=every)
    return "PARTIAL"


def _print(stat: Stat, listing: Listing, session: Session, *, every: bool) -> None:
    out = console()
    print_facts(_facts(stat, listing))
    if listing.entries:
        shown = listing.entries if every else listing.entries[:_ROWS]
        out.print(_table(shown))
        if len(shown) < len(listing.entries):
            out.print(f"[yellow]{len(listing.entries) - len(shown):,} more are not shown[/]: add --all")
        command = session.command("page", stat.spill_id, "--result", str(listing.entries[0].index))
        out.print(f"\n[dim]To read one of them:[/] {escape(command)}", soft_wrap=True)
    say(console(aside=True), f"[bold yellow]PARTIAL[/] [dim]{listing.note}[/]")


def _as_dict(stat: Stat, listing: Listing) -> dict[str, Any]:
    answer: dict[str, Any] = {"spill_id": stat.spill_id, "size_bytes": stat.size, "kind": stat.kind}
    answer |= {"sha256": stat.sha256, "created": stat.created, "ttl_s": stat.ttl_s, "max_age_s": stat.max_age_s}
    answer |= {"lease_left_s": stat.lease_left_s}
    if stat.tool:
        answer["tool"] = stat.tool
    return answer | {"inventory": listing.as_dict()}


def _facts(stat: Stat, listing: Listing) -> list[tuple[str, str]]:
    facts = [("spill id", f"[bold green]{stat.spill_id}[/]")]
    if stat.tool:
        facts.append(("tool", escape(visible(stat.tool))))
    facts += [
        ("stored", f"{human_bytes(stat.size)}, {stat.kind}, {stat.chunks} chunk(s)"),
        ("sha256", stat.sha256),
        ("expires", _lease(stat)),
        ("results", how_many(listing.results, len(listing.entries), ())),
    ]
    if listing.partial:
        facts.append(("partial", f"the list may not name everything: {why_partial(listing.partial)}"))
    if stat.kind == "bytes":
        facts.append(("note", "binary: previews, and pages as JSON, are base64"))
    if not listing.strict:
        facts.append(("note", "not strict JSON (NaN or Infinity): kept exactly as it came"))
    if listing.duplicate_keys:
        facts.append(("note", f"{listing.duplicate_keys} repeated key(s): all are kept"))
    return facts


def _lease(stat: Stat) -> str:
    """What is promised. Redis is given a third more, which nobody may count on: see `Terms`."""
    left = human_seconds(min(stat.ttl_s, stat.lease_left_s))
    return f"{human_seconds(stat.ttl_s)} after the last read; now kept {left} or more"


def _table(entries: tuple[Entry, ...]) -> Table:
    table = Table(header_style="bold", border_style="dim")
    table.add_column("#", justify="right")
    table.add_column("name", overflow="fold", style="cyan")
    table.add_column("path", overflow="fold", style="dim")
    for name in ("bytes", "pages", "series", "points"):
        table.add_column(name, justify="right", no_wrap=True)
    for entry in entries:
        about = "~" if entry.approximate else ""
        table.add_row(
            str(entry.index),
            escape(visible(entry.name)),
            escape(visible(entry.path)),
            f"{entry.end - entry.start:,}",
            str(entry.pages),
            "" if entry.series is None else f"{about}{entry.series:,}",
            "" if entry.points is None else f"{about}{entry.points:,}",
        )
    return table
