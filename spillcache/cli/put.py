"""`spillcache put`: store a payload, print the envelope."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.markup import escape

from spillcache.cli.answers import (
    Verb,
    console,
    human_bytes,
    human_seconds,
    json_option,
    print_facts,
    print_json,
    say,
    visible,
)
from spillcache.cli.opened import opened
from spillcache.cli.session import Session
from spillcache.envelope import Envelope

_PREVIEW_CHARACTERS = 240


@click.command(cls=Verb)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, readable=True, allow_dash=True, path_type=Path))
@click.option("--tool", default="", metavar="NAME", help="The tool that the result came from; kept with the spill.")
@click.option("--budget", type=click.IntRange(min=1), metavar="BYTES", help="Size cap of the envelope.")
@json_option
@click.pass_obj
def put(session: Session, file: Path, tool: str, budget: int | None, as_json: bool) -> None:
    """Store FILE, or standard input (-), and print what an agent gets in its place.

    It is streamed: memory stays bounded however large it is.
    """
    source = sys.stdin.buffer if str(file) == "-" else file
    with opened(session, reads=False) as cache:
        envelope = cache.put(source, tool=tool, budget=budget)
    if as_json:
        print_json(envelope.as_dict())
    else:
        _print_envelope(envelope, session)


def _print_envelope(envelope: Envelope, session: Session) -> None:
    facts = [
        ("spill id", f"[bold green]{envelope.spill_id}[/]"),
        ("stored", f"{human_bytes(envelope.size_bytes)}, {envelope.kind}"),
        ("to read", f"about {envelope.pages} page(s), {envelope.tokens_estimate:,} tokens"),
    ]
    if envelope.inventory:
        facts.append(("contains", escape(visible(_contents(envelope)))))
    facts.append(("expires", f"{human_seconds(envelope.expires_in_s)} after it was last read"))
    print_facts(facts)
    out = console()
    if envelope.preview:
        shown = visible(envelope.preview[:_PREVIEW_CHARACTERS])
        out.print("\n[dim]Its first bytes, which are not the data:[/]")
        say(out, f"  {escape(shown)}[dim] …[/]")
    out.print("\n[dim]Next:[/]")
    for words in (("walk", envelope.spill_id, "-o", "FILE"), ("show", envelope.spill_id), ("page", envelope.spill_id)):
        out.print(f"  {escape(session.command(*words))}", soft_wrap=True)


def _contents(envelope: Envelope) -> str:
    inventory = envelope.inventory or {}
    names = inventory.get("result_names", [])
    more = inventory.get("names_omitted", 0)
    listed = ", ".join(names[:4]) + (", …" if len(names) > 4 or more else "")
    return f"{inventory.get('results', 0)} results: {listed}" if names else f"{inventory.get('results', 0)} results"
