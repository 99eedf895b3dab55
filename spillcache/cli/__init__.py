"""The command line, for people: one file for each command.

| exit code | meaning |
|---|---|
| 0 | done; for `walk`: COMPLETE, and the SHA-256 agrees |
| 1 | FAILED: a typed error (standard error; `--json`: standard output); for `doctor`: something must change |
| 2 | usage: unknown command, option or file |
| 3 | PARTIAL: a walk that began and did not complete, also by Ctrl-C; a `full` read that was not everything; `grep` \
that found something; `series` that knows none where there may be some |
| 4 | `grep` found nothing in what it searched, which says nothing of other spellings |
| 130 | interrupted (Ctrl-C), but for `walk` |
| 141 | whoever read the output stopped reading |
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import NoReturn

from spillcache.cli.interrupts import quiet_until_begun

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit; see the package's docstring for the codes.

    What takes time to load is loaded from here on, when Ctrl-C is already quiet.
    """
    quiet_until_begun()
    run = importlib.import_module("spillcache.cli.root").run
    run(arguments)
    raise AssertionError("run does not return")
