"""Commands that need an optional extra: what is missing is said with the command that installs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from spillcache.cli.failures import ExtraMissing


@contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Imports inside the block come with `extra`. Raises `ExtraMissing` when one is not there."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = error.name or "a package"
        if missing.partition(".")[0] == "spillcache":
            raise
    else:
        return
    raise ExtraMissing(
        f"this command needs {missing}, which is not installed",
        next_step=f"Run `pip install 'spillcache[{extra}]'` (in a checkout: '.[{extra}]') and try again.",
    )
