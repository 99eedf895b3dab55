"""The OpenAPI document: examples, errors by route, and what FastAPI does not write by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from fastapi import FastAPI
from pydantic import TypeAdapter

from spillcache.errors import CODES, BudgetTooSmall, ResultAmbiguous, SpillError
from spillcache.http.answers import ProblemAnswer
from spillcache.http.problems import MEDIA_TYPE, problem_of

_SPILL_ID: Final = "aaaaaaaaaaaaaaaaaaaaaaaaaa"  # well formed; no generator of random ids will ever give it
_CURSOR: Final = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0e"
_SHA256: Final = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

SPILL_ERRORS: Final = ("spill_id_malformed", "spill_not_found", "spill_expired", "spill_lost", "store_unavailable")
CURSOR_ERRORS: Final = ("cursor_malformed", "cursor_rejected", "cursor_key_unknown", "cursor_version_unsupported")

STAT: Final[dict[str, Any]] = {
    "spill_id": _SPILL_ID,
    "size_bytes": 343_790,
    "kind": "json",
    "sha256": _SHA256,
    "created": 1_780_000_000.5,
    "ttl_s": 900.0,
    "max_age_s": 86_400.0,
    "lease_left_s": 900.0,
    "tool": "prometheus_batch",
    "results": 12,
}
ENVELOPE: Final[dict[str, Any]] = {
    "completeness": "truncated",
    "spill_id": _SPILL_ID,
    "hint": "TRUNCATED: the preview is not the data. Call search_query_spill with only spill_id, then …",
    "next": {"tool": "search_query_spill", "arguments": {"spill_id": _SPILL_ID}},
    "size_bytes": 343_790,
    "pages": 58,
    "tokens_estimate": 156_000,
    "kind": "json",
    "inventory": {"results": 12, "result_names": ["rate(node_cpu_seconds_total[1m])"], "names_omitted": 11},
    "expires_in_s": 900,
    "preview": '{"status":"success","data":[{"name":…',
    "preview_tail": "…]}]}",
}
PAGE: Final[dict[str, Any]] = {
    "position": "14980-22400/343790 result 2/12",
    "chunk_kind": "json_part",
    "chunk": '{"metric":{"pod":"api-1"},"values":[[1780000000,"0.5"]]},',
    "status": "PARTIAL",
    "next_cursor": _CURSOR,
}
LISTING: Final[dict[str, Any]] = {
    "note": "A table of contents, not the data: read a result's values before judging it.",
    "kind": "json",
    "size_bytes": 343_790,
    "results": 12,
    "path": "$.data",
    "entries": [
        {
            "index": 1,
            "name": "rate(node_cpu_seconds_total[1m])",
            "path": "$.data[0]",
            "bytes": 28_000,
            "pages": 5,
            "type": "object",
            "series": 40,
            "points": 2_400,
        }
    ],
    "status": "PARTIAL",
    "inventory_status": "PARTIAL",
    "next_cursor": _CURSOR,
}

MATCHES: Final[dict[str, Any]] = {
    "status": "PARTIAL",
    "matches_total": 40,
    "shown": 1,
    "searched": 343_790,
    "note": "A match is not the data: read on from its cursor before judging. 39 matches are not shown.",
    "matches": [
        {
            "bytes": "15230-15236",
            "path": "$.data[0].result[7].values[3][1]",
            "in": "value",
            "text": '[1780000015,"0.5"],[1780000030,"0.97"]',
            "cursor": _CURSOR,
        }
    ],
}
SERIES: Final[dict[str, Any]] = {
    "note": "Numbers derived when the result was stored: a table of contents, not the data. Read the values …",
    "size_bytes": 343_790,
    "series": 87,
    "entries": [
        {
            "index": 1,
            "result": 1,
            "labels": "{pod=api-1}",
            "count": 60,
            "start": "1780000000",
            "end": "1780000885",
            "min": "0.25",
            "max": "0.97",
            "last": "0.5",
            "bytes": "61-2893",
            "cursor": _CURSOR,
        }
    ],
    "status": "PARTIAL",
    "series_status": "PARTIAL",
    "next_cursor": _CURSOR,
}

#: Errors whose next step depends on what was found.
_EXAMPLES: Final[dict[str, SpillError]] = {
    "budget_too_small": BudgetTooSmall("a page cannot be made within 100 bytes", minimum=400),
    "result_ambiguous": ResultAmbiguous(
        "2 results bear that name: numbers 3, 7",
        indices=[3, 7],
        next_step="Call again with result set to one of these numbers: 3, 7.",
    ),
}

_ANYWHERE: Final = ("unauthorized", "host_not_allowed", "issuer_unavailable")

RANGE_PARAMETERS: Final[list[dict[str, Any]]] = [
    {
        "name": "Range",
        "in": "header",
        "description": "One range of bytes; several are answered with the whole.",
        "schema": {"type": "string", "examples": ["bytes=0-1023", "bytes=-256"]},
    },
    {
        "name": "If-Range",
        "in": "header",
        "description": "An ETag; the range is honoured only when it is the payload's.",
        "schema": {"type": "string"},
    },
    {
        "name": "If-None-Match",
        "in": "header",
        "description": "ETags of payloads that the client has.",
        "schema": {"type": "string"},
    },
]


def shows(example: Mapping[str, Any]) -> dict[str, Any]:
    """An answer with its example."""
    return {"content": {"application/json": {"example": example}}}


def refusals(*codes: str, writing: bool = False) -> dict[int | str, dict[str, Any]]:
    """How a route fails: by status, the codes that it answers with, and for everything else the same document.

    `writing` says that it stores a result. What is refused before any route is asked may be refused on every one.
    """
    found: dict[int | str, dict[str, Any]] = {}
    for code in (*codes, *_ANYWHERE):
        error = CODES[code]
        answer = found.setdefault(error.http_status, _problem())
        answer["content"][MEDIA_TYPE]["examples"][code] = {"value": _example(code, writing=writing)}
        if error.retryable:
            answer["headers"] = {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}}
    for answer in found.values():
        answer["description"] = ", ".join(answer["content"][MEDIA_TYPE]["examples"])
    return {**found, "default": {**_problem(), "description": "Any other failure."}}


def content_answers(media_types: Iterable[str]) -> dict[int | str, dict[str, Any]]:
    """What a GET of the content answers, whose type is one of these."""
    payload: dict[str, Any] = {media_type: {} for media_type in media_types}
    names = ("ETag", "Repr-Digest", "Accept-Ranges", "Content-Length")
    headers: dict[str, Any] = {name: {"schema": {"type": "string"}} for name in names}
    part = {**headers, "Content-Range": {"schema": {"type": "string"}}}
    unsatisfiable = {**_problem(), "description": "The payload has none of these bytes: arguments_invalid"}
    return {
        200: {"content": payload, "headers": headers},
        206: {"description": "The range of bytes that Content-Range names.", "content": payload, "headers": part},
        304: {"description": "The client has this payload."},
        416: {**unsatisfiable, "headers": {"Content-Range": {"schema": {"type": "string"}}}},
    }


def _problem() -> dict[str, Any]:
    return {"content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemAnswer"}, "examples": {}}}}


def _example(code: str, *, writing: bool) -> dict[str, Any]:
    return problem_of(_EXAMPLES.get(code) or CODES[code]("what went wrong, in one sentence"), writing=writing)


class DocumentedAPI(FastAPI):
    """An app whose document also has the schema of errors, which no route returns by itself, and how to come in."""

    def openapi(self) -> dict[str, Any]:
        """The document, made once."""
        document = super().openapi()
        components = document.setdefault("components", {})
        components.setdefault("schemas", {})["ProblemAnswer"] = TypeAdapter(ProblemAnswer).json_schema()
        components["securitySchemes"] = {
            "bearer": {
                "type": "http",
                "scheme": "bearer",
                "description": "A token of this deployment, which says whose spills are read and written.",
            }
        }
        document["security"] = [{"bearer": []}, {}]  # a deployment on loopback may do without
        return document
