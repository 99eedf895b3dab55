"""What every route needs: the cache, and the sizes that this deployment allows."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request

from spillcache import SpillCache


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How spills are served. Sizes in bytes.

    `budget` is the size of an answer when the client names none, `full_bytes` that of a full read, `max_page_bytes`
    the cap whatever it names.
    """

    cache: SpillCache
    budget: int
    full_bytes: int
    max_page_bytes: int

    def budget_for(self, asked: int | None) -> int:
        """The budget of an answer for which the client asked so many bytes, or did not say."""
        return min(self.budget if asked is None else asked, self.max_page_bytes)

    def cap_for(self, asked: int | None) -> int:
        """The size of a full read for which the client asked so many bytes, or did not say."""
        return min(self.full_bytes if asked is None else asked, self.full_bytes, self.max_page_bytes)


def serving_of(request: Request) -> Serving:
    """What the app was made with."""
    found: Serving = request.app.state.serving
    return found
