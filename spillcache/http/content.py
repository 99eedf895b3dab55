"""`/spills/{spill_id}/content`: the payload itself, for programs, whole or a range of its bytes.

A payload is right only when its stream has ended without an error. So its length is announced, the last block is held
back until the end has been verified, and a stream that fails breaks the connection: nobody takes a part for the whole.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response
from starlette.datastructures import Headers
from starlette.responses import StreamingResponse
from starlette.types import Send

from spillcache import Stat
from spillcache.caller import caller_of
from spillcache.errors import ArgumentsInvalid, SpillError
from spillcache.http.digests import digest_field
from spillcache.http.document import RANGE_PARAMETERS, SPILL_ERRORS, content_answers, refusals
from spillcache.http.parameters import Asked, SpillId
from spillcache.http.problems import RefusalError
from spillcache.http.ranges import RangeUnsatisfiableError, Span, requested_span
from spillcache.http.serving import serving_of

_MEDIA_TYPES: Final[Mapping[str, str]] = {
    "json": "application/json",
    "ndjson": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "text": "text/plain; charset=utf-8",
    "bytes": "application/octet-stream",
}

_log = logging.getLogger("spillcache")

router = APIRouter()


class PayloadResponse(StreamingResponse):
    """Sends blocks of a payload; breaks the connection where they fail."""

    async def stream_response(self, send: Send) -> None:
        """Send all blocks. Returning without the last message makes the server close the connection."""
        try:
            await super().stream_response(send)
        except SpillError as error:  # the act that it ended has told whoever watches
            _log.warning("content_broken_off", extra={"code": error.code})


@router.get(
    "/spills/{spill_id}/content",
    operation_id="readContent",
    summary="The payload",
    response_class=PayloadResponse,
    response_description="The whole payload. It is whole only when as many bytes came as Content-Length says.",
    responses={**content_answers(_MEDIA_TYPES.values()), **refusals(*SPILL_ERRORS, "spill_corrupt")},
    openapi_extra={"parameters": RANGE_PARAMETERS},
)
async def read_content(request: Request, spill_id: SpillId, _asked: Annotated[Asked, Query()]) -> Response:
    """The payload, byte for byte, or one range of its bytes."""
    cache, tenant = serving_of(request).cache, caller_of(request.scope).tenant
    stat = await cache.stat(spill_id, tenant=tenant)
    headers = _headers(stat)
    if _knows(request.headers.get("if-none-match"), headers["ETag"]):
        return Response(status_code=304, headers=headers)
    span = _span(request.headers, headers["ETag"], stat.size)
    if span is None:
        blocks = cache.stream(spill_id, tenant=tenant)
        return await _streamed(blocks, 200, {**headers, "Content-Length": str(stat.size)}, stat.kind)
    blocks = cache.span(spill_id, span.start, span.end, tenant=tenant)
    headers |= {
        "Content-Length": str(span.end - span.start),
        "Content-Range": f"bytes {span.start}-{span.end - 1}/{stat.size}",
    }
    return await _streamed(blocks, 206, headers, stat.kind)


@router.head(
    "/spills/{spill_id}/content",
    operation_id="headContent",
    summary="The payload's headers",
    response_class=PayloadResponse,
    response_description="The headers of the whole payload.",
    responses=refusals(*SPILL_ERRORS),
)
async def head_content(request: Request, spill_id: SpillId, _asked: Annotated[Asked, Query()]) -> Response:
    """What a GET would say of the whole payload, without it. Asking does not renew the lease."""
    stat = await serving_of(request).cache.stat(spill_id, tenant=caller_of(request.scope).tenant)
    headers = {**_headers(stat), "Content-Length": str(stat.size)}
    return Response(headers=headers, media_type=_MEDIA_TYPES[stat.kind])


def _headers(stat: Stat) -> dict[str, str]:
    return {
        "Accept-Ranges": "bytes",
        "ETag": f'"{stat.sha256}"',
        "Repr-Digest": digest_field(bytes.fromhex(stat.sha256)),
        "Cache-Control": "no-store",
        # Payloads come from strangers: no browser may guess what they are, or show them as a page of ours.
        "X-Content-Type-Options": "nosniff",
        "Content-Disposition": "attachment",
    }


def _knows(if_none_match: str | None, etag: str) -> bool:
    tags = (tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(","))
    return any(tag in {"*", etag} for tag in tags)


def _span(headers: Headers, etag: str, size: int) -> Span | None:
    if headers.get("if-range", etag).strip() != etag:
        return None
    try:
        return requested_span(", ".join(headers.getlist("range")), size)
    except RangeUnsatisfiableError:
        error = ArgumentsInvalid(f"the payload has {size} bytes; none of those that the range asks for")
        raise RefusalError(error, status=416, headers={"Content-Range": f"bytes */{size}"}) from None


async def _streamed(blocks: AsyncIterator[bytes], status: int, headers: dict[str, str], kind: str) -> Response:
    """The response, once its first block is there: what fails before is answered as an error."""
    held = _held_back(blocks)
    first = await anext(held, b"")
    return PayloadResponse(_chained(first, held), status, headers, _MEDIA_TYPES[kind])


async def _held_back(blocks: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """The blocks, each when the next has come, and so the last when the whole has been verified."""
    held = b""
    async for block in blocks:
        if held:
            yield held
        held = block
    yield held


async def _chained(first: bytes, rest: AsyncGenerator[bytes]) -> AsyncIterator[bytes]:
    async with aclosing(rest):
        yield first
        async for block in rest:
            yield block
