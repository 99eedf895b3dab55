"""`spillcache put`: store a payload, print the envelope."""

from __future__ import annotations

import base64
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

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
from spillcache.cli.contents import how_many, listed
from spillcache.cli.failures import Interrupted
from spillcache.cli.opened import opened
from spillcache.cli.output import already_done
from spillcache.cli.session import Session
from spillcache.cli.verb import Verb
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
    envelope: Envelope | None = None
    try:
        with opened(session, reads=False) as cache:
            envelope = cache.put(source, tool=tool, budget=budget)
        with already_done(_stored(envelope, session)):
            if as_json:
                print_json(envelope.as_dict())
            else:
                _print_envelope(envelope, session)
    except KeyboardInterrupt as interrupt:
        raise _interrupted(interrupt, envelope, session) from None


def _stored(envelope: Envelope, session: Session) -> str:
    return f"It is stored as {envelope.spill_id}: {session.command('show', envelope.spill_id)}"


def _interrupted(interrupt: KeyboardInterrupt, envelope: Envelope | None, session: Session) -> Interrupted:
    if envelope is not None:
        return Interrupted("interrupted after it was stored", next_step=_stored(envelope, session))
    error = Interrupted("interrupted before it was stored", next_step="Nothing was stored. Run it again.")
    for note in getattr(interrupt, "__notes__", ()):
        error.add_note(note)
    return error


def _print_envelope(envelope: Envelope, session: Session) -> None:
    facts = [
        ("spill id", f"[bold green]{envelope.spill_id}[/]"),
        ("stored", f"{human_bytes(envelope.size_bytes)}, {envelope.kind}"),
        (
            "to read",
            f"{_pages(envelope)}, about {envelope.tokens_estimate:,} token{'s' * (envelope.tokens_estimate != 1)}",
        ),
    ]
    if envelope.inventory:
        facts.append(("results", escape(visible(_contents(envelope.inventory)))))
    facts.append(("expires", f"{human_seconds(envelope.expires_in_s)} after it was last read"))
    print_facts(facts)
    out = console()
    if envelope.preview:
        shown = visible(envelope.preview[:_PREVIEW_CHARACTERS])
        more = "" if _is_whole(envelope) and len(envelope.preview) <= _PREVIEW_CHARACTERS else "[dim] …[/]"
        out.print(f"\n[dim]{_preview_heading(envelope)}:[/]")
        say(out, f"  {escape(shown)}{more}")
    out.print("\n[dim]Next:[/]")
    for words in (("walk", envelope.spill_id, "-o", "FILE"), ("show", envelope.spill_id), ("page", envelope.spill_id)):
        out.print(f"  {escape(session.command(*words))}", soft_wrap=True)


def _pages(envelope: Envelope) -> str:
    if envelope.pages > 1:
        return f"about {envelope.pages:,} pages"
    # An estimate, but not where the envelope itself, which is no larger than a page, held it all.
    return "1 page (it fits)" if envelope.size_bytes == 0 or _is_whole(envelope) else "about 1 page"


def _is_whole(envelope: Envelope) -> bool:
    """Whether the preview's head shows all bytes."""
    return len(_head(envelope)) == envelope.size_bytes


def _head(envelope: Envelope) -> bytes:
    return base64.b64decode(envelope.preview) if envelope.kind == "bytes" else envelope.preview.encode()


def _preview_heading(envelope: Envelope) -> str:
    coded = " in base64" if envelope.kind == "bytes" else ""
    return f"All of it{coded}" if _is_whole(envelope) else f"Its first bytes{coded}, which are not the data"


def _contents(inventory: Mapping[str, Any]) -> str:
    names = inventory.get("result_names", [])
    number = how_many(inventory.get("results"), len(names), inventory.get("partial", ()))
    return f"{number}: {listed(names, more=bool(inventory.get('names_omitted')))}" if names else number
