"""`spillcache keys`: make, list and rotate the keys that sign cursors and receipts. Secrets are never shown."""

from __future__ import annotations

from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from spillcache.cli import rotation
from spillcache.cli.answers import console, human_seconds, json_option, notice, print_json
from spillcache.cli.opened import settings_of
from spillcache.cli.output import already_done
from spillcache.cli.session import Session
from spillcache.cli.target import cannot_write
from spillcache.cli.verb import Verb
from spillcache.errors import ArgumentsInvalid
from spillcache.keyring import format_ring, parse_ring
from spillcache.wiring.opening import Ring, stored_ring, write_private

_AFTER = {
    "add": "Give the ring to every replica, then run `keys rotate` again: it makes the new key the one that signs.",
    "promote": "Give the ring to every replica. Spills live up to {age}: then `keys rotate` removes the old keys.",
    "remove": "Give the ring to every replica. The rotation is done.",
}


@click.group()
def keys() -> None:
    """Make, list and rotate the keys that sign cursors and receipts."""


@keys.command(cls=Verb)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write it to FILE."
)
@json_option
def new(output: Path | None, as_json: bool) -> None:
    """Make a key ring of one fresh key: a new file that only you may read, or on standard output."""
    kid, secret = rotation.fresh_key(taken=())
    text = format_ring({kid: secret}, kid)
    if output is None:
        click.echo(text, nl=False)  # the ring is JSON, with --json or without
        return
    try:
        write_private(output, text)
    except FileExistsError:
        raise ArgumentsInvalid(
            f"{output} exists and is left as it is: cursors signed with its keys are in use",
            next_step="Name another file, or add a key to the existing ring with `spillcache keys rotate`.",
        ) from None
    except OSError as error:
        raise cannot_write(output, error) from None
    with already_done(f"The key ring was made: {output}"):
        if as_json:
            print_json({"file": str(output), "sign": kid, "keys": [kid]})
        else:
            console().print(f"made [bold]{escape(str(output))}[/], signing with key {kid}", soft_wrap=True)
    if not as_json:
        notice(f"Every replica needs the same file: SPILLCACHE_KEYRING_FILE={output.absolute()}")


@keys.command("list", cls=Verb)
@json_option
@click.pass_obj
def list_(session: Session, as_json: bool) -> None:
    """List the ring's keys, without their secrets. Equal fingerprints on two replicas mean equal keys."""
    ring = stored_ring(settings_of(session), tell=notice)
    secrets, sign = parse_ring(ring.text)
    prints = {kid: rotation.fingerprint(secret) for kid, secret in secrets.items()}
    if as_json:
        listed = [{"id": kid, "signs": kid == sign, "fingerprint": prints[kid]} for kid in secrets]
        print_json({"source": _source(ring), "sign": sign, "keys": listed})
        return
    table = Table(
        "key",
        "use",
        "fingerprint",
        header_style="bold",
        border_style="dim",
        title=escape(_source(ring)),
        title_justify="left",
    )
    for kid in secrets:
        table.add_row(escape(kid), "[green]signs[/], verifies" if kid == sign else "verifies", prints[kid])
    console().print(table)


@keys.command(cls=Verb)
@click.option("--step", type=click.Choice(rotation.STEPS), help="Do this one; by default the one that is next.")
@click.option("--key", "kid", metavar="ID", help="Name of the key to add, promote or remove.")
@click.option("--force", is_flag=True, help="Remove old keys although spills of theirs may still be read.")
@json_option
@click.pass_obj
def rotate(session: Session, step: str | None, kid: str | None, force: bool, as_json: bool) -> None:
    """Take the next step of a rotation: add a key, then promote it, then remove the old ones.

    Between two steps every replica must get the ring. Old keys may go when no cursor of theirs can be in use any more:
    when the maximum age of a spill has passed since the ring was changed.
    """
    settings = settings_of(session)
    ring = stored_ring(settings, tell=notice)
    if ring.file is None:
        raise ArgumentsInvalid(
            "the ring comes from SPILLCACHE_KEYRING, which cannot be changed from here",
            next_step="Put it into a file, name that with --keyring-file, and rotate there.",
        )
    secrets, sign = parse_ring(ring.text)
    state = rotation.State(secrets, sign, rotation.age_s(ring.file))
    chosen = step or rotation.next_step(state)
    rotated = rotation.take(chosen, state, kid, max_age_s=0 if force else settings.max_age_s)
    rotation.replace_ring(ring.file, format_ring(rotated.secrets, rotated.sign))
    after = _AFTER[chosen].format(age=human_seconds(settings.max_age_s))
    with already_done("The ring was changed: look with `spillcache keys list` before you rotate again."):
        if as_json:
            print_json({"step": chosen, "sign": rotated.sign, "keys": list(rotated.secrets), "next_step": after})
        else:
            names = f"[bold]{chosen}[/]: {', '.join(rotated.secrets)}; [green]{rotated.sign}[/] signs"
            console().print(names, soft_wrap=True)
            notice(after)


def _source(ring: Ring) -> str:
    return str(ring.file) if ring.file is not None else "SPILLCACHE_KEYRING"
