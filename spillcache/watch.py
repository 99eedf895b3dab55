"""Watching: what a cache tells of what it does, for metrics, logs and traces. The core itself keeps none of them.

A `Watcher` listens to nothing; a subclass overrides what it wants to hear. Watchers get whole spill ids and must not
let them out (`spill_mark` is what may be written down), and must not raise. They are called on the event loop, so they
must not block either.
"""

from __future__ import annotations

import functools
import hashlib
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Literal

from spillcache.errors import SpillError

Verb = Literal["put", "page", "inventory", "grep", "full", "series", "stream", "stat", "delete"]


@dataclass(frozen=True, slots=True)
class Written:
    """A spill was stored. Sizes in bytes; `stored` is what the frames take in Redis."""

    spill_id: str
    tool: str
    kind: str
    size: int
    stored: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A result was not stored: what the agent got instead has no handle."""

    tool: str
    size: int
    code: str


@dataclass(frozen=True, slots=True)
class Served:
    """A page was served: bytes `start` to `end` of `size`. `tool` is the one whose result it is.

    `began` says that it is the first page of a walk, `status` what the page says, `result_status` what it says of one
    result. A walk of the whole payload is over when `status` is COMPLETE. `view` is what was shown of those bytes.
    """

    spill_id: str
    tool: str
    walk: int
    start: int
    end: int
    size: int
    status: str
    result_status: str | None
    began: bool
    view: str = "raw"


class Watcher:
    """Hears what a cache does, and does nothing about it."""

    def act(self, verb: Verb, spill_id: str = "") -> AbstractContextManager[object]:
        """Surrounds each act of a cache: its time, its trace span, and the error that ends it."""
        return _QUIET

    def spill_written(self, written: Written) -> None:
        """A spill was stored and published."""

    def spill_refused(self, refused: Refused) -> None:
        """A result could not be stored, and its tool's answer says so."""

    def page_served(self, served: Served) -> None:
        """A page was made and is about to be sent."""

    def lease_renewed(self, whole: bool) -> None:
        """A lease was renewed. Not `whole`: part of the spill was gone."""

    def redis_used(self, operation: str, waited_s: float, took_s: float) -> None:
        """An operation on Redis is over, well or not: how long it waited for a place, and how long it then took."""

    def failed(self, where: str, error: SpillError) -> None:
        """A face answered with an error that came before any act of the cache: bad arguments, no credentials."""


_QUIET: AbstractContextManager[object] = nullcontext()

#: Hears nothing: the default.
UNWATCHED = Watcher()


@functools.lru_cache(maxsize=1024)  # the pages of a walk are all of one spill
def spill_mark(spill_id: str) -> str:
    """What may stand in a log or trace for a spill id: 48 bits of its SHA-256, in hex. It opens nothing.

    Whoever has the id finds its lines with this; whoever has the lines does not find the id.
    """
    return hashlib.sha256(spill_id.encode()).hexdigest()[:12]
