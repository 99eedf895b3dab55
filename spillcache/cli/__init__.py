"""The command line, for people: one file for each command.

| exit code | meaning |
|---|---|
| 0 | done; for `walk`: COMPLETE, and the SHA-256 agrees |
| 1 | FAILED: a typed error (standard error; `--json`: standard output); for `doctor`: something must change |
| 2 | usage: unknown command, option or file |
| 3 | PARTIAL: a walk that began and did not complete |
| 130 | interrupted |
| 141 | whoever read the output stopped reading |
"""

from __future__ import annotations

from spillcache.cli.root import main

__all__ = ["main"]
