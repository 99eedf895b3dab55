"""How much of an answer each client takes: page size by the name of the agent's host.

A host that gets more than it takes does not say so: it shows a preview and keeps the rest, or cuts. So a page is made
for who reads it. A name is found where the client or its platform puts it: in the handshake, in a User-Agent, or in a
header of the endpoint; which of them goes first is the face's affair.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from spillcache import defaults
from spillcache.errors import ArgumentsInvalid

_EIGHT_KB: Final = 7_500  # VS Code and Copilot move what is above 8 KB into a file; Cursor does so at its discretion
_TEN_KIB: Final = 10_000  # Codex cuts at about 10 KiB, or 10,000 tokens
_TEN_K_TOKENS: Final = 19_000  # Claude Code warns at 10,000 tokens, caps at 25,000; metrics: 1.97 sent bytes a token

#: Bytes of a whole answer by client name, in lower case: names as handshakes send them, collected by the package
#: mcp-client-capabilities 0.0.12 (npm and PyPI), and the spellings of a product by which platforms call it.
_KNOWN: Final[Mapping[str, int]] = MappingProxyType(
    {
        "visual studio code": _EIGHT_KB,
        "visual-studio-code": _EIGHT_KB,
        "vscode": _EIGHT_KB,
        "github-copilot-developer": _EIGHT_KB,
        "github-copilot-cli": _EIGHT_KB,
        "copilot-cli": _EIGHT_KB,
        "jetbrains-iu-copilot-intellij": _EIGHT_KB,
        "jetbrains-jbc-copilot-intellij": _EIGHT_KB,
        "xcode-copilot-xcode": _EIGHT_KB,
        "cursor-vscode": _EIGHT_KB,
        "cursor": _EIGHT_KB,
        "codex-mcp-client": _TEN_KIB,
        "codex": _TEN_KIB,
        "claude-code": _TEN_K_TOKENS,
        "claude code": _TEN_K_TOKENS,
    }
)

#: Clients that keep to what a tool's entry says of its longest result, and that is not in tokens: a full read may take
#: as much there as the platform allows (Claude Code, "Raise the limit for a specific tool").
_TOLD_BY_THE_ENTRY: Final = frozenset({"claude-code", "claude code"})

#: The most characters that such an entry may name.
MOST_CHARACTERS: Final = 500_000

# What follows a name and is not part of it: a version ("claude-code/2.1"), a comment, an edition.
_AFTER_A_NAME = re.compile(r"[/ (]")


@dataclass(frozen=True, slots=True, eq=False)  # each is its own, so that what it knows of names can be remembered
class ClientLimits:
    """Budgets in bytes by client name, in lower case; `cap` is the most that any page may have."""

    budgets: Mapping[str, int]
    cap: int = defaults.MAX_PAGE_BYTES

    def budget_for(self, names: Iterable[str], default: int = defaults.BUDGET_BYTES) -> int:
        """The budget of the first of `names` that is known, else the default; never more than the cap."""
        known = _known(self, tuple(names))
        return min(default if known is None else self.budgets[known], self.cap)

    def full_for(self, names: Iterable[str]) -> int:
        """The most that the first of `names` that is known takes of a full read; the cap where nothing is known."""
        known = _known(self, tuple(names))
        if known is None:
            return self.cap
        return min(MOST_CHARACTERS if known in _TOLD_BY_THE_ENTRY else self.budgets[known], self.cap)

    def extended(self, budgets: Mapping[str, int], *, cap: int | None = None) -> ClientLimits:
        """These limits with others over them. Raises `ArgumentsInvalid` for a budget that no answer can have."""
        if min(budgets.values(), default=1) < 1:
            raise ArgumentsInvalid("a client's budget must be a positive number of bytes")
        lower = {name.strip().lower(): budget for name, budget in budgets.items()}
        return replace(self, budgets=MappingProxyType({**self.budgets, **lower}), cap=self.cap if cap is None else cap)


@lru_cache(maxsize=256)  # there are few hosts, and each makes every call under the same names
def _known(limits: ClientLimits, names: tuple[str, ...]) -> str | None:
    """The first of these names, or of what they begin with, that has a budget."""
    return next((begin for name in names for begin in _beginnings(name) if begin in limits.budgets), None)


def _beginnings(name: str) -> tuple[str, ...]:
    """A name in lower case, and what it may be without what follows it, the longest first."""
    lower = name.strip().lower()
    return (lower, *(lower[: found.start()] for found in reversed(list(_AFTER_A_NAME.finditer(lower)))))


#: What is known of hosts; settings extend it.
KNOWN_LIMITS: Final = ClientLimits(_KNOWN)
