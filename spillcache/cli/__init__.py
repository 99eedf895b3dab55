"""The command line, for people: one file for each command.

| exit code | meaning |
|---|---|
| 0 | COMPLETE, where a status is printed, and for `walk` that the SHA-256 agrees; else done |
| 1 | FAILED: a typed error (standard error; `--json`: standard output); for `doctor`: something must change; for \
`embedded status`: it does not run |
| 2 | usage: unknown command, option or file |
| 3 | PARTIAL: what was printed is not everything, as most pages and every list; a walk that began and did not \
complete, also by Ctrl-C |
| 4 | PARTIAL, and no match: `grep` found nothing in what it searched, which says nothing of other spellings |
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
