"""The operator's guide: it names every event, every verb and every setting of serving."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from spillcache.watch import Verb
from spillcache.wiring.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
SERVING = list(Settings.model_fields)[list(Settings.model_fields).index("client_budgets") :]


def _calls(*methods: str) -> Iterator[ast.Call]:
    for path in (ROOT / "spillcache").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods:
                yield node


def _events() -> set[str]:
    """What is logged, by the words of the calls."""
    levels = ("debug", "info", "warning", "error", "exception", "critical")
    loggers = (call for call in _calls(*levels) if ast.unparse(call.func).startswith(("_log.", "logging.")))
    return {str(ast.literal_eval(call.args[0])) for call in loggers}


def _places() -> set[str]:
    """What stands in place of a verb where no act was it."""
    failed = (call for call in _calls("failed") if "watcher" in ast.unparse(call.func))
    return {str(ast.literal_eval(call.args[0])) for call in failed if isinstance(call.args[0], ast.Constant)}


def _rows(heading: str) -> set[str]:
    """What the first columns of a section's tables name."""
    section = GUIDE.partition(f"## {heading}")[2].partition("\n## ")[0]
    return {name for row in re.findall(r"^\|([^|]*)\|", section, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}


def test_every_event_is_in_the_table_and_no_other() -> None:
    """`foreign` is what other libraries' warnings become."""
    assert _rows("Logs: what was this agent given?") == _events() | {"foreign"}


@pytest.mark.parametrize("verb", [*get_args(Verb), *sorted(_places())])
def test_every_verb_of_an_error_is_named(verb: str) -> None:
    """Those of acts, and what stands in their place."""
    (row,) = [line for line in GUIDE.splitlines() if line.startswith("| `spillcache_errors_total`")]
    assert f"`{verb}`" in row


@pytest.mark.parametrize("name", SERVING)
def test_every_setting_of_serving_is_in_the_table(name: str) -> None:
    """Those of the library are told elsewhere."""
    assert name.upper() in _rows("Settings of serving")
