"""Ctrl-C while the program is still being loaded: nothing has begun, so it ends at once and says nothing."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import NoReturn

from spillcache.cli import exits


def quiet_until_begun() -> None:
    """Until `begun`, Ctrl-C ends the process. Where it is ignored (`nohup`, a background job), it stays so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def begun() -> None:
    """From now on there is something to undo: Ctrl-C is a `KeyboardInterrupt` again."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    # Not an exception: in the middle of an import, any `except` on the way might make another one of it.
    os._exit(exits.INTERRUPTED)
