"""`spillcache claims`: what an agent's cursors and receipts prove that it was served."""

from __future__ import annotations

from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from spillcache import evidence
from spillcache.cli.answers import console, human_bytes, json_option, notice, print_facts, print_json, say, visible
from spillcache.cli.contents import why_partial
from spillcache.cli.exits import Ending
from spillcache.cli.opened import opened, settings_of
from spillcache.cli.session import Session
from spillcache.cli.verb import Verb
from spillcache.cli.verify import keys_of, public_key_option, when
from spillcache.errors import SpillGone
from spillcache.evidence import Claims, ServedResult, Span
from spillcache.listing import Entry

_COLORS = {"COMPLETE": "green", "PARTIAL": "yellow", "FAILED": "red"}
_SHOWN_SPANS = 6  # a line of a table holds no more; --json has all


@click.command(cls=Verb)
@click.argument("spill_id", metavar="ID")
@click.argument("tokens", metavar="TOKEN...", nargs=-1)
@click.option("--receipt", "receipts", metavar="TOKEN", multiple=True, help="One more TOKEN; may be repeated.")
@click.option(
    "--size", type=click.IntRange(min=0), metavar="N", help="The payload's size in bytes, if Redis is not asked."
)
@click.option(
    "--no-store", is_flag=True, help="Do not ask Redis: the size comes from --size or a receipt, names are unknown."
)
@public_key_option
@json_option
@click.pass_obj
def claims(
    session: Session,
    spill_id: str,
    tokens: tuple[str, ...],
    receipts: tuple[str, ...],
    size: int | None,
    no_store: bool,
    public_key: Path | None,
    as_json: bool,
) -> Ending:
    """Say what the TOKENs that an agent holds prove of the spill ID: which bytes, which named results.

    A TOKEN is a cursor, a range_receipt or a receipt, in any order, exactly as a page had it. They prove that these
    were served, not that they were read. Size and names come from Redis, unless --size or --no-store is given. Exit
    code 0 means COMPLETE, 3 PARTIAL, 1 FAILED: nothing is proven, or the size contradicts it.
    """
    if not tokens and not receipts:
        raise click.UsageError("Nothing to check: give at least one cursor, range_receipt or receipt.")
    keyring = keys_of(session, public_key)
    results: tuple[Entry, ...] = ()
    source = ", as it was given; no receipt here confirms it"
    if size is None and not no_store:
        size, results = _stored(session, spill_id)
        source = ", as Redis has it"
    answer = evidence.claims(
        spill_id,
        size,
        cursors=tokens,
        receipts=receipts,
        keyring=keyring,
        tenant=settings_of(session).tenant,
        results=results,
    )
    if as_json:
        print_json(answer.as_dict())
    else:
        _print(answer, source)
    return answer.status


def _stored(session: Session, spill_id: str) -> tuple[int, tuple[Entry, ...]]:
    """Size and results as Redis has them. Raises `SpillGone`, which is not the end of what can be proven."""
    try:
        with opened(session) as cache:
            listing = cache.inventory(spill_id)
    except SpillGone as error:
        theirs = session.for_tenant("NAME").command("claims", spill_id)
        raise type(error)(
            error.message,
            next_step=f"If it is another tenant's, say whose: `{theirs} ...`. If it is gone: evidence outlives "
            "a spill, so use --no-store with its receipt, or --size.",
        ) from None
    if listing.partial:
        notice(f"The list of results may not name everything: {why_partial(listing.partial)}.")
    return listing.size, listing.entries


def _print(answer: Claims, source: str) -> None:
    out = console()
    say(out, f"[bold {_COLORS[answer.status]}]{answer.status}[/] {answer.message or answer.note}")
    print_facts(_facts(answer, source))
    if answer.proofs or answer.rejected:
        out.print(_tokens(answer))
    if answer.results:
        out.print(_results(answer))


def _facts(answer: Claims, source: str) -> list[tuple[str, str]]:
    facts = [("spill id", answer.spill_id)]
    if answer.size is not None:
        facts.append(("size", human_bytes(answer.size) + (", as a receipt says" if answer.size_proven else source)))
    facts.append(("served", _spans(answer.served)))
    if answer.compact:
        facts.append(("compact", f"{_spans(answer.compact)}, in that view only"))
    return [*facts, ("unserved", _unserved(answer))]


def _unserved(answer: Claims) -> str:
    """Without a size there is no end to what is missing, so it is never "none"."""
    if answer.size is not None:
        return _spans(answer.unserved)
    if not answer.served:
        return "all of it, however much that is"
    rest = f"whatever follows {answer.served[-1][1]}: the size is not known"
    return f"{_spans(answer.unserved)}, and {rest}" if answer.unserved else rest


def _tokens(answer: Claims) -> Table:
    table = Table("#", "token", "view", "bytes", "walk", "lease renewed", header_style="bold", border_style="dim")
    rows: dict[int, tuple[str, str, str, str, str]] = {
        proof.number: (proof.token, proof.view, _spans(((proof.start, proof.end),)), str(proof.walk), when(proof.stamp))
        for proof in answer.proofs
    }
    rows |= {bad.number: (f"[red]{bad.code}[/]", "", bad.message, "", "") for bad in answer.rejected}
    for number in sorted(rows):
        table.add_row(str(number), *rows[number])
    return table


def _results(answer: Claims) -> Table:
    table = Table("#", "result", "served", "unserved bytes", header_style="bold", border_style="dim")
    for result in answer.results:
        unserved = _spans(result.unserved, none="")
        table.add_row(str(result.index), escape(visible(result.name)), _how_much(result), unserved)
    return table


def _how_much(result: ServedResult) -> str:
    if not result.unserved:
        return "[green]yes[/]"
    return "[red]no[/]" if result.unserved == ((result.start, result.end),) else "[yellow]in part[/]"


def _spans(spans: tuple[Span, ...], *, none: str = "none") -> str:
    listed = ", ".join(f"{start}-{end}" for start, end in spans[:_SHOWN_SPANS])
    more = f" and {len(spans) - _SHOWN_SPANS} more" if len(spans) > _SHOWN_SPANS else ""
    return listed + more or none
