"""Logs: how records of the standard library's logger `spillcache` are rendered, on standard error.

The library itself only says `logging.getLogger("spillcache")` and passes what it knows as `extra`. Here, at the edge,
structlog turns that into JSON lines for machines or coloured ones for people; extra fields are kept as they are, and
what is bound in `structlog.contextvars` (request and trace id) is added.

Other libraries' records may quote requests, and so ids, tokens and payload. A server that renders them too keeps of
each only who said it, and the types and places of its exception.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import PurePath
from typing import Any, TextIO

import orjson
import structlog
from structlog.typing import EventDict, Processor

from spillcache.wiring.settings import LogFormat
from spillcache.wiring.tracing import add_trace_id

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


def confine_foreign_logs(handler: logging.Handler) -> None:
    """Send the warnings of all other libraries through our handler, without their words: for a process of our own."""
    confined = _Confined(handler)
    root = logging.getLogger()
    root.handlers[:] = [confined]
    root.setLevel(logging.WARNING)
    logging.captureWarnings(True)
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False  # no line shows them, and pages log
    logging.raiseExceptions = False  # a record that cannot be written would be printed with all that it holds


class _Confined(logging.Handler):
    """Keeps of a record its logger, level and place, and of its exception the types and where they were raised."""

    def __init__(self, handler: logging.Handler) -> None:
        super().__init__(logging.WARNING)
        self._handler = handler

    def emit(self, record: logging.LogRecord) -> None:
        said: dict[str, Any] = {"place": f"{record.module}:{record.lineno}"}
        if record.exc_info and record.exc_info[1] is not None:
            said |= shape_of(record.exc_info[1])
        kept = logging.LogRecord(record.name, record.levelno, record.pathname, record.lineno, "foreign", (), None)
        kept.__dict__.update(said)
        self._handler.handle(kept)


def shape_of(error: BaseException) -> dict[str, Any]:
    """Types and raising lines of an exception, of those in a group too; no text of it."""
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    raised = [f"{PurePath(frame.filename).name}:{frame.lineno}" for frame in frames]
    return {
        "type": type(error).__name__,
        "raised": raised,
        **({"inner": [shape_of(one) for one in inner[:4]]} if inner else {}),
    }


def _for_people(*, colors: bool) -> logging.Formatter:
    # The plain traceback: the pretty one shows local variables, and those hold payloads and keys.
    plain = structlog.dev.plain_traceback
    renderer = structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=plain)
    return _Lines(lambda time: datetime.fromtimestamp(time).astimezone().strftime("%H:%M:%S"), renderer)


def _for_machines() -> logging.Formatter:
    return _Lines(_iso, structlog.processors.format_exc_info, structlog.processors.JSONRenderer(_dumps))


def _iso(time: float) -> str:
    """Unix seconds as UTC, to the microsecond."""
    second, micros = divmod(round(time * 1_000_000), 1_000_000)
    return f"{_spelled_second(second)}.{micros:06d}Z"


@lru_cache(maxsize=2)  # a server writes hundreds of lines a second
def _spelled_second(time: int) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _dumps(event: EventDict, **options: Any) -> str:
    return orjson.dumps(event, default=repr, option=orjson.OPT_NON_STR_KEYS).decode()


class _Lines(logging.Formatter):
    """A record as an event that structlog's processors finish.

    Their own `ProcessorFormatter` does the same and copies each record twice on the way, which makes a line cost half
    as much again; there is one for every page.
    """

    def __init__(self, clock: Callable[[float], str], *last: Processor) -> None:
        super().__init__()
        self._clock = clock  # how the time of a record is spelled
        self._processors: list[Processor] = [structlog.contextvars.merge_contextvars, add_trace_id, *last]

    def format(self, record: logging.LogRecord) -> str:
        level = record.levelname.lower()
        event: Any = {"event": record.getMessage(), "level": level, "logger": record.name}
        event["timestamp"] = self._clock(record.created)
        event |= {name: value for name, value in record.__dict__.items() if name not in _OF_EVERY_RECORD}
        if record.exc_info:
            event["exc_info"] = record.exc_info
        for process in self._processors:
            event = process(None, level, event)
        return str(event)


_OF_EVERY_RECORD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime"}
