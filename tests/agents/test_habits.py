"""The incident, habit by habit: whoever is wrong was told so, beside the very thing that misled him."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from spillcache.demo import sample
from spillcache.demo.views import all_series
from spillcache.receipt import verify_receipt
from spillcache.tool.rendering import JSON_WIRE
from tests.agents.habits import (
    BAD_HABITS,
    Agent,
    Report,
    Task,
    calls_an_error_unavailable,
    edits_a_cursor,
    finds_the_peak_by_numbers,
    follows_the_playbook,
    follows_the_playbook_in_short,
    greps_first,
    reads_one_result_for_all,
    reads_the_preview,
    reads_the_table_of_contents,
    takes_a_cut_page_for_the_last,
    words,
)
from tests.agents.host import Host
from tests.mcp.serving import http_client, serving
from tests.servers.caches import KEYRING, cache_on

PAYLOAD = sample.payload()
SERIES = all_series(PAYLOAD)
CUT = 3_000  # characters that a cutting host shows

#: What says that a thing is not all of it.
HONEST = {"truncated", "PARTIAL", "FAILED"}


@pytest.fixture
def url(redis_url: str) -> Iterator[str]:
    """A server of the tool."""
    with serving(redis_url) as running:
        yield running


@asynccontextmanager
async def hosted(url: str, most: int | None = None) -> AsyncIterator[Host]:
    """A host that speaks to it with the official client, and shows its agent `most` characters of an answer."""
    async with http_client(url, "auto") as client:
        yield Host(client, most)


@pytest.fixture
async def task(redis_url: str) -> Task:
    """The batch of twelve queries, as it comes to an agent: in an envelope."""
    async with cache_on(redis_url) as cache:
        envelope = await cache.put(PAYLOAD, tool=sample.TOOL, wire=JSON_WIRE)
    return Task(envelope.as_dict(), SERIES)


def right(report: Report) -> int:
    """How many series a report is right about."""
    return sum(said.is_right(series) for said, series in zip(report.conclusions, SERIES, strict=True))


@pytest.mark.parametrize("agent", BAD_HABITS, ids=lambda agent: agent.__name__)
async def test_a_bad_habit_is_wrong_and_was_told_so_next_to_what_it_read(url: str, task: Task, agent: Agent) -> None:
    """Everything that it was shown says PARTIAL, FAILED or truncated, or was cut before it could; nothing, COMPLETE."""
    most = CUT if agent is takes_a_cut_page_for_the_last else None
    async with hosted(url, most) as host:
        report = await agent(host, task)
    assert right(report) < len(SERIES)
    assert words(host.seen)[0] == "truncated"
    assert all(one.says in HONEST or one.cut for one in host.seen)


async def test_whoever_reads_the_preview_was_told_in_words(url: str, task: Task) -> None:
    """And what to call, and how much there is."""
    async with hosted(url) as host:
        report = await reads_the_preview(host, task)
    (seen,) = host.seen
    assert right(report) == 0
    assert "the preview is not the data" in seen.text
    assert (task.envelope["size_bytes"], task.envelope["next"]["arguments"]) == (
        len(PAYLOAD),
        {"spill_id": task.spill_id},
    )


async def test_whoever_greps_for_labels_is_told_that_no_value_was_shown(url: str, task: Task) -> None:
    """The incident itself: all matches are labels. The note says so, and gives a way to the values."""
    async with hosted(url) as host:
        report = await greps_first(host, task)
    answer = host.seen[-1].answer
    assert answer is not None
    said = [one.text for one in report.conclusions]
    assert set(said) == {"Unavailable", "no data"}
    assert said.count("Unavailable") == answer["shown"]
    assert (answer["status"], answer["shown"] < answer["matches_total"]) == ("PARTIAL", True)
    assert {match["in"] for match in answer["matches"]} == {"label"}
    assert "no value was matched" in answer["note"]
    first = answer["read_next"][0]
    async with hosted(url) as host:
        page = (await host.call(spill_id=task.spill_id, cursor=first["cursor"])).answer
    assert page is not None
    assert '"values":[[' in page["chunk"]


async def test_whoever_takes_names_for_a_reading_was_told_what_they_are(url: str, task: Task) -> None:
    """All series are said to be Unavailable, beside the words that names are not the data."""
    async with hosted(url) as host:
        report = await reads_the_table_of_contents(host, task)
    answer = host.seen[-1].answer
    assert answer is not None
    assert {said.text for said in report.conclusions} == {"Unavailable"}
    assert (answer["status"], answer["inventory_status"]) == ("PARTIAL", "COMPLETE")
    assert "not the data" in answer["note"]


async def test_an_edited_cursor_is_a_failed_retrieval_and_never_an_empty_page(url: str, task: Task) -> None:
    """With a code, and what to do."""
    async with hosted(url) as host:
        await edits_a_cursor(host, task)
    answer = host.seen[-1].answer
    assert answer is not None
    assert (answer["status"], answer["code"]) == ("FAILED", "cursor_rejected")
    assert answer["next_step"]


async def test_an_error_says_that_it_is_not_empty_data(url: str, task: Task) -> None:
    """So that nobody need conclude it."""
    async with hosted(url) as host:
        report = await calls_an_error_unavailable(host, task)
    assert {said.text for said in report.conclusions} == {"Unavailable"}
    assert words(host.seen) == ["truncated", "FAILED"]
    assert host.seen[-1].answer is not None
    assert host.seen[-1].answer["code"] == "spill_id_malformed"
    assert "not empty data" in host.seen[-1].answer["next_step"]


async def test_a_cut_page_has_shown_how_far_it_goes_and_lacks_its_end(url: str, task: Task) -> None:
    """Its first field says that the payload is longer; the words that end a page are the ones that are missing."""
    async with hosted(url, CUT) as host:
        await takes_a_cut_page_for_the_last(host, task)
    cut = host.seen[-1]
    assert cut.text.startswith('{"position":"0-')
    assert f"/{len(PAYLOAD)} " in cut.text[:60]
    assert '"status"' not in cut.text
    assert '"next_cursor"' not in cut.text


async def test_the_end_of_one_result_does_not_say_that_all_was_read(url: str, task: Task) -> None:
    """It is right about that result's series and about no other."""
    async with hosted(url) as host:
        report = await reads_one_result_for_all(host, task)
    last = host.seen[-1].answer
    assert last is not None
    assert (last["status"], last["result_status"]) == ("PARTIAL", "COMPLETE")
    assert right(report) == sum(series.query == SERIES[0].query for series in SERIES)


async def test_the_compact_view_ends_complete_with_every_series_values(url: str, task: Task) -> None:
    """In fewer pages; what they say is the values that a JSON parser reads from the payload."""
    async with hosted(url) as host:
        report = await follows_the_playbook_in_short(host, task)
    last = host.seen[-1].answer
    assert last is not None
    assert json.loads(report.fragments[0].data) == json.loads(PAYLOAD)
    assert (last["status"], last["view"]) == ("COMPLETE", "compact")
    assert right(report) == len(SERIES)
    assert len(host.seen) - 1 < task.envelope["pages"] / 2


async def test_the_series_that_matters_is_found_by_numbers_and_then_read(url: str, task: Task) -> None:
    """All are listed, and one is read: it has the greatest value that a JSON parser finds in the payload."""
    async with hosted(url) as host:
        report = await finds_the_peak_by_numbers(host, task)
    assert "COMPLETE" not in words(host.seen)
    (fragment,) = report.fragments
    assert PAYLOAD[fragment.start :].startswith(fragment.data)
    read = json.loads(fragment.data)["values"]
    assert max(float(value) for _, value in read) == max(values_of(json.loads(PAYLOAD)))
    (known,) = [number for number, said in enumerate(report.conclusions) if said.last is not None]
    assert report.conclusions[known].is_right(SERIES[known])
    asked = [one.answer or {} for one in host.seen[1:]]
    assert ["chunk" in answer for answer in asked] == [False] * (len(asked) - 1) + [True]
    assert len(asked) * 8 < task.envelope["pages"]


def values_of(document: Any) -> Iterator[float]:
    """Every value of every series, wherever it is in a document."""
    if isinstance(document, dict):
        for name, inner in document.items():
            samples = inner if name == "values" else [inner] if name == "value" else None
            yield from (float(value) for _, value in samples) if samples is not None else values_of(inner)
    elif isinstance(document, list):
        for inner in document:
            yield from values_of(inner)


@pytest.mark.parametrize("most", [None, CUT], ids=["a host that shows all", "a host that cuts"])
async def test_the_playbook_ends_complete_with_every_series_values(url: str, task: Task, most: int | None) -> None:
    """Equal to what a JSON parser reads, with a receipt that holds; also where each page was cut at first."""
    async with hosted(url, most) as host:
        report = await follows_the_playbook(host, task)
    last = host.seen[-1].answer
    assert last is not None
    (fragment,) = report.fragments
    assert json.loads(fragment.data) == json.loads(PAYLOAD)
    assert right(report) == len(SERIES)
    assert words(host.seen).count("COMPLETE") == 1
    assert last["status"] == "COMPLETE"
    assert verify_receipt(last["receipt"], KEYRING, tenant="default").size == len(PAYLOAD)
