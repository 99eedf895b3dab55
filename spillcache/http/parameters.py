"""Parameters that several routes take."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path
from pydantic import BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema


def _given(value: Any) -> Any:
    """A blank parameter counts as absent, as it does in the tool."""
    return None if isinstance(value, str) and not value.strip() else value


#: A size in bytes, or nothing. The document says nothing of "nothing": it cannot be sent.
Size = Annotated[Annotated[int, Field(ge=1)] | SkipJsonSchema[None], BeforeValidator(_given)]

#: Text, or nothing.
Text = Annotated[str | SkipJsonSchema[None], BeforeValidator(_given)]

SpillId = Annotated[
    str,
    Path(
        description="The spill id, as the envelope gave it.",
        json_schema_extra={"pattern": "^[a-z2-7]{26}$", "example": "aaaaaaaaaaaaaaaaaaaaaaaaaa"},
    ),
]
