"""`/spills/{spill_id}`: what is known of a spill, its pages, its inventory, and its end."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from spillcache import Stat
from spillcache.caller import caller_of
from spillcache.cursor import refuse_raw
from spillcache.http.answers import ListingAnswer, PageAnswer, StatAnswer, answer_response
from spillcache.http.document import CURSOR_ERRORS, LISTING, PAGE, SPILL_ERRORS, STAT, refusals, shows
from spillcache.http.parameters import Asked, Size, SpillId, Text, View
from spillcache.http.serving import serving_of
from spillcache.wire import PLAIN

router = APIRouter()


class InventoryQuery(Asked):
    """Which page of a list, and how large."""

    cursor: Annotated[Text, Field(description="next_cursor of the answer before, exactly as it came.")] = None
    max_bytes: Annotated[Size, Field(description="Size cap of this answer, in bytes.")] = None


class SeriesQuery(InventoryQuery):
    """Which page, of the whole payload or of one result, and how large."""

    result: Annotated[Text, Field(description="Name of a result, or its number: that one alone.")] = None


class PageQuery(SeriesQuery):
    """Which page of a payload, in which view, and how large."""

    view: Annotated[View, Field(description="compact: time series with their labels once. Every value is there.")] = (
        None
    )


@router.get(
    "/spills/{spill_id}",
    operation_id="statSpill",
    summary="Size, kind, digest and lease",
    response_model=StatAnswer,
    responses={200: shows(STAT), **refusals(*SPILL_ERRORS)},
)
async def stat_spill(request: Request, spill_id: SpillId, _asked: Annotated[Asked, Query()]) -> Response:
    """What is known of a spill. Asking does not renew its lease."""
    stat = await serving_of(request).cache.stat(spill_id, tenant=caller_of(request.scope).tenant)
    return answer_response(_as_dict(stat))


@router.get(
    "/spills/{spill_id}/pages",
    operation_id="readPage",
    summary="One page",
    response_model=PageAnswer,
    responses={
        200: shows(PAGE),
        **refusals(
            *SPILL_ERRORS,
            *CURSOR_ERRORS,
            "arguments_invalid",
            "budget_too_small",
            "result_not_found",
            "result_ambiguous",
        ),
    },
)
async def read_page(request: Request, spill_id: SpillId, asked: Annotated[PageQuery, Query()]) -> Response:
    """Page 1, or the page that a cursor asks for.

    Pages in a row are the payload, byte for byte; those of the compact view hold the same values in other words.
    """
    if asked.view == "raw" and asked.cursor is not None:
        refuse_raw(asked.cursor)
    serving = serving_of(request)
    page = await serving.cache.page(
        spill_id,
        cursor=asked.cursor,
        result=asked.result,
        view=asked.view or "raw",
        budget=serving.budget_for(asked.max_bytes),
        tenant=caller_of(request.scope).tenant,
        wire=PLAIN,
    )
    return answer_response(page.as_dict())


@router.get(
    "/spills/{spill_id}/inventory",
    operation_id="readInventory",
    summary="The named results",
    response_model=ListingAnswer,
    responses={
        200: shows(LISTING),
        **refusals(*SPILL_ERRORS, *CURSOR_ERRORS, "arguments_invalid", "budget_too_small"),
    },
)
async def read_inventory(request: Request, spill_id: SpillId, asked: Annotated[InventoryQuery, Query()]) -> Response:
    """Name, path, size and counts of each result. It is a table of contents, never the data."""
    serving = serving_of(request)
    listing = await serving.cache.inventory(
        spill_id,
        cursor=asked.cursor,
        budget=serving.budget_for(asked.max_bytes),
        tenant=caller_of(request.scope).tenant,
        wire=PLAIN,
    )
    return answer_response(listing.as_dict())


@router.delete(
    "/spills/{spill_id}",
    status_code=204,
    operation_id="deleteSpill",
    summary="Remove a spill",
    response_description="It is gone, and with it every cursor into it.",
    responses=refusals(*SPILL_ERRORS),
)
async def delete_spill(request: Request, spill_id: SpillId, _asked: Annotated[Asked, Query()]) -> Response:
    """Remove a spill now, before its lease runs out."""
    await serving_of(request).cache.delete(spill_id, tenant=caller_of(request.scope).tenant)
    return Response(status_code=204)


def _as_dict(stat: Stat) -> dict[str, Any]:
    """The answer: what is promised of the lease, not the third more that Redis is given."""
    answer: dict[str, Any] = {"spill_id": stat.spill_id, "size_bytes": stat.size, "kind": stat.kind}
    answer |= {"sha256": stat.sha256, "created": stat.created, "ttl_s": stat.ttl_s, "max_age_s": stat.max_age_s}
    answer["lease_left_s"] = min(stat.ttl_s, stat.lease_left_s)
    if stat.tool:
        answer["tool"] = stat.tool
    if stat.results is not None:
        answer["results"] = stat.results
    return answer
