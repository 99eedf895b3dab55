"""`POST /spills`: a payload comes in as a stream and is a spill once all of it has come."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect

from spillcache import SpillCache
from spillcache.caller import caller_of
from spillcache.envelope import Envelope
from spillcache.errors import ArgumentsInvalid, PayloadTooLarge, SpillError
from spillcache.http.answers import EnvelopeAnswer, answer_response
from spillcache.http.digests import announced_sha256
from spillcache.http.document import ENVELOPE, refusals
from spillcache.http.parameters import Asked, Size
from spillcache.http.problems import RefusalError
from spillcache.http.serving import serving_of
from spillcache.wire import MCP, PLAIN, Wire

_WIRES: Final[dict[str, Wire]] = {"plain": PLAIN, "mcp": MCP}
_DIGEST_FIELDS: Final = ("content-digest", "repr-digest")

router = APIRouter()


class UploadQuery(Asked):
    """How the payload's envelope is made."""

    tool: Annotated[str, Field(description="The tool whose result this is.", max_length=200)] = ""
    budget: Annotated[Size, Field(description="Size cap of the envelope, in bytes of the wire it travels on.")] = None
    wire: Annotated[
        Literal["plain", "mcp"],
        Field(description="How the envelope is handed on: as JSON, or as the text of an MCP tool result."),
    ] = "plain"


_DIGEST_PARAMETERS: Final[list[dict[str, Any]]] = [
    {
        "name": name,
        "in": "header",
        "description": "Checked before anybody can read the spill (RFC 9530). Of all algorithms only sha-256 is.",
        "schema": {"type": "string", "examples": ["sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"]},
    }
    for name in ("Content-Digest", "Repr-Digest")
]


@router.post(
    "/spills",
    status_code=201,
    operation_id="createSpill",
    summary="Store a payload",
    response_model=EnvelopeAnswer,
    response_description="Stored. The envelope is what a tool returns in place of the payload.",
    responses={
        201: {
            "headers": {"Location": {"description": "Address of the spill.", "schema": {"type": "string"}}},
            "content": {"application/json": {"example": ENVELOPE}},
        },
        **refusals(
            "arguments_invalid",
            "budget_too_small",
            "payload_too_large",
            "store_full",
            "store_busy",
            "store_unavailable",
            writing=True,
        ),
    },
    openapi_extra={
        "parameters": _DIGEST_PARAMETERS,
        "requestBody": {
            "required": True,
            "description": "The payload, of any type; every byte is kept as it comes.",
            "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}},
        },
    },
)
async def create_spill(request: Request, asked: Annotated[UploadQuery, Query()]) -> Response:
    """Store the request's body, byte for byte. An upload that is cut, or fails its digest, stores nothing."""
    serving = serving_of(request)
    expected = _checked(request.headers, serving.cache.max_payload_bytes)
    cache, tenant = serving.cache, caller_of(request.scope).tenant
    budget, wire = serving.budget_for(asked.budget), _WIRES[asked.wire]
    with cache.watcher.act("put"):
        envelope = await _store(request, cache, expected, tool=asked.tool, tenant=tenant, budget=budget, wire=wire)
    location = f"{request.scope.get('root_path', '')}/spills/{envelope.spill_id}"
    return answer_response(envelope.as_dict(), status=201, headers={"Location": location})


async def _store(
    request: Request, cache: SpillCache, sha256: bytes | None, *, tool: str, tenant: str, budget: int, wire: Wire
) -> Envelope:
    async with cache.writer(tool=tool, tenant=tenant, budget=budget, wire=wire) as writer:
        try:
            async for block in request.stream():
                await writer.write(block)
        except ClientDisconnect:
            raise ArgumentsInvalid("the upload was cut before its end; nothing was stored") from None
        return await writer.finish(sha256=sha256)


def _checked(headers: Headers, most: int) -> bytes | None:
    """What the headers say of the body before it comes: its SHA-256, if they do. Raises `RefusalError`."""
    try:
        _check_coding(headers)
        _check_length(headers, most)
        return announced_sha256([field for name in _DIGEST_FIELDS for field in headers.getlist(name)])
    except SpillError as error:
        raise RefusalError(error) from None


def _check_coding(headers: Headers) -> None:
    if not _fields(headers, "content-encoding") <= {"", "identity"}:
        raise ArgumentsInvalid("the body is kept byte for byte and would be unreadable; send it without a coding")
    if not _fields(headers, "transfer-encoding") <= {"chunked"}:  # it is undone here; others would be stored
        refused = ArgumentsInvalid("the only transfer coding that is understood is chunked")
        raise RefusalError(refused, status=HTTPStatus.NOT_IMPLEMENTED)


def _fields(headers: Headers, name: str) -> set[str]:
    """The members of a list that may come in several lines."""
    return {field.strip().lower() for line in headers.getlist(name) for field in line.split(",")}


def _check_length(headers: Headers, most: int) -> None:
    length = headers.get("content-length")
    if length is None and "transfer-encoding" not in headers:
        raise ArgumentsInvalid("no body came; an empty payload is sent with Content-Length: 0")
    if length is not None and int(length) > most:  # the server has checked that it is a number
        raise PayloadTooLarge(f"the payload has {int(length)} bytes; at most {most} are stored")
