"""Other ways into a spill than page by page: matches of a pattern, a large window, and time series in numbers."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from spillcache.caller import caller_of
from spillcache.http.answers import MatchesAnswer, PageAnswer, SeriesAnswer, answer_response
from spillcache.http.document import CURSOR_ERRORS, MATCHES, PAGE, SERIES, SPILL_ERRORS, refusals, shows
from spillcache.http.parameters import Asked, Count, Flag, Size, SpillId, Text
from spillcache.http.reading import InventoryQuery, SeriesQuery
from spillcache.http.serving import serving_of
from spillcache.wire import PLAIN

router = APIRouter()

_RESULT_ERRORS = ("result_not_found", "result_ambiguous")


class MatchesQuery(Asked):
    """What to look for, and how much of it to show."""

    pattern: Annotated[str, Field(description="A regular expression (RE2), or literal text.")]
    literal: Annotated[Flag, Field(description="Take the pattern as plain text.")] = None
    ignore_case: Annotated[Flag, Field(description="Ignore case.")] = None
    result: Annotated[Text, Field(description="Name of a result, or its number: search it alone.")] = None
    max_matches: Annotated[Count, Field(description="Matches to show at most.")] = None
    context: Annotated[Count, Field(description="Bytes to show around a match.")] = None
    max_bytes: Annotated[Size, Field(description="Size cap of this answer, in bytes.")] = None

    @property
    def options(self) -> dict[str, Any]:
        """How to search, as far as it was said."""
        return self.model_dump(include={"literal", "ignore_case", "max_matches", "context"}, exclude_none=True)


@router.get(
    "/spills/{spill_id}/matches",
    operation_id="findMatches",
    summary="Where a pattern matches",
    response_model=MatchesAnswer,
    responses={
        200: shows(MATCHES),
        **refusals(*SPILL_ERRORS, *_RESULT_ERRORS, "pattern_invalid", "arguments_invalid", "budget_too_small"),
    },
)
async def find_matches(request: Request, spill_id: SpillId, asked: Annotated[MatchesQuery, Query()]) -> Response:
    """Some matches, each with a cursor to read on from, and how many there are in all.

    A match, or no match, is not the data: `status` is always PARTIAL.
    """
    serving = serving_of(request)
    matches = await serving.cache.grep(
        spill_id,
        asked.pattern,
        result=asked.result,
        budget=serving.budget_for(asked.max_bytes),
        tenant=caller_of(request.scope).tenant,
        wire=PLAIN,
        **asked.options,
    )
    return answer_response(matches.as_dict())


@router.get(
    "/spills/{spill_id}/full",
    operation_id="readFull",
    summary="One large page",
    response_model=PageAnswer,
    responses={
        200: shows(PAGE),
        **refusals(*SPILL_ERRORS, *CURSOR_ERRORS, "arguments_invalid", "budget_too_small"),
    },
)
async def read_full(request: Request, spill_id: SpillId, asked: Annotated[InventoryQuery, Query()]) -> Response:
    """As much at once as this deployment allows, from the start or from a cursor.

    PARTIAL unless that was everything; then `next_cursor` leads on.
    """
    serving = serving_of(request)
    page = await serving.cache.full(
        spill_id,
        cursor=asked.cursor,
        cap=serving.cap_for(asked.max_bytes),
        tenant=caller_of(request.scope).tenant,
        wire=PLAIN,
    )
    return answer_response(page.as_dict())


@router.get(
    "/spills/{spill_id}/series",
    operation_id="readSeries",
    summary="Time series in numbers",
    response_model=SeriesAnswer,
    responses={
        200: shows(SERIES),
        **refusals(*SPILL_ERRORS, *CURSOR_ERRORS, *_RESULT_ERRORS, "arguments_invalid", "budget_too_small"),
    },
)
async def read_series(request: Request, spill_id: SpillId, asked: Annotated[SeriesQuery, Query()]) -> Response:
    """Labels, count, first and last time, min, max and last of each time series. Derived, and never the data."""
    serving = serving_of(request)
    listing = await serving.cache.series(
        spill_id,
        result=asked.result,
        cursor=asked.cursor,
        budget=serving.budget_for(asked.max_bytes),
        tenant=caller_of(request.scope).tenant,
        wire=PLAIN,
    )
    return answer_response(listing.as_dict())
