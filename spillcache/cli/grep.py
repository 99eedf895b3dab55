"""`spillcache grep`: where a pattern matches."""

from __future__ import annotations

import click
from rich.markup import escape
from rich.text import Text

from spillcache import defaults
from spillcache.cli.answers import console, json_option, print_json, say, visible
from spillcache.cli.exits import Ending
from spillcache.cli.opened import opened
from spillcache.cli.session import Session
from spillcache.cli.verb import Verb
from spillcache.search import Match, Matches


@click.command(cls=Verb)
@click.argument("spill_id", metavar="ID")
@click.argument("pattern")
@click.option("-F", "--literal", is_flag=True, help="Take PATTERN as plain text.")
@click.option("-i", "--ignore-case", is_flag=True, help="Ignore case.")
@click.option("--result", metavar="NAME", help="Search this named result (or its number) alone.")
@click.option(
    "-m",
    "--max-matches",
    type=int,
    default=defaults.MAX_MATCHES,
    show_default=True,
    metavar="N",
    help="Matches to show at most.",
)
@click.option(
    "-C",
    "--context",
    type=int,
    default=defaults.CONTEXT_BYTES,
    show_default=True,
    metavar="N",
    help="Bytes to show on either side of a match.",
)
@click.option("--budget", type=click.IntRange(min=1), metavar="N", help="Size cap of the answer as JSON, in bytes.")
@json_option
@click.pass_obj
def grep(
    session: Session,
    spill_id: str,
    pattern: str,
    literal: bool,
    ignore_case: bool,
    result: str | None,
    max_matches: int,
    context: int,
    budget: int | None,
    as_json: bool,
) -> Ending:
    """Search the spill ID for PATTERN, a regular expression (RE2): byte range, place and context of each match.

    Neither a match nor the lack of one is the data, so this never exits with 0: 3 means that there are matches
    (PARTIAL) or that the search ended early, 4 that there are none in what was searched.
    """
    with opened(session) as cache:
        found = cache.grep(
            spill_id,
            pattern,
            literal=literal,
            ignore_case=ignore_case,
            result=result,
            max_matches=max_matches,
            context=context,
            budget=budget,
        )
    if as_json:
        print_json(found.as_dict())
    else:
        _show(found, session)
    return "PARTIAL" if found.total or found.stopped else "NO_MATCH"


def _highlighted(match: Match) -> Text:
    """The text of a match on one line, what was matched in color."""
    start, end = match.span
    shown = Text("  ").append(_one_line(match.text[:start]))
    shown.append(_one_line(match.text[start:end]), style="bold red")
    return shown.append(_one_line(match.text[end:]))


def _one_line(text: str) -> str:
    return visible(text).replace("\n", "⏎").replace("\r", "␍")


def _show(found: Matches, session: Session) -> None:
    """Matches on standard output; what they are not, and where to read on, aside."""
    out = console()
    for match in found.matches:
        out.print(f"[bold]{match.start}-{match.end}[/] [cyan]{match.role}[/]{_place(match)}", soft_wrap=True)
        out.print(_highlighted(match), soft_wrap=True)
        command = session.command("page", found.spill_id, "--cursor", match.cursor)
        out.print(f"  [dim]{escape(command)}[/]", soft_wrap=True)
    aside = console(aside=True)
    least = "at least " if found.stopped else ""
    counted = f"{least}{found.total:,} match(es), {len(found.matches):,} shown, {found.searched:,} bytes searched"
    say(aside, f"[bold yellow]PARTIAL[/] {counted}")
    say(aside, f"[dim]{escape(found.note)}[/]")
    for following in found.read_next:
        command = session.command("page", found.spill_id, "--cursor", following.cursor)
        aside.print(
            f"[dim]   read result {following.result}, {escape(visible(following.name))}:[/] {escape(command)}",
            soft_wrap=True,
        )


def _place(match: Match) -> str:
    line = f" line {match.line}" if match.line is not None else ""
    path = f" {escape(visible(match.path))}" if match.path is not None else ""
    return f"{line}[dim]{path}{' (longer than shown)' if match.cut else ''}[/]"
