"""Parameters that several routes take."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import unquote_to_bytes

from fastapi import Path, Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from spillcache import page
from spillcache.errors import ArgumentsInvalid
from spillcache.http.problems import RefusalError


async def each_once(request: Request) -> None:
    """Refuse a query that names a parameter twice, or is no text: what was meant is not ours to guess."""
    try:
        unquote_to_bytes(request.scope["query_string"]).decode()
    except UnicodeDecodeError:
        raise RefusalError(ArgumentsInvalid("the query is not UTF-8, percent-encoded")) from None
    names = [name for name, _ in request.query_params.multi_items()]
    if len(set(names)) < len(names):
        raise RefusalError(ArgumentsInvalid("a parameter of the query comes more than once"))


def _given(value: Any) -> Any:
    """A blank parameter counts as absent, as it does in the tool."""
    return None if isinstance(value, str) and not value.strip() else value


def _view(value: Any) -> Any:
    """A view, in whatever case."""
    given = _given(value)
    return given.strip().lower() if isinstance(given, str) else given


#: A size in bytes, or nothing. The document says nothing of "nothing": it cannot be sent.
Size = Annotated[Annotated[int, Field(ge=1)] | SkipJsonSchema[None], BeforeValidator(_given)]

#: How many, from 0 on, or nothing. What is too few, the library says, in the same words on every face.
Count = Annotated[Annotated[int, Field(ge=0)] | SkipJsonSchema[None], BeforeValidator(_given)]

#: Yes or no, or nothing.
Flag = Annotated[bool | SkipJsonSchema[None], BeforeValidator(_given)]

#: How pages are shown, or nothing.
View = Annotated[page.View | SkipJsonSchema[None], BeforeValidator(_view)]

#: Text, or nothing.
Text = Annotated[str | SkipJsonSchema[None], BeforeValidator(_given)]


class Asked(BaseModel):
    """The query of a route, which takes no parameters but those that it names."""

    model_config = ConfigDict(extra="forbid")

    client: Annotated[
        Text, Field(description="What the caller's host is called; as X-Spillcache-Client, and of no effect here.")
    ] = None


SpillId = Annotated[
    str,
    Path(
        description="The spill id, as the envelope gave it.",
        json_schema_extra={"pattern": "^[a-z2-7]{26}$", "example": "aaaaaaaaaaaaaaaaaaaaaaaaaa"},
    ),
]
