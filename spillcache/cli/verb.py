"""A command, and how it fails: typed, with what to do next, and with an exit code."""

from __future__ import annotations

import sys

import click
from rich.markup import escape

from spillcache.cli import exits
from spillcache.cli.advice import Asked, message_for_people, next_step_for_people
from spillcache.cli.answers import console, print_json, say, visible
from spillcache.cli.failures import Interrupted, OutputClosed, StandardOutputFailed
from spillcache.cli.interrupts import begun
from spillcache.cli.opened import server_of
from spillcache.cli.output import drop_output
from spillcache.errors import ResultNotFound, SpillError


class Verb(click.Command):
    """A command that returns the status that it printed, from which its exit code is made; and answers a `SpillError`.

    Not a `ctx.exit` in each command: one that forgot it would pass a part off as the whole.
    """

    def invoke(self, ctx: click.Context) -> None:
        """Run the command. A reader that went away is no error of ours: it ends us quietly."""
        begun()
        try:
            self._answer(ctx)
        except OutputClosed:
            drop_output()
            ctx.exit(exits.CLOSED)

    def _answer(self, ctx: click.Context) -> None:
        try:
            ending: exits.Ending | None = super().invoke(ctx)
            sys.stdout.flush()
        except SpillError as error:
            print_error(error, ctx)
            ctx.exit(exits.INTERRUPTED if isinstance(error, Interrupted) else exits.code_of("FAILED"))
        ctx.exit(exits.code_of(ending))


def print_error(error: SpillError, ctx: click.Context) -> None:
    """An error: for programs on standard output, where they look for the answer; for people on standard error.

    Where standard output cannot be written, programs get it on standard error too.
    """
    if isinstance(error, StandardOutputFailed):
        drop_output()
    if ctx.params.get("as_json"):
        _print_as_json(error)
    else:
        _print_for_people(error, ctx)


def _print_as_json(error: SpillError) -> None:
    try:
        print_json(error.as_dict(), aside=isinstance(error, StandardOutputFailed))
    except StandardOutputFailed:
        drop_output()
        print_json(error.as_dict(), aside=True)


def _print_for_people(error: SpillError, ctx: click.Context) -> None:
    aside = console(aside=True)
    say(aside, f"[bold red]FAILED[/] [bold]{error.code}[/]: {escape(visible(message_for_people(error)))}")
    for note in getattr(error, "__notes__", ()):
        say(aside, f"[dim]Note:[/] {escape(visible(note))}")
    if isinstance(error, ResultNotFound) and error.nearest:
        say(aside, f"[dim]Nearest:[/] {escape(visible(', '.join(error.nearest)))}")
    say(aside, f"[dim]Next:[/] {escape(visible(next_step_for_people(error, _asked(ctx))))}")


def _asked(ctx: click.Context) -> Asked:
    spill_id, cursor = ctx.params.get("spill_id"), ctx.params.get("cursor")
    return Asked(ctx.info_name or "", ctx.obj, server_of(ctx.obj), spill_id, cursor)
