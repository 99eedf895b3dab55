"""`spillcache walk`: the whole payload, page by page, verified."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO

import click
from rich.markup import escape

from spillcache.cli.answers import (
    console,
    human_bytes,
    json_option,
    print_json,
    remarks_apart,
    say,
    view_option,
    write_raw,
)
from spillcache.cli.exits import Ending
from spillcache.cli.failures import OutputFailed
from spillcache.cli.opened import opened
from spillcache.cli.session import Session
from spillcache.cli.target import written_whole
from spillcache.cli.verb import Verb, print_error
from spillcache.cli.walking import Progress, Walked, text_of
from spillcache.errors import SpillCorrupt, SpillError
from spillcache.page import Page, View


@click.command(cls=Verb)
@click.argument("spill_id", metavar="ID")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    metavar="FILE",
    help="Write to FILE, which appears only when the walk is COMPLETE.",
)
@view_option
@click.option("--budget", type=click.IntRange(min=1), metavar="N", help="Size cap of each page as JSON, in bytes.")
@json_option
@click.pass_context
def walk(
    ctx: click.Context, spill_id: str, output: Path | None, view: View, budget: int | None, as_json: bool
) -> Ending:
    """Read the whole spill ID, page by page as an agent would, and check it.

    Exit code 0 means COMPLETE, and that the SHA-256 of the pages is the stored one. Ctrl-C ends it with PARTIAL and
    exit code 3. Without -o the payload goes to standard output. With --json each page is a line of JSON; with --json
    and -o one line at the end sums up. In the compact view the values are the payload's and the bytes are not, so no
    SHA-256 is compared, and what it proves is a range_receipt instead of a receipt.
    """
    file = None if output is None or str(output) == "-" else output
    walked = Walked(output=file, view=view)
    try:
        with written_whole(file) if file else nullcontext() as target:
            _walk(ctx.obj, spill_id, budget, walked, _sink(target, as_json=as_json))
    except SpillError as error:
        if isinstance(error, SpillCorrupt | OutputFailed) or not walked.pages:
            raise  # FAILED: nothing came, what came is wrong, or it could not be handed on
        _report(walked, ctx, as_json=as_json, ended_by=error)
    except KeyboardInterrupt:
        _report(walked, ctx, as_json=as_json)
    else:
        _report(walked, ctx, as_json=as_json)
    return walked.status


def _walk(session: Session, spill_id: str, budget: int | None, walked: Walked, sink: Callable[[Page], None]) -> None:
    """Hand every page to the sink. Raises what the library raises, and `SpillCorrupt` when they are not the payload."""
    with opened(session) as cache:
        walked.stat = cache.stat(spill_id)
        with Progress(walked.stat.size, shown=sys.stderr.isatty() and not _shares_terminal(walked)) as progress:
            for page in cache.walk(spill_id, view=walked.view, budget=budget):
                sink(page)
                walked.take(page)
                progress.show(walked.size)
    walked.check()


def _sink(target: BinaryIO | None, *, as_json: bool) -> Callable[[Page], None]:
    """Where pages go: into the file, else to standard output, as JSON or as what they hold."""
    if target is not None:
        return lambda page: _into(target, page)
    return (lambda page: print_json(page.as_dict())) if as_json else (lambda page: write_raw(text_of(page)))


def _into(target: BinaryIO, page: Page) -> None:
    target.write(text_of(page))


def _shares_terminal(walked: Walked) -> bool:
    """Whether pages and progress bar would go to the same screen."""
    return walked.output is None and sys.stdout.isatty()


def _report(walked: Walked, ctx: click.Context, *, as_json: bool, ended_by: SpillError | None = None) -> None:
    """Say how it ended: as JSON on standard output, else aside, because the payload may be on standard output."""
    if as_json:
        if walked.output is not None or not walked.complete:  # else the last page has said it
            print_json(walked.as_dict(ended_by))
        return
    if walked.output is None and walked.last is not None:
        remarks_apart(text_of(walked.last))
    if ended_by is not None:
        print_error(ended_by, ctx)
    aside = console(aside=True)
    color = "green" if walked.complete else "yellow"
    say(aside, f"[bold {color}]{walked.status}[/] {walked.pages} page(s), {_how_much(walked)}")
    if not walked.complete:
        of = f"of {human_bytes(walked.stat.size)}: " if walked.stat is not None else ""
        kept = f"; {escape(str(walked.output))} was not written" if walked.output else ""
        say(aside, f"{of}this is not the whole payload{kept}")
        return
    if walked.view == "compact":
        say(aside, "[dim]in the compact view: every value, in other words than the payload's[/]")
    elif walked.stat is not None:
        say(aside, f"[dim]sha256 {walked.stat.sha256} agrees[/]")
    for name, token in walked.proof.items():
        say(aside, f"[dim]{name} {token}[/]")


def _how_much(walked: Walked) -> str:
    """Bytes of the payload, and of what was written where these are others."""
    where = f" to [bold]{escape(str(walked.output))}[/]" if walked.output and walked.complete else ""
    if walked.view == "raw":
        return human_bytes(walked.size) + where
    return f"{human_bytes(walked.size)} of the payload; written: {human_bytes(walked.written)}{where}"
