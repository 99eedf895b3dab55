"""`spillcache keys`: make, list and rotate the keys that sign cursors and receipts. Secrets are never shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from spillcache.cli import rotation
from spillcache.cli.answers import console, human_seconds, json_option, notice, print_json
from spillcache.cli.opened import settings_of
from spillcache.cli.output import already_done
from spillcache.cli.session import Session
from spillcache.cli.target import cannot_write, written_whole
from spillcache.cli.verb import Verb
from spillcache.errors import ArgumentsInvalid
from spillcache.keyring import format_ring, parse_ring
from spillcache.signatures import ReceiptKeys, format_public_keys, parse_receipt_keys
from spillcache.wiring.opening import Ring, stored_ring, write_private

_AFTER = {
    "add": "Give the ring to every replica, then run `keys rotate` again: it makes the new key the one that signs.",
    "promote": "Give the ring to every replica. Spills live up to {age}: then `keys rotate` removes the old keys.",
    "remove": "Give the ring to every replica. The rotation is done.",
}
_AFTER_RECEIPTS = {
    "add": "Give the ring to every replica, and the file of `keys public` to whoever verifies; then run "
    "`keys rotate --receipts` again: it makes the new key the one that signs.",
    "promote": "Give the ring to every replica. Then `keys rotate --receipts` takes the old private keys away.",
    "remove": "Give the ring to every replica. Receipts of old keys can still be checked: their public halves stay.",
}


_WITHOUT_RECEIPT_KEYS = (
    "If you meant another ring, name it: `{other}`, or export SPILLCACHE_KEYRING_FILE. To add a receipt key to {ring}: "
    "`{rotate}`."
)


@click.group()
def keys() -> None:
    """Make, list and rotate the keys that sign cursors and receipts."""


@keys.command(cls=Verb)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write it to FILE."
)
@click.option("--receipts", is_flag=True, help="With an Ed25519 key for receipts: who checks one cannot make one.")
@json_option
def new(output: Path | None, receipts: bool, as_json: bool) -> None:
    """Make a key ring of one fresh key: a new file that only you may read, or on standard output."""
    kid, secret = rotation.fresh_key(taken=())
    signing = ReceiptKeys(kid, {kid: rotation.fresh_key(taken=())[1]}) if receipts else None
    text = format_ring({kid: secret}, kid, signing)
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
        notice(f"Every replica needs it, and so do these commands: export SPILLCACHE_KEYRING_FILE={output.absolute()}")


@keys.command("list", cls=Verb)
@json_option
@click.pass_obj
def list_(session: Session, as_json: bool) -> None:
    """List the ring's keys, without their secrets. Equal fingerprints on two replicas mean equal keys."""
    ring = stored_ring(settings_of(session), tell=notice)
    secrets, sign = parse_ring(ring.text)
    receipts = parse_receipt_keys(ring.text)
    prints = {kid: rotation.fingerprint(secret) for kid, secret in secrets.items()}
    if as_json:
        listed = [{"id": kid, "signs": kid == sign, "fingerprint": prints[kid]} for kid in secrets]
        print_json({"source": _source(ring), "sign": sign, "keys": listed} | _receipts_as_dict(receipts))
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
    if receipts is not None:
        for kid, key in receipts.public.items():
            use = "[green]signs[/], verifies" if kid == receipts.sign else "verifies"
            table.add_row(escape(kid), f"receipts: {use}", rotation.fingerprint(key))
    console().print(table)


@keys.command(cls=Verb)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write it to FILE."
)
@json_option
@click.pass_obj
def public(session: Session, output: Path | None, as_json: bool) -> None:
    """Print the public receipt keys, for whoever checks receipts and must not be able to make them."""
    ring = stored_ring(settings_of(session), tell=notice)
    receipts = parse_receipt_keys(ring.text)
    if receipts is None or not receipts.public:
        raise ArgumentsInvalid(
            f"the ring of {_source(ring)} has no receipt keys: its receipts are signed with its secrets, which no "
            "public key checks",
            next_step=_WITHOUT_RECEIPT_KEYS.format(
                other=replace(session, keyring_file=Path("FILE")).command("keys", "public"),
                rotate=session.command("keys", "rotate", "--receipts"),
                ring=_source(ring),
            ),
        )
    text = format_public_keys(receipts)
    if output is None:
        click.echo(text, nl=False)  # JSON, with --json or without
        return
    with written_whole(output) as file:
        file.write(text.encode())
    with already_done(f"The public keys were written: {output}"):
        if as_json:
            print_json({"file": str(output), "source": _source(ring), "keys": list(receipts.public)})
        else:
            of = f"{', '.join(receipts.public)}, of {_source(ring)}"
            console().print(f"wrote [bold]{escape(str(output))}[/]: {escape(of)}", soft_wrap=True)


@keys.command(cls=Verb)
@click.option("--step", type=click.Choice(rotation.STEPS), help="Do this one; by default the one that is next.")
@click.option("--key", "kid", metavar="ID", help="Name of the key to add, promote or remove.")
@click.option("--force", is_flag=True, help="Remove old keys although spills of theirs may still be read.")
@click.option("--receipts", is_flag=True, help="Rotate the Ed25519 keys of receipts, or add the first one.")
@json_option
@click.pass_obj
def rotate(session: Session, step: str | None, kid: str | None, force: bool, receipts: bool, as_json: bool) -> None:
    """Take the next step of a rotation: add a key, then promote it, then remove the old ones.

    Between two steps every replica must get the ring. Old keys may go when no cursor of theirs can be in use any more:
    when the maximum age of a spill has passed since the ring was changed. Old receipt keys lose their private half.
    """
    settings = settings_of(session)
    ring = stored_ring(settings, tell=notice)
    if ring.file is None:
        raise ArgumentsInvalid(
            "the ring comes from SPILLCACHE_KEYRING, which cannot be changed from here",
            next_step="Put it into a file, name that with --keyring-file, and rotate there.",
        )
    secrets, sign = parse_ring(ring.text)
    held = parse_receipt_keys(ring.text)
    turning = _state_of(held) if receipts else rotation.State(secrets, sign, rotation.age_s(ring.file))
    chosen = step or rotation.next_step(turning)
    rotated = rotation.take(chosen, turning, kid, max_age_s=0 if force or receipts else settings.max_age_s)
    if receipts:
        held = ReceiptKeys(rotated.sign, rotated.secrets, held.public if held is not None else {})
        text = format_ring(secrets, sign, held)
    else:
        text = format_ring(rotated.secrets, rotated.sign or sign, held)
    rotation.replace_ring(ring.file, text)
    after = (_AFTER_RECEIPTS if receipts else _AFTER)[chosen].format(age=human_seconds(settings.max_age_s))
    with already_done(f"{ring.file} was changed: look with `spillcache keys list` before you rotate again."):
        _print_rotated(ring.file, chosen, turning, rotated, after, receipts=receipts, as_json=as_json)


def _print_rotated(
    file: Path, step: str, before: rotation.State, now: rotation.State, after: str, *, receipts: bool, as_json: bool
) -> None:
    changed = rotation.changed(step, before, now)
    if as_json:
        signing = {"sign": now.sign} if now.sign is not None else {}
        answer = {"file": str(file), "step": step, "changed": changed} | signing
        print_json(answer | {"keys": list(now.secrets), "next_step": after})
        return
    kind, out = "receipt key" if receipts else "key", console()
    held = [f"{escape(kid)} [green]signs[/]" if kid == now.sign else f"{escape(kid)} verifies" for kid in now.secrets]
    out.print(f"[bold]{_DONE[step]}[/] {kind} {escape(', '.join(changed))} in {escape(str(file))}", soft_wrap=True)
    out.print(f"now there: {'; '.join(held)}", soft_wrap=True)
    notice(after)


_DONE = {"add": "added", "promote": "promoted", "remove": "removed"}


def _state_of(receipts: ReceiptKeys | None) -> rotation.State:
    """The private receipt keys as what is rotated; a ring that has none yet begins with nothing."""
    if receipts is None:
        return rotation.State({}, None, 0)
    return rotation.State(receipts.private, receipts.sign, 0, retired=receipts.public.keys())


def _receipts_as_dict(receipts: ReceiptKeys | None) -> dict[str, Any]:
    """The receipt keys for programs, public halves only; absent where there are none."""
    if receipts is None:
        return {}
    listed = [
        {"id": kid, "signs": kid == receipts.sign, "fingerprint": rotation.fingerprint(key)}
        for kid, key in receipts.public.items()
    ]
    return {"receipts": listed}


def _source(ring: Ring) -> str:
    return str(ring.file) if ring.file is not None else "SPILLCACHE_KEYRING"
