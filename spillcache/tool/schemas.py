"""What a tool's declared `outputSchema` becomes when its results may be spilled: its own values, or an envelope.

Strict clients throw a result away whose structuredContent does not fit the declared schema, and one that has none
although a schema is declared. So the schema is widened, if that can be done without changing what it says of the tool's
own values; where it cannot, nothing is declared and spilled results carry no structuredContent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

#: Fields that every envelope has, whatever became of the payload.
_ALWAYS: Final = ("completeness", "hint", "size_bytes", "kind")

#: An envelope, in keywords that mean the same in every draft since 4.
ENVELOPE_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "description": "In place of a result that did not fit: truncated and readable page by page, or failed to be stored",
    "required": list(_ALWAYS),
    "properties": {
        "completeness": {"type": "string", "enum": ["truncated", "failed"]},
        "spill_id": {"type": "string"},
        "hint": {"type": "string"},
        "size_bytes": {"type": "integer"},
        "kind": {"type": "string"},
    },
}

# Keywords by what they hold: a schema, a list of schemas, schemas by name. All others are values and stay as they are.
_ONE: Final = frozenset(
    {
        "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
        "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
    }
)  # fmt: skip
_LISTS: Final = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
_NAMED: Final = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)
#: Those whose schemas are asked about the same value as the schema they stand in.
_IN_PLACE: Final = frozenset(
    {"allOf", "anyOf", "dependencies", "dependentSchemas", "else", "if", "not", "oneOf", "then"}
)

# With these a reference means something else in another place.
_PLACED: Final = frozenset(
    {"$anchor", "$dynamicAnchor", "$dynamicRef", "$id", "$recursiveAnchor", "$recursiveRef", "id"}
)
_SAYS_NOTHING: Final = frozenset({"$schema", "additionalProperties", "description", "title", "type"})


@dataclass(frozen=True, slots=True)
class Declared:
    """What a tool declares. `schema` is shown in tools/list, None for none.

    `answers_structured` says that a spilled result carries its envelope as structuredContent too, because a client
    that was shown the schema insists on it.
    """

    schema: Mapping[str, Any] | None
    answers_structured: bool


#: Nothing is declared, and spilled results are text alone.
UNDECLARED: Final = Declared(None, answers_structured=False)


def declare(output_schema: Mapping[str, Any] | None, *, drop: bool = False) -> Declared:
    """What to declare for a tool that declares `output_schema` itself; nothing when `drop`.

    The answer accepts every value that `output_schema` accepts, but for one that has all fields of an envelope by
    chance; and every envelope, which `output_schema` alone never accepts in it. Nothing is declared for a schema that
    knows a property `completeness`, says nothing, is not about objects, or refers to what cannot be moved. One that was
    widened already, by a server or proxy further in, stays as it is.
    """
    if drop or not isinstance(output_schema, Mapping):
        return UNDECLARED
    if output_schema.get("type") == "object" and ENVELOPE_SCHEMA in _branches(output_schema):
        return Declared(output_schema, answers_structured=True)
    try:
        return Declared(_widened(output_schema), answers_structured=True)
    except _NotRewritableError:
        return UNDECLARED


class _NotRewritableError(Exception):
    """The schema cannot be widened without changing what it says."""


def _branches(schema: Mapping[str, Any]) -> Sequence[Any]:
    branches = schema.get("anyOf")
    return branches if isinstance(branches, list) else ()


def _widened(upstream: Mapping[str, Any]) -> dict[str, Any]:
    applied = list(_applied(upstream, upstream, set()))
    if _SAYS_NOTHING.issuperset(upstream) or any(map(_knows_completeness, applied)):
        raise _NotRewritableError
    if not _is_about_objects(upstream, upstream, 0):
        raise _NotRewritableError
    # Before draft 2019-09 nothing is read beside a $ref, and two keywords `not` cannot stand in one schema.
    nested = not {"$ref", "not"}.isdisjoint(upstream)
    moved = _Move("/anyOf/0/allOf/0" if nested else "/anyOf/0").whole(upstream)
    dialect = {"$schema": moved.pop("$schema")} if "$schema" in moved else {}
    own = {"allOf": [moved]} if nested else moved
    answer = dialect | {"type": "object", "anyOf": [own | {"not": {"required": list(_ALWAYS)}}, dict(ENVELOPE_SCHEMA)]}
    if upstream.get("x-fastmcp-wrap-result") and moved.get("properties", {}).keys() == {"result"}:
        # FastMCP's client takes the type of what stands in the wrap from here alone. Without the envelope's own fields
        # it would make of an envelope an object whose `result` is null.
        answer["properties"] = {"result": moved["properties"]["result"], **ENVELOPE_SCHEMA["properties"]}
    return answer


@dataclass(slots=True)
class _Move:
    """Moves a schema under `base`, and its references with it."""

    base: str
    places: set[str] = field(default_factory=set)
    targets: set[str] = field(default_factory=set)

    def whole(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """The moved schema. Raises for one that refers to anything but schemas of its own."""
        moved: dict[str, Any] = self.schema(schema, "")
        if not self.targets <= self.places:
            raise _NotRewritableError
        return moved

    def schema(self, schema: Any, place: str) -> Any:
        self.places.add(place)
        if not isinstance(schema, Mapping):
            return schema
        if not _PLACED.isdisjoint(schema) or ("$schema" in schema and place):
            raise _NotRewritableError
        return {key: self._keyword(key, value, f"{place}/{_escaped(key)}") for key, value in schema.items()}

    def _keyword(self, key: str, value: Any, place: str) -> Any:
        if key == "$ref":
            return self._reference(value)
        if key in _NAMED and isinstance(value, Mapping):
            return {name: self.schema(one, f"{place}/{_escaped(name)}") for name, one in value.items()}
        if key in _LISTS and isinstance(value, list):
            return [self.schema(one, f"{place}/{number}") for number, one in enumerate(value)]
        if key in _ONE:
            return self.schema(value, place)
        return value

    def _reference(self, value: Any) -> str:
        if not isinstance(value, str) or not (value == "#" or value.startswith("#/")):
            raise _NotRewritableError
        self.targets.add(unquote(value[1:]))
        return f"#{self.base}{value[1:]}"


def _applied(schema: Any, root: Mapping[str, Any], seen: set[int]) -> Iterator[Mapping[str, Any]]:
    """The schema and all others that are asked about the same value."""
    if not isinstance(schema, Mapping) or id(schema) in seen:
        return
    seen.add(id(schema))
    yield schema
    for key in _IN_PLACE & schema.keys():
        value = schema[key]
        members = value.values() if key in _NAMED else value if isinstance(value, list) else (value,)
        for member in members:
            yield from _applied(member, root, seen)
    if "$ref" in schema:
        yield from _applied(_target(schema["$ref"], root), root, seen)


def _knows_completeness(schema: Mapping[str, Any]) -> bool:
    """Whether a value of the tool's own may have that field on purpose."""
    named = "completeness" in schema.get("properties", ()) or "completeness" in schema.get("required", ())
    return named or any(_matches(pattern) for pattern in schema.get("patternProperties", ()))


def _matches(pattern: str) -> bool:
    """Whether a pattern of property names covers ours; one that Python cannot read may."""
    try:
        return re.search(pattern, "completeness") is not None
    except re.error:
        return True


def _is_about_objects(schema: Any, root: Mapping[str, Any], depth: int) -> bool:
    """Whether only objects are accepted, as far as the type or a reference says."""
    if not isinstance(schema, Mapping) or depth > _LONGEST_CHAIN:
        return False
    if "type" in schema:
        return bool(schema["type"] == "object")
    return "$ref" in schema and _is_about_objects(_target(schema["$ref"], root), root, depth + 1)


_LONGEST_CHAIN: Final = 16  # of references to references


def _target(reference: Any, root: Mapping[str, Any]) -> Any:
    """What a local reference refers to; None for any other."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    found: Any = root
    for step in unquote(reference[1:]).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        found = _step(found, name)
    return found


def _step(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(name)
    if isinstance(value, list) and name.isascii() and name.isdecimal() and int(name) < len(value):
        return value[int(name)]
    return None


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
