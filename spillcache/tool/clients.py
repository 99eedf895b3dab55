"""How much of an answer each client takes: page size by the name of the agent's host.

A host that gets more than it takes does not say so: it shows a preview and keeps the rest, or cuts. So a page is made
for who reads it. A name is found where the client or its platform puts it: in the handshake, in a User-Agent, or in a
header of the endpoint; which of them goes first is the face's affair.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from spillcache import defaults

#: Bytes of a whole answer, by lower-case client name.
_KNOWN: Final = MappingProxyType(
    {
        "visual studio code": 7_500,
        "github-copilot-developer": 7_500,
        "copilot-cli": 7_500,
        "codex-mcp-client": 10_000,
        "claude-code": 20_000,
        "cursor-vscode": 7_500,
    }
)

# What follows a name and is not part of it: a version ("claude-code/2.1"), a comment, an edition.
_AFTER_A_NAME = re.compile(r"[/ (]")


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """Budgets in bytes by client name, in lower case; `cap` is the most that any page may have."""

    budgets: Mapping[str, int]
    cap: int = defaults.MAX_PAGE_BYTES

    def budget_for(self, names: Iterable[str], default: int = defaults.BUDGET_BYTES) -> int:
        """The budget of the first of `names` that is known, else the default; never more than the cap."""
        known = (self._known(name.strip().lower()) for name in names)
        return min(next((budget for budget in known if budget is not None), default), self.cap)

    def extended(self, budgets: Mapping[str, int], *, cap: int | None = None) -> ClientLimits:
        """These limits with others over them."""
        lower = {name.strip().lower(): budget for name, budget in budgets.items()}
        return replace(self, budgets=MappingProxyType({**self.budgets, **lower}), cap=self.cap if cap is None else cap)

    def _known(self, name: str) -> int | None:
        """Of a name or of what it begins with, the longest first."""
        ends = [len(name), *(found.start() for found in _AFTER_A_NAME.finditer(name))]
        return next(
            (self.budgets[name[:end]] for end in sorted(ends, reverse=True) if name[:end] in self.budgets), None
        )


#: What is known of hosts; settings extend it.
KNOWN_LIMITS: Final = ClientLimits(_KNOWN)
