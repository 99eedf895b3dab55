"""Page size by client."""

from __future__ import annotations

import pytest

from spillcache import defaults
from spillcache.errors import ArgumentsInvalid
from spillcache.tool.clients import KNOWN_LIMITS


@pytest.mark.parametrize(
    ("names", "budget"),
    [
        (["claude-code"], 19_000),
        (["claude-code/2.1.208 (cli)"], 19_000),
        (["Claude Code"], 19_000),
        (["codex-mcp-client"], 10_000),
        (["codex-mcp-client/0.157.0"], 10_000),
        (["Visual Studio Code"], 7_500),
        (["Visual Studio Code - Insiders"], 7_500),
        (["github-copilot-developer"], 7_500),
        (["cursor-vscode (via mcp-remote 0.1.37)"], 7_500),
        ([" CLAUDE-CODE "], 19_000),
        (["claude-code-imitation"], 5_000),
        (["somebody"], 5_000),
        ([""], 5_000),
        ([], 5_000),
    ],
)
def test_a_client_is_known_by_its_name_in_any_spelling(names: list[str], budget: int) -> None:
    """With a version, a comment or an edition behind it, but not by a part of another name."""
    assert KNOWN_LIMITS.budget_for(names, 5_000) == budget


def test_the_first_name_that_is_known_counts() -> None:
    """A library's name in front does not hide the agent's behind it."""
    assert KNOWN_LIMITS.budget_for(["mcp", "python-httpx/1.0", "codex"], 5_000) == 10_000
    assert KNOWN_LIMITS.budget_for(["codex", "claude-code"], 5_000) == 10_000


def test_settings_extend_and_override() -> None:
    """In any spelling; the rest of the table stays."""
    limits = KNOWN_LIMITS.extended({"My-Agent": 30_000, "Claude-Code": 9_000})
    assert limits.budget_for(["my-agent/3"]) == 30_000
    assert limits.budget_for(["claude-code"]) == 9_000
    assert limits.budget_for(["codex"]) == 10_000
    assert KNOWN_LIMITS.budget_for(["claude-code"]) == 19_000


def test_nobody_gets_more_than_the_cap() -> None:
    """Neither by the table, nor by settings, nor by default."""
    limits = KNOWN_LIMITS.extended({"my-agent": 10**9}, cap=15_000)
    assert limits.budget_for(["my-agent"]) == limits.budget_for(["claude-code"]) == 15_000
    assert limits.budget_for(["somebody"], 10**9) == 15_000
    assert KNOWN_LIMITS.budget_for([], 10**9) == defaults.MAX_PAGE_BYTES


def test_a_budget_that_no_answer_can_have_is_refused() -> None:
    """At start, where an operator reads it."""
    with pytest.raises(ArgumentsInvalid):
        KNOWN_LIMITS.extended({"my-agent": 0})
