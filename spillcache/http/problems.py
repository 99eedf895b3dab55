"""Errors as problem documents (RFC 9457), each made from the error itself and so from the one table."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from inspect import isclass
from typing import Any, Final, TypedDict

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from spillcache.caller import caller_of
from spillcache.errors import ArgumentsInvalid, SpillError, StoreError, Unauthorized
from spillcache.http.serving import serving_of

MEDIA_TYPE: Final = "application/problem+json"

#: Seconds. A Redis that fails over is back within about this; the next step says "a few seconds".
RETRY_AFTER_S: Final = 5

_THIS_FAILED = (
    "Nothing was stored: if it stays so, tell the agent that this call FAILED; what you still have of the result is "
    "neither all of it nor an empty one."
)
_NOT_STORED = f"Send it again in a few seconds. {_THIS_FAILED}"
_SEE_DOCUMENT = "Correct the request: openapi.json beside these addresses describes all of them."


class RefusalError(Exception):
    """What this face refuses by itself, before any act of the cache.

    `status` is HTTP's own word for it, where HTTP has a finer one than the error's class.
    """

    def __init__(self, error: SpillError, *, status: int | None = None, headers: Mapping[str, str] | None = None):
        super().__init__(error.message)
        self.error, self.status, self.headers = error, status, headers


def type_of(code: str) -> str:
    """The URI that names a kind of problem. It is a name, not an address."""
    return f"urn:spillcache:error:{code}"


def title_of(code: str) -> str:
    """The code in words; the same for every problem of its kind."""
    return code.replace("_", " ").capitalize()


def problem_of(
    error: SpillError, *, status: int | None = None, request_id: str = "", writing: bool = False
) -> dict[str, Any]:
    """The document. `status` is HTTP's here; that the retrieval FAILED is said by the next step.

    Where a result was to be stored (`writing`), `completeness: failed` says what an envelope would say.
    """
    answer: dict[str, Any] = {
        "type": type_of(error.code),
        "title": title_of(error.code),
        "status": status or error.http_status,
        "detail": error.message,
    }
    answer |= {name: value for name, value in error.as_dict().items() if name != "status"}
    answer["retryable"] = error.retryable
    if writing:
        answer["completeness"] = "failed"
        generic = error.next_step == StoreError.default_next_step
        answer["next_step"] = _NOT_STORED if generic else f"{error.next_step} {_THIS_FAILED}"
    if request_id:
        answer["request_id"] = request_id
    return answer


def problem_response(
    error: SpillError,
    *,
    status: int | None = None,
    request_id: str = "",
    writing: bool = False,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The answer to a request that failed."""
    answer = problem_of(error, status=status, request_id=request_id, writing=writing)
    sent = {"Cache-Control": "no-store", **(headers or {})}
    if error.retryable:
        sent["Retry-After"] = str(RETRY_AFTER_S)
    if isinstance(error, Unauthorized):
        sent["WWW-Authenticate"] = "Bearer"
    return Response(orjson.dumps(answer), answer["status"], sent, MEDIA_TYPE)


def answer_errors(app: FastAPI) -> None:
    """Let every error of `app` be answered with a problem document."""
    app.exception_handler(SpillError)(_failed)
    app.exception_handler(RefusalError)(_refused)
    app.exception_handler(RequestValidationError)(_not_valid)
    app.exception_handler(HTTPException)(_not_routed)
    app.exception_handler(Exception)(_broken)


async def _failed(request: Request, error: SpillError) -> Response:
    """An act of the cache failed; whoever watches the cache has heard of it."""
    return problem_response(error, **_about(request))


async def _refused(request: Request, refusal: RefusalError) -> Response:
    serving_of(request).cache.watcher.failed("http", refusal.error)
    return problem_response(refusal.error, status=refusal.status, headers=refusal.headers, **_about(request))


def _about(request: Request) -> About:
    return {"request_id": caller_of(request.scope).request_id, "writing": request.method == "POST"}


class About(TypedDict):
    """What an error says of the request that it answers; see `problem_of`."""

    request_id: str
    writing: bool


async def _not_valid(request: Request, error: RequestValidationError) -> Response:
    """Parameters that the routes do not take. What was sent is not repeated: it may be a cursor."""
    # A parameter that may be absent is complained of twice: as what it should be, and as not being nothing.
    known = _parameters(request)
    found = (_complaint(one, known) for one in error.errors() if one["type"] != "none_required")
    return await _refused(request, RefusalError(ArgumentsInvalid("; ".join(sorted(set(found))))))


def _parameters(request: Request) -> list[str]:
    """The names of the parameters that a route's query may have."""
    route = request.scope.get("route")
    models = [field.field_info.annotation for field in route.dependant.query_params] if route is not None else []
    return [name for model in models if isclass(model) and issubclass(model, BaseModel) for name in model.model_fields]


def _complaint(error: Mapping[str, Any], known: list[str]) -> str:
    where, name = error["loc"][0], error["loc"][1]
    if error["type"] == "extra_forbidden":  # its name is the client's word
        return f"the {where} has a parameter that is not known here; known are {', '.join(known)}"
    words = _MUST_BE.get(error["type"], "is not valid")
    return f"{name} {words.format_map(error.get('ctx', {}))}"


#: What a parameter must be, by Pydantic's name of what it found.
_MUST_BE: Final = {
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a smaller number",
    "greater_than_equal": "must be at least {ge}",
    "string_too_long": "must have at most {max_length} characters",
    "literal_error": "must be {expected}",
}


async def _not_routed(request: Request, error: HTTPException) -> Response:
    """No such address, or not with this method."""
    said = {404: "there is no such address", 405: "this address does not know this method"}
    message = said.get(error.status_code, HTTPStatus(error.status_code).phrase)
    refused = ArgumentsInvalid(message, next_step=_SEE_DOCUMENT)
    return await _refused(request, RefusalError(refused, status=error.status_code, headers=error.headers))


async def _broken(request: Request, error: Exception) -> Response:
    """A bug; the server's log has it, because it is raised again after this answer."""
    message = f"the server failed in an unforeseen way ({type(error).__name__})"
    return problem_response(SpillError(message), **_about(request))
