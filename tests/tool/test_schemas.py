"""Declared schemas: what they accept after they were widened, and when nothing is declared instead."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from referencing import Registry

from spillcache.envelope import Envelope
from spillcache.errors import StoreFull
from spillcache.tool.schemas import ENVELOPE_SCHEMA, UNDECLARED, declare
from tests.strategies import documents
from tests.test_envelope import BATCH, envelope_of, failure_of

NAMES = ("name", "values", "data", "hint", "kind", "qu/ote~", "é %", "$ref")


def validator(schema: Any) -> jsonschema.protocols.Validator:
    """As a strict client makes it: the schema itself checked, references resolved inside the document alone."""
    made = jsonschema.validators.validator_for(schema)
    made.check_schema(schema)
    return made(schema, registry=Registry())


def widened(schema: dict[str, Any]) -> dict[str, Any]:
    """The declared schema, as JSON carries it."""
    declared = declare(schema)
    assert declared.answers_structured
    assert declared.schema is not None
    answer: dict[str, Any] = json.loads(json.dumps(declared.schema))
    return answer


def _envelopes() -> list[dict[str, Any]]:
    """Real ones of both sorts, bare and with every field there is."""
    context = {"parts": {"spilled": ["content[0]"], "kept": ["content[1]"]}, "structured_content": {"ms": 0}}
    made = [envelope_of(BATCH, 7_500), envelope_of(b"\x00" * 9_000, 1_900), failure_of(BATCH, 7_500)]
    widest = Envelope("failed", "hint", 0, "bytes", "tool", code=StoreFull.code, context=context)
    return [json.loads(json.dumps(one.as_dict() | more)) for one in [*made, widest] for more in ({}, context)]


ENVELOPES = _envelopes()

_plain = st.sampled_from(("string", "integer", "number", "boolean", "null")).map(lambda name: {"type": name})
_held = st.fixed_dictionaries({"$ref": st.just("#/$defs/nowhere"), "properties": documents})
_constants = st.one_of(
    documents.map(lambda value: {"const": value}),
    st.lists(_held, min_size=1, max_size=2).map(lambda values: {"enum": values}),  # data, however it looks
)
_references = st.sampled_from(("#/$defs/a~1b", "#/$defs/second", "#", "#/$defs/%C3%A9", "#/properties/name")).map(
    lambda target: {"$ref": target}
)


def _objects(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    properties = st.dictionaries(st.sampled_from(NAMES), inner, min_size=1, max_size=3)
    return properties.flatmap(
        lambda some: st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.just(some)},
            optional={
                "required": st.lists(st.sampled_from(sorted(some)), unique=True),
                "additionalProperties": st.one_of(st.booleans(), inner),
                "default": documents,
                "title": st.just("$ref"),
            },
        )
    )


_schemas = st.recursive(
    st.one_of(_plain, _constants, _references),
    lambda inner: st.one_of(
        _objects(inner),
        inner.map(lambda schema: {"type": "array", "items": schema}),
        st.lists(inner, min_size=1, max_size=2).map(lambda some: {"anyOf": some}),
        st.lists(inner, min_size=1, max_size=2).map(lambda some: {"type": "array", "prefixItems": some}),
        inner.map(lambda schema: {"not": schema}),
    ),
    max_leaves=6,
)
# Never about the value itself, but about what is in it: a schema that asks itself would go round in a circle.
_inner = st.fixed_dictionaries({"properties": st.fixed_dictionaries({"data": _schemas})})
_roots = st.builds(
    lambda root, definitions, extra: (
        {**root, **extra, "$defs": definitions} | {"properties": root["properties"] | {"name": {"type": "string"}}}
    ),
    _objects(_schemas),
    st.fixed_dictionaries(dict.fromkeys(("a/b", "second", "é"), _objects(st.one_of(_plain, _constants)))),
    st.one_of(
        st.just({}),
        st.fixed_dictionaries({"not": _inner}),
        st.fixed_dictionaries({"allOf": st.lists(_inner, min_size=1, max_size=2)}),
    ),
)
_values = st.one_of(
    st.dictionaries(st.sampled_from((*NAMES, "completeness")), documents, max_size=4), st.sampled_from(ENVELOPES)
)


@given(_roots, _values)
def test_the_tool_s_own_values_are_accepted_as_before_and_envelopes_besides(
    schema: dict[str, Any], value: dict[str, Any]
) -> None:
    """For every schema and value: accepted if it was accepted, or is an envelope; else refused."""
    own = validator(schema).is_valid(value)
    is_envelope = validator(ENVELOPE_SCHEMA).is_valid(value)
    like_one = {*ENVELOPE_SCHEMA["required"]} <= value.keys()
    assert validator(widened(schema)).is_valid(value) is (is_envelope or (own and not like_one))


@given(_roots)
def test_every_envelope_is_accepted_and_never_as_a_value_of_the_tool(schema: dict[str, Any]) -> None:
    """Both sorts, with every field, whatever the tool declares."""
    declared = widened(schema)
    assert declared["type"] == "object"
    whole = validator(declared)
    own = whole.evolve(schema=declared["anyOf"][0])
    for envelope in ENVELOPES:
        assert whole.is_valid(envelope)
        assert not own.is_valid(envelope)


DEFAULTED = {"type": "object", "properties": {"series": {"type": "array", "default": []}}}


def test_an_envelope_does_not_pass_for_a_value_whose_fields_all_have_defaults() -> None:
    """A typed client would read it as an empty result otherwise."""
    (envelope, *_) = ENVELOPES
    assert validator(DEFAULTED).is_valid(envelope)
    assert not validator(widened(DEFAULTED)["anyOf"][0]).is_valid(envelope)


def test_a_value_of_the_tool_s_own_may_have_a_field_completeness() -> None:
    """Undeclared fields that happen to be called so are not refused."""
    assert validator(widened(DEFAULTED)).is_valid({"series": [], "completeness": 0.93})


def test_a_recursive_schema_refers_to_where_it_now_is() -> None:
    """References to definitions and to the root still mean the same."""
    node = {
        "type": "object",
        "required": ["name"],
        "additionalProperties": False,
        "properties": {
            "name": {"type": "string"},
            "parent": {"$ref": "#"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
        },
        "$defs": {"Node": {"$ref": "#"}},
    }
    checked = validator(widened(node))
    assert checked.is_valid({"name": "a", "parent": {"name": "b"}, "children": [{"name": "c"}]})
    assert not checked.is_valid({"name": "a", "parent": {}})
    assert not checked.is_valid({"name": "a", "children": [{"name": 1}]})


def test_a_root_that_is_a_reference_stays_one_in_old_drafts() -> None:
    """Draft 7 reads nothing beside a reference; the dialect stays at the root."""
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$ref": "#/definitions/Answer",
        "definitions": {"Answer": {"type": "object", "properties": {"a": {"type": "integer"}}}},
    }
    declared = widened(schema)
    assert declared["$schema"] == schema["$schema"]
    own = validator(declared).evolve(schema=declared["anyOf"][0])
    assert validator(declared).is_valid({"a": 1})
    assert not validator(declared).is_valid({"a": "1"})
    for envelope in ENVELOPES:
        assert validator(declared).is_valid(envelope)
        assert not own.is_valid(envelope)


def test_fastmcp_s_wrap_tells_the_type_inside_and_what_an_envelope_has() -> None:
    """Its client reads no `anyOf` there, so both stand beside it."""
    declared = widened(
        {
            "type": "object",
            "properties": {"result": {"type": "array", "items": {"type": "string"}}},
            "required": ["result"],
            "x-fastmcp-wrap-result": True,
        }
    )
    assert declared["properties"]["result"] == {"type": "array", "items": {"type": "string"}}
    assert "completeness" in declared["properties"]
    assert validator(declared).is_valid({"result": ["a"]})
    assert not validator(declared).is_valid({"result": [1]})
    assert all(validator(declared).is_valid(envelope) for envelope in ENVELOPES)


def test_the_tool_s_own_schema_is_left_alone() -> None:
    """What was given is not changed in place."""
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}}}
    before = json.dumps(schema)
    widened(schema)
    assert json.dumps(schema) == before


A = {"a": {"type": "string"}}


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(None, id="nothing declared"),
        pytest.param(True, id="anything"),
        pytest.param({}, id="says nothing"),
        pytest.param({"type": "object", "additionalProperties": True, "title": "Free"}, id="any object"),
        pytest.param({"type": "array", "items": {"type": "string"}}, id="a list"),
        pytest.param({"type": ["object", "null"], "properties": A}, id="an object or null"),
        pytest.param({"properties": A}, id="not only objects"),
        pytest.param({"type": "object", "properties": A | {"completeness": {"type": "number"}}}, id="its own property"),
        pytest.param({"type": "object", "properties": A, "required": ["completeness"]}, id="required"),
        pytest.param({"type": "object", "patternProperties": {"^comp": {}}}, id="by pattern"),
        pytest.param({"type": "object", "patternProperties": {"(?<name": {}}}, id="by a pattern nobody can read"),
        pytest.param(
            {"type": "object", "allOf": [{"$ref": "#/$defs/B"}], "$defs": {"B": {"required": ["completeness"]}}},
            id="behind a reference",
        ),
        pytest.param({"type": "object", "properties": {"a": {"$ref": "other.json#/a"}}}, id="another document"),
        pytest.param(
            {"type": "object", "properties": {"a": {"$ref": "#/components/x"}}, "components": {"x": {}}},
            id="not a schema",
        ),
        pytest.param({"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}, id="nowhere"),
        pytest.param(
            {"type": "object", "properties": {"a": {"$ref": "#a"}}, "$defs": {"x": {"$anchor": "a"}}}, id="anchor"
        ),
        pytest.param({"$id": "https://example.org/a", "type": "object", "properties": A}, id="a place of its own"),
        pytest.param({"type": "object", "properties": {"a": {"$dynamicRef": "#a"}}}, id="dynamic"),
        pytest.param({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}, id="round in a circle"),
    ],
)
def test_nothing_is_declared_where_an_envelope_could_not_be_told_apart(schema: Any) -> None:
    """Nor where the schema cannot be moved. Spilled results then carry no structured content."""
    assert declare(schema) == UNDECLARED


def test_a_schema_is_widened_once() -> None:
    """A second proxy finds it so and leaves it."""
    declared = widened(DEFAULTED)
    assert widened(declared) == declared


def test_dropping_is_an_option() -> None:
    """Whatever is declared."""
    assert declare(DEFAULTED, drop=True) == UNDECLARED
