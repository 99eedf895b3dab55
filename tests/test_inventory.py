"""The stored inventory: names as strangers wrote them, shown safely and found again."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.digest import seal
from spillcache.errors import (
    ArgumentsInvalid,
    ManifestVersionUnsupported,
    ResultAmbiguous,
    ResultNotFound,
    SpillCorrupt,
)
from spillcache.ids import new_id
from spillcache.inventory import (
    FIELD,
    MAX_SUMMARY_NAMES,
    SUMMARY_FIELD,
    Contents,
    Summary,
    decode_contents,
    decode_summary,
    encode_contents,
    encode_summary,
    find_result,
    summarise,
)
from spillcache.scan import Inventory, scan
from spillcache.shown import shown_name
from tests.memory import SPILL_ID
from tests.strategies import HOSTILE_NAMES, payloads

OTHER = new_id(b"\x01" * 15)


def inventory_of(*names: str, total: int | None = None, partial: tuple[str, ...] = ()) -> Inventory:
    """The inventory of a list of results with these names."""
    inventory = scan(json.dumps([{"name": name} for name in names]).encode()).inventory
    return replace(inventory, results_total=len(names) if total is None else total, partial=partial)


@given(st.lists(st.one_of(st.text(max_size=30), st.sampled_from(HOSTILE_NAMES)), min_size=1, max_size=30), st.data())
def test_a_result_is_found_by_what_was_shown_unless_others_look_alike(names: list[str], data: st.DataObject) -> None:
    """Exactly one result looks so: that one. Several: an error that lists their numbers, never a guess."""
    inventory = inventory_of(*names)
    names = [result.name for result in inventory.results]  # one without a name goes by its place
    place = data.draw(st.integers(0, len(names) - 1))
    shown = shown_name(names[place])
    alike = [number for number, name in enumerate(names, 1) if shown_name(name) == shown]
    if len(alike) == 1:
        assert find_result(inventory, shown) == place
    else:
        with pytest.raises(ResultAmbiguous) as error:
            find_result(inventory, shown)
        assert list(error.value.indices) == alike
        assert str(alike[0]) in error.value.next_step


@given(st.lists(st.text(max_size=120), min_size=1, max_size=12, unique=True), st.data())
def test_a_result_is_found_by_its_own_full_name(names: list[str], data: st.DataObject) -> None:
    """A name longer than is shown, or with what is not shown, picks its result among those that look alike."""
    names = [result.name for result in inventory_of(*names).results]
    place = data.draw(st.integers(0, len(names) - 1))
    if shown_name(names[place]) != names[place]:
        assert find_result(inventory_of(*names), names[place]) == place


def test_a_name_that_only_looks_like_another_is_told_apart() -> None:
    """A stranger cannot shadow a result by an invisible character: the reader has to choose by number."""
    inventory = inventory_of("cpu", "cpu\u200b", "mem")
    with pytest.raises(ResultAmbiguous) as error:
        find_result(inventory, "cpu")
    assert error.value.indices == (1, 2)
    assert find_result(inventory, "cpu\u200b") == 1
    assert find_result(inventory, 1) == 0


@pytest.mark.parametrize(("wanted", "place"), [(1, 0), (3, 2), ("1", 0), (" 3 ", 2), ("0" * 20 + "3", 2)])
def test_results_are_numbered_from_one(wanted: str | int, place: int) -> None:
    """A number, or a text of one, is an index where no result bears it as its name."""
    assert find_result(inventory_of("a", "b", "c"), wanted) == place


@pytest.mark.parametrize("wanted", [True, False, 1.0, 1.5, b"a", [1], {}, None])
def test_what_is_neither_name_nor_number_is_refused(wanted: Any) -> None:
    """Agents send such things; `true` was read as number 1."""
    with pytest.raises(ArgumentsInvalid):
        find_result(inventory_of("a", "b"), wanted)


def test_a_numeric_name_comes_before_the_number() -> None:
    """Names are looked at first; a result called "3" is found by "3", the third one by the number 3."""
    inventory = inventory_of("3", "2", "x")
    assert find_result(inventory, "3") == 0
    assert find_result(inventory, 3) == 2
    assert find_result(inventory, "1") == 0


def repr_of(wanted: str | int) -> str:
    """A short id for a test's parameter."""
    return ascii(wanted)[:20] if isinstance(wanted, str) else f"{wanted.bit_length()} bits"


@pytest.mark.parametrize(
    "wanted",
    [0, -1, 4, 10**30, 10**5_000, "0", "4", "1000000000001", "0" * 20, "-1", "\uff19", "²", "1.0", "9" * 5_000, "null"],
    ids=repr_of,
)
def test_a_number_that_is_not_there_is_not_found(wanted: str | int) -> None:
    """No wrapping round from the end, no rounding, no reading of foreign digits."""
    with pytest.raises(ResultNotFound) as error:
        find_result(inventory_of("a", "b", "c"), wanted)
    assert len(error.value.message) < 300
    assert "not an empty result" in error.value.next_step


def test_a_missing_name_names_the_nearest() -> None:
    """At most five, the best first."""
    inventory = inventory_of("cpu_usage_total", "cpu_usage", "memory", *(f"disk_{n}" for n in range(900)))
    with pytest.raises(ResultNotFound) as error:
        find_result(inventory, "cpu_usge")
    assert error.value.nearest[:2] == ("cpu_usage", "cpu_usage_total")
    assert "cpu" not in str(error.value)
    assert len(error.value.nearest) <= 5


@pytest.mark.parametrize("wanted", ["b", 2, "2"])
def test_what_a_partial_inventory_does_not_list_may_still_be_there(wanted: str | int) -> None:
    """Where the scan could not see everything, "not found" says so."""
    with pytest.raises(ResultNotFound, match="does not name everything: window"):
        find_result(inventory_of("a", total=None, partial=("window",)), wanted)


@given(payloads)
def test_the_stored_inventory_and_its_summary_read_back(payload: bytes) -> None:
    """As written, for whatever a payload's scan found."""
    found = scan(payload)
    contents = Contents(found.inventory, int(found.slabs.extra_once.sum()), int(found.slabs.extra_twice.sum()))
    assert decode_contents(encode_contents(contents, SPILL_ID), SPILL_ID) == contents
    summary = summarise(found.inventory)
    assert decode_summary(encode_summary(summary, SPILL_ID), SPILL_ID) == summary


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_every_name_can_be_stored(name: str) -> None:
    """Lone surrogates become replacement characters, an empty name the place; 200 characters stay."""
    contents = Contents(inventory_of(name, "other"), 1, 2)
    read = decode_contents(encode_contents(contents, SPILL_ID), SPILL_ID).inventory.results[0].name
    assert read == (name.replace("\ud83d", "\ufffd")[:200] or "[0]")


@given(payloads, st.data())
def test_damage_is_corrupt(payload: bytes, data: st.DataObject) -> None:
    """A flipped bit, a shorter form, another spill."""
    contents = Contents(scan(payload).inventory, 0, 0)
    for stored, decode in (
        (encode_contents(contents, SPILL_ID), decode_contents),
        (encode_summary(summarise(contents.inventory), SPILL_ID), decode_summary),
    ):
        bit = data.draw(st.integers(8, 8 * len(stored) - 1))
        flipped = bytearray(stored)
        flipped[bit // 8] ^= 1 << bit % 8
        for damaged in (bytes(flipped), stored[: bit // 8], stored + b"x"):
            with pytest.raises(SpillCorrupt):
                decode(damaged, SPILL_ID)
        with pytest.raises(SpillCorrupt):
            decode(stored, OTHER)
        with pytest.raises(ManifestVersionUnsupported):
            decode(b"\x02" + stored[1:], SPILL_ID)


def test_a_stored_inventory_costs_little() -> None:
    """Twenty thousand results of one shape take a few bytes each: numbers that repeat are not stored anew."""
    results = b",".join(b'{"id":%d,"ok":true}' % number for number in range(20_000))
    stored = encode_contents(Contents(scan(b"[%b]" % results).inventory, 0, 0), SPILL_ID)
    assert len(stored) < 5 * 20_000


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"[1,2]", b"{}", b"[[],[],[]]", b"\x28\xb5\x2f\xfd", b"\xff"])
def test_a_sealed_body_without_the_form_is_corrupt(body: bytes) -> None:
    """A good digest over something else is still no inventory."""
    with pytest.raises(SpillCorrupt):
        decode_contents(seal(SPILL_ID, 0, FIELD, body), SPILL_ID)
    with pytest.raises(SpillCorrupt):
        decode_summary(seal(SPILL_ID, 0, SUMMARY_FIELD, body), SPILL_ID)


@pytest.mark.parametrize("count", [0, 1, MAX_SUMMARY_NAMES, MAX_SUMMARY_NAMES + 1, 5_000])
def test_a_summary_counts_all_and_names_some(count: int) -> None:
    """`results` is the number of all, `names_omitted` of those that are not named; what does not apply is absent."""
    answer = summarise(inventory_of(*(f"n{number}" for number in range(count)))).as_dict()
    named = min(count, MAX_SUMMARY_NAMES)
    assert answer["results"] == count
    assert len(answer.get("result_names", [])) == named
    assert answer.get("names_omitted", 0) == count - named
    assert list(answer) == [key for key in ("results", "result_names", "names_omitted") if key in answer]


def test_a_summary_says_what_is_odd_and_nothing_else() -> None:
    """`partial`, `strict_json` false and `duplicate_keys` stand there when they apply, in this order, never as null."""
    assert list(Summary(None, (), ("window",), strict=False, duplicate_keys=3).as_dict()) == [
        "partial", "strict_json", "duplicate_keys",
    ]  # fmt: skip
    assert Summary(None, (), (), strict=True, duplicate_keys=0).as_dict() == {}


@pytest.mark.parametrize(
    ("payload", "results", "kind_of_first"),
    [
        (b"null", 1, "null"),
        (b"[]", 0, None),
        (b'{"status":"success","data":{"resultType":"vector","result":[]}}', 0, None),
        (b'{"data":null}', 1, "null"),
    ],
)
def test_null_and_empty_are_told_apart(payload: bytes, results: int, kind_of_first: str | None) -> None:
    """An empty list is zero results; a null is one result of type null: neither is "no collection"."""
    inventory = scan(payload).inventory
    assert summarise(inventory).as_dict()["results"] == results
    assert [result.type for result in inventory.results[:1]] == ([kind_of_first] if kind_of_first else [])


def test_not_a_number_is_flagged() -> None:
    """A bare NaN or Infinity makes the document non-strict; the word in quotes does not."""
    assert summarise(scan(b'{"results":[{"v":NaN},{"v":-Infinity}]}').inventory).as_dict()["strict_json"] is False
    assert "strict_json" not in summarise(scan(b'{"results":[{"v":"NaN"},{"v":1}]}').inventory).as_dict()


def test_repeated_keys_are_counted() -> None:
    """Both members are kept in the bytes, and the inventory says how many keys repeat."""
    payload = json.dumps({"results": {"A": {"x": [1]}, "B": {"x": [2]}}})[:-2].encode() + b',"A":{"x":[3]}}}'
    assert summarise(scan(payload).inventory).as_dict()["duplicate_keys"] == 1


@pytest.mark.parametrize(
    ("payload", "reason"),
    [(b"[" * 100_000, "truncated"), (b"[" * 100_000 + b"]" * 100_000, "too_deep"),
        (b'{"a":[1,2]} {"b":3}', "concatenated")],
)  # fmt: skip
def test_what_could_not_be_seen_is_said(payload: bytes, reason: str) -> None:
    """A hundred thousand levels, a cut document, two in one: partial, by name."""
    assert reason in summarise(scan(payload).inventory).as_dict()["partial"]
