"""How the library's log records are rendered."""

from __future__ import annotations

import io
import json
import logging
import secrets
import warnings
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import structlog

from spillcache.wiring.logs import LOGGER, configure_logs, confine_foreign_logs


@pytest.fixture(autouse=True)
def logger() -> Iterator[logging.Logger]:
    """The library's logger, afterwards as it was before."""
    found = logging.getLogger(LOGGER)
    before = (found.handlers[:], found.level, found.propagate)
    yield found
    found.handlers[:], found.level, found.propagate = before


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """The root logger, afterwards as it was before."""
    found = logging.getLogger()
    before = (found.handlers[:], found.level)
    complains = logging.raiseExceptions
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        yield found
        logging.captureWarnings(False)
    logging.raiseExceptions = complains
    found.handlers[:], found.level = before


def test_json_keeps_the_extra_fields(logger: logging.Logger) -> None:
    """One object a line: event, level, time, logger, and whatever the record carried."""
    stream = io.StringIO()
    configure_logs("json", stream=stream)
    logger.warning("spill_refused", extra={"code": "store_full", "size": 3})
    line = json.loads(stream.getvalue())
    stamp = line.pop("timestamp")
    assert (datetime.fromisoformat(stamp).utcoffset(), len(stamp)) == (timedelta(0), len("2026-11-30T12:00:00.000000Z"))
    assert line == {
        "event": "spill_refused", "level": "warning", "logger": "spillcache", "code": "store_full", "size": 3,
    }  # fmt: skip


def test_auto_is_json_where_nobody_looks(logger: logging.Logger) -> None:
    """A stream that is not a terminal gets JSON."""
    stream = io.StringIO()
    configure_logs("auto", stream=stream)
    logger.info("ready")
    assert json.loads(stream.getvalue())["event"] == "ready"


def test_the_console_is_for_people(logger: logging.Logger) -> None:
    """Event and fields in a line, without colours where there is no terminal."""
    stream = io.StringIO()
    configure_logs("console", stream=stream)
    logger.warning("spill_refused", extra={"code": "store_full"})
    assert "spill_refused" in stream.getvalue()
    assert "code=store_full" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_a_traceback_shows_no_local_variables(logger: logging.Logger, log_format: str) -> None:
    """They hold payloads and keys."""
    stream = io.StringIO()
    configure_logs("json" if log_format == "json" else "console", stream=stream)
    payload = secrets.token_hex(8)
    try:
        raise ValueError(len(payload))
    except ValueError:
        logger.exception("failed")
    assert "ValueError" in stream.getvalue()
    assert payload not in stream.getvalue()


def test_configuring_again_replaces(logger: logging.Logger) -> None:
    """No record is rendered twice."""
    first, second = io.StringIO(), io.StringIO()
    configure_logs("json", stream=first)
    configure_logs("json", stream=second)
    logger.warning("once")
    assert (first.getvalue(), len(second.getvalue().splitlines())) == ("", 1)


def test_what_is_bound_to_the_request_is_on_every_line(logger: logging.Logger) -> None:
    """Request and trace ids come from the context, also on the library's own records."""
    stream = io.StringIO()
    configure_logs("json", stream=stream)
    with structlog.contextvars.bound_contextvars(request_id="r", trace_id="t"):
        logger.warning("spill_refused")
    line = json.loads(stream.getvalue())
    assert (line["request_id"], line["trace_id"]) == ("r", "t")


def test_other_libraries_words_stay_out(root: logging.Logger, logger: logging.Logger) -> None:
    """They may quote requests. Who said it, where, and the types and places of exceptions are kept."""
    stream = io.StringIO()
    confine_foreign_logs(configure_logs("json", stream=stream))
    secret = secrets.token_hex(8)
    try:
        raise ExceptionGroup(secret, [ValueError(secret), OSError(secret)])
    except ExceptionGroup:
        logging.getLogger("uvicorn.error").exception("of %s", secret)
    logging.getLogger("uvicorn.error").info("not even this")
    warnings.warn(secret, stacklevel=1)
    failed, warned = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert (failed["event"], failed["logger"], failed["type"]) == ("foreign", "uvicorn.error", "ExceptionGroup")
    assert [one["type"] for one in failed["inner"]] == ["ValueError", "OSError"]
    assert failed["raised"][0].startswith("test_logs.py:")
    assert warned["logger"] == "py.warnings"
    assert secret not in stream.getvalue()


def test_what_json_does_not_know_is_written_as_its_representation(logger: logging.Logger) -> None:
    """A line is never lost over a value."""
    stream = io.StringIO()
    configure_logs("json", stream=stream)
    logger.warning("odd", extra={"path": Path("a"), "table": {1: 2}})
    line = json.loads(stream.getvalue())
    assert line["table"] == {"1": 2}
    assert "a" in line["path"]
