"""How much is measured: the whole, or a smoke of it."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Repeats of each measurement, calls in each of them, and sizes of payloads in bytes."""

    name: str
    repeats: int
    copies: int
    page_rounds: int
    write_rounds: int
    renew_rounds: int
    call_rounds: int
    large: int
    stored: int
    longest: int
    enlarged: int
    scanned: tuple[int, ...]


FULL = Scale(
    name="full",
    repeats=5,
    copies=64,
    page_rounds=2_000,
    write_rounds=60,
    renew_rounds=300,
    call_rounds=400,
    large=100 << 20,
    stored=64 << 20,
    longest=256 << 20,
    enlarged=4 << 20,
    scanned=(1 << 20, 5 << 20),
)

QUICK = Scale(
    name="quick",
    repeats=2,
    copies=16,
    page_rounds=150,
    write_rounds=8,
    renew_rounds=20,
    call_rounds=40,
    large=10 << 20,
    stored=4 << 20,
    longest=12 << 20,
    enlarged=1 << 20,
    scanned=(1 << 20,),
)


def say(text: str) -> None:
    """Progress, for whoever waits: on stderr, because stdout holds results."""
    print(text, file=sys.stderr, flush=True)


def mib(size: int) -> str:
    """A size as people read it."""
    return f"{size / 2**20:.0f} MiB" if size >= 1 << 20 else f"{size / 1000:.0f} KB"
