"""`spillcache doctor`: is this deployment sound, and if not, what has to change."""

from __future__ import annotations

import click
from rich.markup import escape
from rich.table import Table

from spillcache.cli.answers import console, json_option, notice, print_json, say, visible
from spillcache.cli.exits import Ending
from spillcache.cli.opened import settings_of
from spillcache.cli.session import Session
from spillcache.cli.verb import Verb
from spillcache.wiring.diagnosis import Finding, Role, diagnose

_SIGNS = {"ok": "[green]✓[/]", "note": "[dim]–[/]", "advice": "[yellow]![/]", "change": "[bold red]✗[/]"}


@click.command(cls=Verb)
@click.option("--strict", is_flag=True, help="Exit with 1 also for what is only advice.")
@click.option(
    "--role",
    type=click.Choice(["writer", "reader", "both"]),
    help="What the user must be permitted to be; by default one of the two is enough.",
)
@json_option
@click.pass_obj
def doctor(session: Session, strict: bool, role: Role | None, as_json: bool) -> Ending | None:
    """Check Redis (version, memory policy, role, every command under the ACL), keys and clock; say what to change.

    The commands are really tried, on a key under the prefix that is gone afterwards. Exit code 1 when something must
    change. A user who may only write, or only read, is sound unless --role asks for more.
    """
    findings = diagnose(settings_of(session), tell=notice, role=role)
    wrong = [found for found in findings if found.level == "change" or (strict and found.level == "advice")]
    if as_json:
        print_json({"healthy": not wrong, "findings": [found.as_dict() for found in findings]})
    else:
        _print(findings)
    return "FAILED" if wrong else None


def _print(findings: list[Finding]) -> None:
    out = console()
    table = Table("", "check", "found", header_style="bold", border_style="dim", box=None, pad_edge=False)
    for found in findings:
        table.add_row(_SIGNS[found.level], found.check, escape(visible(found.found)))
    out.print(table)
    for found in findings:
        if found.remedy:
            say(out, f"\n{_SIGNS[found.level]} [bold]{found.check}[/]: {escape(visible(found.remedy))}")
