"""Events: one line for each act, from which an incident is reconstructed."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any, get_args

import pytest

from spillcache.errors import ArgumentsInvalid, SpillNotFound, StoreFull, Unauthorized
from spillcache.ids import new_id
from spillcache.watch import Served, Verb, Written, spill_mark
from spillcache.wiring.events import Events
from tests.servers.caches import cache_on

ID = new_id(bytes(range(15)))
STANDARD = set(logging.LogRecord("", 0, "", 0, "", (), None).__dict__) | {"message", "asctime"}


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """What is logged, from INFO on."""
    caplog.set_level("INFO", logger="spillcache")
    return caplog


def said(log: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """The events so far, with what is said of each."""
    return [
        {"event": record.message} | {name: value for name, value in record.__dict__.items() if name not in STANDARD}
        for record in log.records
    ]


def fail(verb: Verb, error: Exception, spill_id: str = "") -> None:
    """Let an act end with an error."""
    with suppress(type(error)), Events().act(verb, spill_id):
        raise error


def test_a_spill_is_said_with_its_mark(log: pytest.LogCaptureFixture) -> None:
    """Its id is not."""
    Events().spill_written(Written(ID, "batch", "json", 20_000, 9_000))
    assert said(log) == [
        {
            "event": "spill_written",
            "spill": spill_mark(ID),
            "tool": "batch",
            "kind": "json",
            "size": 20_000,
            "stored": 9_000,
        }
    ]


def test_a_page_says_what_the_agent_was_given(log: pytest.LogCaptureFixture) -> None:
    """From where to where of how much, and what the page said of itself."""
    Events().page_served(Served(ID, "batch", 7, 0, 10, 100, "PARTIAL", None, True))
    walk = {"spill": spill_mark(ID), "tool": "batch", "walk": 7}
    assert said(log) == [{"event": "page_served", **walk, "from": 0, "to": 10, "size": 100, "status": "PARTIAL"}]


def test_a_page_of_another_view_says_so(log: pytest.LogCaptureFixture) -> None:
    """What an agent was shown of those bytes differs, though nothing is left out."""
    Events().page_served(Served(ID, "batch", 7, 0, 10, 100, "PARTIAL", None, True, "compact"))
    assert said(log)[0]["view"] == "compact"


@pytest.mark.parametrize(
    ("status", "result_status", "of"), [("COMPLETE", None, "payload"), ("PARTIAL", "COMPLETE", "result")]
)
def test_the_end_of_a_walk_is_an_event(
    log: pytest.LogCaptureFixture, status: str, result_status: str | None, of: str
) -> None:
    """Of the whole payload, or of one result."""
    Events().page_served(Served(ID, "", 7, 90, 100, 100, status, result_status, False))
    page, walk = said(log)
    assert (page["event"], page.get("result_status")) == ("page_served", result_status)
    assert walk == {"event": "walk_completed", "spill": spill_mark(ID), "walk": 7, "size": 100, "of": of}


@pytest.mark.parametrize("given", [ID, ID.upper(), f" {ID}\n"])
def test_an_error_names_the_spill_however_its_id_was_written(log: pytest.LogCaptureFixture, given: str) -> None:
    """With verb and code, as a warning."""
    fail("page", SpillNotFound("x"), given)
    error = {"verb": "page", "code": "spill_not_found", "retryable": False, "spill": spill_mark(ID)}
    assert said(log) == [{"event": "error", **error}]
    assert log.records[0].levelname == "WARNING"


@pytest.mark.parametrize("verb", [verb for verb in get_args(Verb) if verb not in ("put", "page")])
def test_what_is_no_page_is_said_as_well(log: pytest.LogCaptureFixture, verb: Verb) -> None:
    """An agent that only searched, or a program that took everything, must not look like one that took nothing."""
    with Events().act(verb, ID.upper()):
        assert said(log) == []
    assert said(log) == [{"event": "answered", "verb": verb, "spill": spill_mark(ID)}]


def test_a_bug_is_an_error_without_its_words(log: pytest.LogCaptureFixture) -> None:
    """Its type is all that is said."""
    fail("page", ValueError("a payload's words"))
    assert said(log) == [{"event": "error", "verb": "page", "code": "internal", "type": "ValueError"}]


def test_what_a_face_refuses_is_an_error(log: pytest.LogCaptureFixture) -> None:
    """Where it was refused stands in place of the verb."""
    Events().failed("edge", Unauthorized("x"))
    assert said(log) == [{"event": "error", "verb": "edge", "code": "unauthorized", "retryable": False}]


def test_a_refused_result_is_said_once_by_the_core(log: pytest.LogCaptureFixture) -> None:
    """The error behind it is not said a second time; a caller's own mistake is."""
    fail("put", StoreFull("x"))
    assert said(log) == []
    fail("put", ArgumentsInvalid("x"))
    assert [event["event"] for event in said(log)] == ["error"]


async def test_an_unreachable_store_makes_one_event_of_an_offer(log: pytest.LogCaptureFixture) -> None:
    """`spill_refused`, with tool, size and code."""
    cache = cache_on("redis://127.0.0.1:1", watcher=Events())
    await cache.offer("x" * 100_000, tool="logs")
    await cache.aclose()
    assert said(log) == [{"event": "spill_refused", "code": "store_unavailable", "tool": "logs", "size": 100_000}]
