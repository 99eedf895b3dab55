"""Logs: how records of the standard library's logger `spillcache` are rendered, on standard error.

The library itself only says `logging.getLogger("spillcache")` and passes what it knows as `extra`. Here, at the edge,
structlog turns that into JSON lines for machines or coloured ones for people; extra fields are kept as they are.
"""

from __future__ import annotations

import logging
import sys
from typing import TextIO

import structlog
from structlog.typing import Processor

from spillcache.wiring.settings import LogFormat

LOGGER = "spillcache"


def configure_logs(
    log_format: LogFormat = "auto", *, level: int = logging.INFO, stream: TextIO | None = None
) -> logging.Handler:
    """Render the library's records at `level` and above to `stream` (standard error), and return the handler.

    Calling it again replaces what an earlier call has set. The root logger and those of other libraries stay untouched.
    """
    target = stream if stream is not None else sys.stderr
    handler = logging.StreamHandler(target)
    handler.set_name(LOGGER)
    for_people = log_format == "console" or (log_format == "auto" and target.isatty())
    handler.setFormatter(_for_people(colors=target.isatty()) if for_people else _for_machines())
    logger = logging.getLogger(LOGGER)
    for earlier in [found for found in logger.handlers if found.get_name() == LOGGER]:
        logger.removeHandler(earlier)
    logger.addHandler(handler)
    logger.setLevel(level)
    logger.propagate = False
    return handler


def _for_people(*, colors: bool) -> logging.Formatter:
    # The plain traceback: the pretty one shows local variables, and those hold payloads and keys.
    plain = structlog.dev.plain_traceback
    renderer = structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=plain)
    return _formatter(structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False), [renderer])


def _for_machines() -> logging.Formatter:
    renderers: list[Processor] = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    return _formatter(structlog.processors.TimeStamper(fmt="iso", utc=True), renderers)


def _formatter(stamp: Processor, renderers: list[Processor]) -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.stdlib.ExtraAdder(),
            stamp,
        ],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
    )
