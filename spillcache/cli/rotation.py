"""Rotation of keys in its order: add everywhere, promote, wait the maximum age of a spill, remove.

A key that signs before every replica knows it would make cursors that some replicas reject; a key that is removed while
spills of its time can still be read would do the same. The removal refuses to come too early, as far as a ring's file
can tell; whether every replica has the added key, no file can.

Receipt keys take the same steps. Their removal takes away what signs and leaves what verifies, so it need not wait.
"""

from __future__ import annotations

import secrets as randomness
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from spillcache.cli.replacing import replace_private
from spillcache.errors import ArgumentsInvalid, KeyringInvalid
from spillcache.keyring import MIN_KEY_BYTES, Keyring, hkdf_sha256

STEPS = ("add", "promote", "remove")

_FINGERPRINT_CHARACTERS = 12


@dataclass(frozen=True, slots=True)
class State:
    """A ring: its keys in order, the oldest first; the one that signs, if any; and for how many seconds it was so.

    `retired` are ids that no new key may have, because something of theirs still verifies.
    """

    secrets: Mapping[str, bytes]
    sign: str | None
    age_s: float
    retired: Collection[str] = ()


def next_step(state: State) -> str:
    """What comes next: a ring of one key gets another, a newest key that does not sign is promoted, old ones go."""
    if not state.secrets or list(state.secrets) == [state.sign]:
        return "add"
    return "remove" if state.sign == _newest(state) else "promote"


def take(step: str, state: State, kid: str | None, *, max_age_s: float) -> State:
    """The ring after a step, or `ArgumentsInvalid` when the step would break cursors that are in use."""
    if step == "add":
        return _added(state, kid)
    if step == "promote":
        return _promoted(state, kid)
    return _removed(state, kid, max_age_s)


def changed(step: str, before: State, after: State) -> list[str]:
    """The ids of the keys that a step added, promoted or removed."""
    if step == "promote":
        return [after.sign] if after.sign is not None else []
    more, fewer = (after, before) if step == "add" else (before, after)
    return [kid for kid in more.secrets if kid not in fewer.secrets]


def fresh_key(taken: Collection[str]) -> tuple[str, bytes]:
    """A new key and an id for it: today's date, with a number when that is taken."""
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    names = (today, *(f"{today}-{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken), randomness.token_bytes(MIN_KEY_BYTES)


def fingerprint(secret: bytes) -> str:
    """Twelve characters that are equal where secrets are, and say nothing else of them."""
    return hkdf_sha256(secret, b"spillcache/1/fingerprint").hex()[:_FINGERPRINT_CHARACTERS]


def age_s(file: Path) -> float:
    """Seconds since the ring's file was last written."""
    return max(0.0, time.time() - file.stat().st_mtime)


def replace_ring(file: Path, text: str) -> None:
    """Put a new ring in the place of the old, at once and with the old one's mode. Raises `KeyringInvalid`."""
    Keyring.from_json(text)
    try:
        replace_private(file, text)
    except OSError as error:
        raise KeyringInvalid(
            f"the key ring file {file} cannot be written ({error.strerror or type(error).__name__}); it is as it was",
            next_step="Make its directory writable for you, or rotate where it is.",
        ) from None


def _added(state: State, kid: str | None) -> State:
    taken = {*state.secrets, *state.retired}
    name, secret = fresh_key(taken)
    name = kid if kid is not None else name
    if name in taken:
        raise ArgumentsInvalid(f"the ring already has a key {name!r}")
    return State({**state.secrets, name: secret}, state.sign, 0)


def _promoted(state: State, kid: str | None) -> State:
    if not state.secrets:
        raise ArgumentsInvalid("there is no key to promote; add one first")
    name = kid if kid is not None else _newest(state)
    if name not in state.secrets:
        raise ArgumentsInvalid(f"the ring has no key {name!r}")
    if name == state.sign:
        raise ArgumentsInvalid(f"key {name!r} signs already; add one first")
    return State(state.secrets, name, 0)


def _removed(state: State, kid: str | None, max_age_s: float) -> State:
    gone = {kid} if kid is not None else set(state.secrets) - {state.sign}
    if kid is not None and kid not in state.secrets:
        raise ArgumentsInvalid(f"the ring has no key {kid!r}")
    if state.sign is None:
        raise ArgumentsInvalid("no key of these signs yet; promote one first")
    if state.sign in gone:
        raise ArgumentsInvalid(f"key {state.sign!r} signs; promote another one first")
    if not gone:
        raise ArgumentsInvalid("the ring has only the key that signs")
    if state.age_s < max_age_s:
        raise ArgumentsInvalid(
            f"the ring was changed {state.age_s:.0f} s ago; cursors of the old keys may be in use until "
            f"{max_age_s:.0f} s have passed",
            next_step="Wait, or use --force if no spill of the old keys is needed any more.",
        )
    return State({name: secret for name, secret in state.secrets.items() if name not in gone}, state.sign, 0)


def _newest(state: State) -> str:
    return list(state.secrets)[-1]
