"""What can go wrong with a command that is nobody's fault in the library: its output, and whoever runs it."""

from __future__ import annotations

from spillcache.errors import SpillError


class OutputFailed(SpillError):
    """What was asked for cannot be written to where it should go: a full disk, a file that may not be made."""

    code = "output_failed"
    default_next_step = "Make room, or send the output elsewhere, and run it again."


class StandardOutputFailed(OutputFailed):
    """It is standard output that takes nothing, so not even the error can be printed there."""


class Interrupted(SpillError):
    """Ctrl-C in the middle of something of which the outcome must be said."""

    code = "interrupted"
    default_next_step = "Run it again."


class ExtraMissing(SpillError):
    """A command needs packages that come with an optional extra, and they are not installed."""

    code = "extra_missing"


class OutputClosed(Exception):
    """Whoever read standard output stopped reading. No error: it ends us quietly.

    Not a `BrokenPipeError`, which libraries on the way take for themselves.
    """
