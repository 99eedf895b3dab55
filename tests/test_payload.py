"""Payloads: what would have been sent, without loss and without repair."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import math
import uuid

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.errors import ArgumentsInvalid
from spillcache.payload import to_bytes, to_json
from tests.strategies import documents


@dataclasses.dataclass
class Sample:
    """A tool's own type."""

    value: object
    labels: dict[str, str] = dataclasses.field(default_factory=dict)


class Level(enum.Enum):
    """A tool's own enumeration."""

    HIGH = "high"


class Model:
    """What a Pydantic model looks like from outside."""

    def __init__(self, value: object) -> None:
        self._value = value

    def model_dump(self, *, mode: str) -> dict[str, object]:
        """The model's fields."""
        return {"mode": mode, "value": self._value}


class Untyped(Model):
    """A Pydantic model of fields without a type: their NaN and infinities are null in its JSON mode."""

    def model_dump(self, *, mode: str) -> dict[str, object]:
        """The model's fields."""
        plain = json.loads(orjson.dumps(self._value, option=orjson.OPT_NON_STR_KEYS))
        return {"value": plain if mode == "json" else self._value}


@given(st.binary())
def test_bytes_are_the_payload(raw: bytes) -> None:
    """Bytes, bytearrays and views are stored as they are."""
    assert to_bytes(raw) == to_bytes(bytearray(raw)) == to_bytes(memoryview(raw)) == raw


@given(st.text())
def test_text_comes_back_as_it_was(text: str) -> None:
    """UTF-8, with lone surrogates in their three-byte form; nothing is normalised, no newline translated."""
    assert to_bytes(text).decode("utf-8", "surrogatepass") == text


@given(documents)
def test_json_says_the_same_value(value: object) -> None:
    """Reading the payload gives the value again; NaN and infinities stay what they are, never null."""
    assert json.dumps(json.loads(to_json(value)), sort_keys=True) == json.dumps(value, sort_keys=True)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (math.nan, "NaN"),
        ([1, None, math.inf], "[1,null,Infinity]"),
        ({"v": np.array([1.5, math.nan])}, '{"v":[1.5,NaN]}'),
        ({"v": np.float32(math.nan)}, '{"v":NaN}'),
        ([np.array([[1, 2]]), None], "[[[1,2]],null]"),
        (Sample(-math.inf, {"a": "null"}), '{"value":-Infinity,"labels":{"a":"null"}}'),
        ({"deep": [Sample(Sample(math.nan))]}, '{"deep":[{"value":{"value":NaN,"labels":{}},"labels":{}}]}'),
        (Model(math.nan), '{"mode":"json","value":NaN}'),
        (Untyped([math.nan, None, {"a": (1, math.inf)}]), '{"value":[NaN,null,{"a":[1,Infinity]}]}'),
        ([Untyped({datetime.date(2026, 1, 2): math.nan})], '[{"value":{"2026-01-02":NaN}}]'),
        ("NaN", "NaN"),
        ({"v": "NaN"}, '{"v":"NaN"}'),
    ],
)
def test_not_a_number_is_not_nothing(value: object, text: str) -> None:
    """Wherever a NaN or an infinity stands, in lists, arrays, dataclasses or models, it does not become null."""
    assert to_bytes(value) == text.encode()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (10**30, "1" + "0" * 30),
        ({"id": -(2**70), "x": None}, '{"id":-1180591620717411303424,"x":null}'),
        ({"half": "\ud83d"}, '{"half":"\\ud83d"}'),
        ({1: None, 2.5: [], None: "é"}, '{"1":null,"2.5":[],"null":"é"}'),
        ({uuid.UUID(int=1): None}, '{"00000000-0000-0000-0000-000000000001":null}'),
        ([{datetime.date(2026, 1, 2): math.nan}], '[{"2026-01-02":NaN}]'),
        ({datetime.date(2026, 1, 2): 1}, '{"2026-01-02":1}'),
        ([datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC), None], '["2026-01-02T00:00:00+00:00",null]'),
        ([Level.HIGH, None], '["high",null]'),
        ({datetime.date(2026, 1, 2): 1, "2026-01-02": None}, '{"2026-01-02":1,"2026-01-02":null}'),
        ({datetime.date(2026, 1, 2): None, 1: "a", "1": "b"}, '{"2026-01-02":null,"1":"a","1":"b"}'),
        ({datetime.date(2026, 1, 2): None, math.nan: 1}, '{"2026-01-02":null,"NaN":1}'),
        ((1, (2, None)), "[1,[2,null]]"),
        (None, "null"),
        ({}, "{}"),
    ],
)
def test_what_one_serialiser_lacks_the_other_has(value: object, text: str) -> None:
    """Huge integers, lone surrogates, and keys that are no text are written whether or not a null is among them."""
    assert to_json(value) == text.encode()


def circular() -> list[object]:
    """A list that holds itself."""
    ring: list[object] = []
    ring.append(ring)
    return ring


def bottomless() -> list[object]:
    """Lists in lists, deeper than any writer of the standard library goes."""
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    return nested


@pytest.mark.parametrize("value", [{(1, 2): 3}, {"a": {1, 2}}, object(), circular(), bottomless(), [None, b"raw"]])
def test_what_json_cannot_hold_is_refused_without_quoting_it(value: object) -> None:
    """Sets, objects, cycles: a typed error that names the kind of failure only."""
    with pytest.raises(ArgumentsInvalid, match="cannot be written as JSON") as error:
        to_json(value)
    assert len(error.value.message) < 80


@given(documents)
def test_a_large_object_is_stored_whole(value: object) -> None:
    """A dict through the library is measured and stored as its JSON, however large."""
    payload = to_bytes({"items": [value] * 50})
    assert len(json.loads(payload)["items"]) == 50
    assert payload == to_bytes({"items": [value] * 50})


def test_orjson_s_own_text_is_used_where_it_is_faithful() -> None:
    """The fast writer's bytes are the payload when no null is among them."""
    value = {"status": "success", "values": [[1, "2"]] * 3}
    assert to_json(value) == orjson.dumps(value)
