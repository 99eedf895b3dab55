"""The phase a serving process is in, and whether it is wanted for new requests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Phase:
    """Begins serving; a signal makes it `draining`: it still answers, and tells everybody to go elsewhere."""

    draining: bool = False
