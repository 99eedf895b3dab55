"""`spillcache tokens`: make, list and revoke the bearer tokens that `serve` asks for. A token is shown once."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Final

import click
from rich.markup import escape
from rich.table import Table

from spillcache.cli.answers import console, json_option, notice, print_json, visible
from spillcache.cli.opened import settings_of
from spillcache.cli.output import already_done
from spillcache.cli.replacing import replace_private
from spillcache.cli.session import Session
from spillcache.cli.target import cannot_write
from spillcache.cli.verb import Verb
from spillcache.errors import ArgumentsInvalid
from spillcache.service.tokens import TokenEntry, digest_of, format_tokens, read_tokens

_PREFIX: Final = "sct_"  # scanners for leaked secrets find it by this
_BYTES: Final = 32

file_option = click.option(
    "--file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The tokens file.  [env: SPILLCACHE_TOKENS_FILE]",
)


@click.group()
def tokens() -> None:
    """Make, list and revoke the bearer tokens of `serve`. The file holds digests; serving processes follow it."""


@tokens.command(cls=Verb)
@click.option("--tenant", required=True, metavar="NAME", help="Whose spills the token opens.")
@click.option("--name", metavar="NAME", help="What to call it, for listing and revoking.  [default: made up]")
@file_option
@json_option
@click.pass_obj
def new(session: Session, tenant: str, name: str | None, file: Path | None, as_json: bool) -> None:
    """Make a token, add its SHA-256 to the file (a new one if need be), and print the token: once, here only."""
    place = _file(session, file)
    entries = read_tokens(place) if place.exists() else ()
    token = _PREFIX + secrets.token_urlsafe(_BYTES)
    entry = TokenEntry(digest_of(token), _not_blank(tenant), name or f"{tenant}-{secrets.token_hex(3)}")
    if any(other.name == entry.name for other in entries):
        raise ArgumentsInvalid(
            "there is a token of that name already", next_step="Choose another name, or revoke that one first."
        )
    _write(place, (*entries, entry))
    with already_done(f"The token was made, as {entry.name!r} in {place}: revoke it and make another."):
        if as_json:
            print_json({"token": token, "tenant": entry.tenant, "name": entry.name, "file": str(place)})
        else:
            click.echo(token)
    if not as_json:
        notice(f"Added as {entry.name!r} to {place}. The token is not kept anywhere: copy it now.")
        if file is not None:
            notice(f"Servers need: SPILLCACHE_TOKENS_FILE={place.absolute()}")


@tokens.command("list", cls=Verb)
@file_option
@json_option
@click.pass_obj
def list_(session: Session, file: Path | None, as_json: bool) -> None:
    """List tokens by name and tenant. The tokens themselves are nowhere to be had."""
    entries = read_tokens(_file(session, file))
    if as_json:
        print_json({"tokens": [{"name": entry.name, "tenant": entry.tenant} for entry in entries]})
        return
    table = Table("name", "tenant", header_style="bold", border_style="dim")
    for entry in entries:
        table.add_row(escape(visible(entry.name)), escape(visible(entry.tenant)))
    console().print(table)


@tokens.command(cls=Verb)
@click.argument("name")
@file_option
@json_option
@click.pass_obj
def revoke(session: Session, name: str, file: Path | None, as_json: bool) -> None:
    """Remove the token NAME from the file. Serving processes refuse it within a second."""
    place = _file(session, file)
    entries = read_tokens(place)
    kept = tuple(entry for entry in entries if entry.name != name)
    if len(kept) == len(entries):
        raise ArgumentsInvalid(
            "there is no token of that name", next_step=f"Run `{session.command('tokens', 'list')}`."
        )
    _write(place, kept)
    with already_done("The token was revoked."):
        if as_json:
            print_json({"revoked": name, "tokens": len(kept)})
        else:
            console().print(f"revoked [bold]{escape(visible(name))}[/]", soft_wrap=True)


def _file(session: Session, given: Path | None) -> Path:
    file = settings_of(session, tokens_file=given).tokens_file
    if file is None:
        raise ArgumentsInvalid(
            "no tokens file is named", next_step="Name one with --file, or set SPILLCACHE_TOKENS_FILE."
        )
    return file


def _write(file: Path, entries: tuple[TokenEntry, ...]) -> None:
    try:
        replace_private(file, format_tokens(entries))
    except OSError as error:
        raise cannot_write(file, error) from None


def _not_blank(tenant: str) -> str:
    if not tenant.strip():
        raise ArgumentsInvalid("a tenant's name must not be blank")
    return tenant
