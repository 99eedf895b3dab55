"""The phase a serving process is in, and whether it is wanted for new requests."""

from __future__ import annotations

from dataclasses import dataclass

from spillcache.errors import StoreUnavailable


class Leaving(StoreUnavailable):
    """The process ends before the answer is ready. Another replica may serve the same call."""

    def __init__(self) -> None:
        super().__init__("this server is ending, and the store did not let it finish what was asked for in time")


@dataclass(slots=True)
class Phase:
    """Begins serving; a signal makes it `draining`: it still answers, and tells everybody to go elsewhere."""

    draining: bool = False
