"""The answers as the OpenAPI document describes them. What is sent is made by the pages, listings and envelopes."""

from __future__ import annotations

from typing import (
    Any,
    Literal,
    NotRequired,  # pydantic refuses the standard library's before Python 3.12
)

import orjson
from fastapi import Response
from typing_extensions import TypedDict

Kind = Literal["json", "ndjson", "csv", "text", "bytes"]


class Caveats(TypedDict):
    """What an inventory says of its limits."""

    partial: NotRequired[list[str]]
    strict_json: NotRequired[Literal[False]]
    duplicate_keys: NotRequired[int]


class InventorySummary(Caveats):
    """The named results in short."""

    results: NotRequired[int]
    result_names: NotRequired[list[str]]
    names_omitted: NotRequired[int]


class NextArguments(TypedDict):
    """Arguments of the reading tool."""

    spill_id: str


class NextCall(TypedDict):
    """The call with which an agent begins to read."""

    tool: str
    arguments: NextArguments


class EnvelopeAnswer(TypedDict):
    """What a tool returns in place of a result that was stored. The previews are not the data."""

    completeness: Literal["truncated"]
    spill_id: str
    hint: str
    next: NextCall
    size_bytes: int
    pages: int
    tokens_estimate: int
    kind: Kind
    inventory: NotRequired[InventorySummary]
    expires_in_s: int
    preview: NotRequired[str]
    preview_tail: NotRequired[str]


class StatAnswer(TypedDict):
    """What is known of a spill. Times in seconds; `created` is Unix time, `lease_left_s` what is promised at least."""

    spill_id: str
    size_bytes: int
    kind: Kind
    sha256: str
    created: float
    ttl_s: float
    max_age_s: float
    lease_left_s: float
    tool: NotRequired[str]
    results: NotRequired[int]


class PageAnswer(TypedDict):
    """One page. `next_cursor` is absent on the last one; COMPLETE says that the walk has served every byte."""

    position: str
    inventory: NotRequired[InventorySummary]
    view: NotRequired[Literal["compact"]]
    legend: NotRequired[str]
    inside: NotRequired[dict[str, Any]]
    chunk_kind: Literal["json", "json_part", "ndjson", "csv", "text", "base64", "compact"]
    chunk: str
    status: Literal["COMPLETE", "PARTIAL"]
    result_status: NotRequired[Literal["COMPLETE"]]
    unread: NotRequired[list[list[int]]]
    next_cursor: NotRequired[str]
    receipt: NotRequired[str]
    range_receipt: NotRequired[str]


class EntryAnswer(TypedDict):
    """One named result. `pages` is an estimate."""

    index: int
    name: str
    path: str
    bytes: int
    pages: int
    type: str
    series: NotRequired[int]
    points: NotRequired[int]
    approximate: NotRequired[Literal[True]]


class ListingAnswer(Caveats):
    """A page of the inventory: a table of contents, never the data. `status` speaks of the data."""

    note: str
    kind: Kind
    size_bytes: int
    results: NotRequired[int]
    path: str
    entries: list[EntryAnswer]
    status: Literal["PARTIAL"]
    inventory_status: Literal["COMPLETE", "PARTIAL"]
    next_cursor: NotRequired[str]


#: With a key that is a word of Python's: `in` is what was matched.
MatchAnswer = TypedDict(
    "MatchAnswer",
    {
        "bytes": str,
        "path": NotRequired[str],
        "line": NotRequired[int],
        "in": Literal["key", "label", "value", "text"],
        "text": str,
        "cut": NotRequired[Literal[True]],
        "cursor": str,
    },
)


class NextAnswer(TypedDict):
    """A result of which only names were matched, and the cursor of its first page."""

    result: int
    name: str
    cursor: str


class MatchesAnswer(TypedDict):
    """Some of the matches of a pattern, and how many there are. `status` speaks of the data, which this is not."""

    status: Literal["PARTIAL"]
    matches_total: int
    search_incomplete: NotRequired[Literal[True]]
    shown: int
    searched: int
    note: str
    matches: list[MatchAnswer]
    read_next: NotRequired[list[NextAnswer]]


class SeriesEntryAnswer(TypedDict):
    """One time series. Times and values are spelled as in the payload; what does not apply is absent."""

    index: int
    result: NotRequired[int]
    labels: NotRequired[str]
    labels_omitted: NotRequired[Literal[True]]
    labels_cut: NotRequired[Literal[True]]
    count: int
    start: NotRequired[str]
    end: NotRequired[str]
    min: NotRequired[str]
    max: NotRequired[str]
    last: NotRequired[str]
    nan: NotRequired[int]
    bytes: str
    cursor: str


class SeriesAnswer(TypedDict):
    """Time series in numbers, derived from the data when it was stored: a table of contents, never the data."""

    note: str
    size_bytes: int
    series: NotRequired[int]
    partial: NotRequired[list[str]]
    entries: list[SeriesEntryAnswer]
    status: Literal["PARTIAL"]
    series_status: Literal["COMPLETE", "PARTIAL"]
    next_cursor: NotRequired[str]


class ProblemAnswer(TypedDict):
    """A problem document. `code` is stable; `next_step` says what to do now; a failed retrieval is not empty data."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    message: str
    nearest: NotRequired[list[str]]
    next_step: str
    retryable: bool
    completeness: NotRequired[Literal["failed"]]
    request_id: NotRequired[str]


def answer_response(answer: dict[str, Any], *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer, serialised as its budget was counted."""
    return Response(orjson.dumps(answer), status, {"Cache-Control": "no-store", **(headers or {})}, "application/json")
