"""`spillcache verify`: a receipt, checked without Redis."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click
from rich.markup import escape

from spillcache.cli.answers import console, human_bytes, json_option, notice, print_facts, print_json, say
from spillcache.cli.opened import settings_of
from spillcache.cli.session import Session
from spillcache.cli.verb import Verb
from spillcache.cursor import LEASE_EPOCH
from spillcache.keyring import Keyring, PublicKeys
from spillcache.receipt import Receipt, verify_receipt
from spillcache.wiring.opening import open_keyring

public_key_option = click.option(
    "--public-key",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Check with these public keys (`spillcache keys public`) and without the key ring: Ed25519 receipts only.",
)

_SERVED = "every byte was served in one unbroken chain of pages; nothing says that they were read"


@click.command(cls=Verb)
@click.argument("receipt", metavar="RECEIPT")
@public_key_option
@json_option
@click.pass_obj
def verify(session: Session, receipt: str, public_key: Path | None, as_json: bool) -> None:
    """Check a receipt, and say what it proves: that every byte of a spill was served, to this tenant, in one walk.

    No Redis is asked: a receipt holds for longer than its spill. It proves served, not read.
    """
    settings = settings_of(session)
    claim = verify_receipt(receipt, keys_of(session, public_key), tenant=settings.tenant)
    if as_json:
        print_json(_as_dict(claim))
        return
    say(console(), f"[bold green]VERIFIED[/] {_SERVED}")
    print_facts(
        [
            ("spill id", f"[bold green]{claim.spill_id}[/]"),
            ("size", human_bytes(claim.size)),
            ("sha256", claim.sha256.hex()),
            ("tenant", escape(settings.tenant)),
            ("walk", str(claim.walk)),
            ("lease", f"last renewed {when(claim.time)}; the last page was served after that"),
            ("signed", _HOW[claim.signed]),
        ]
    )


_HOW = {
    "hmac": "with a secret: whoever holds the key ring could have made it",
    "ed25519": "with a private key: whoever only checks could not have made it",
}


def keys_of(session: Session, public_key: Path | None) -> Keyring | PublicKeys:
    """What to check with: the file of public keys, else the key ring of the settings. Raises `KeyringInvalid`."""
    if public_key is not None:
        return PublicKeys.from_file(public_key)
    return open_keyring(settings_of(session), tell=notice)


def when(time: int) -> str:
    """A time of a lease for people, by the replica's clock."""
    if time == LEASE_EPOCH:
        return "never"
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _as_dict(claim: Receipt) -> dict[str, object]:
    answer: dict[str, object] = {"note": f"{_SERVED}.".capitalize(), "spill_id": claim.spill_id}
    answer |= {"size_bytes": claim.size, "sha256": claim.sha256.hex(), "walk": claim.walk}
    if claim.time != LEASE_EPOCH:
        answer["lease_renewed"] = claim.time
    return answer | {"signed": claim.signed, "verified": True}
