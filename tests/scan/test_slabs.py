"""Slabs: where a payload may be cut, and what escaping costs between cuts."""

from __future__ import annotations

import json
import random
from itertools import pairwise

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.scan import NO_EDGE, STRETCH, Scan, Scanner, SlabTable, scan
from spillcache.scan.block import BLOCK
from tests.malformed import malformed
from tests.scan.reference import Slab, cost, edges, slabs, unsafe_places

MALFORMED = dict(malformed())
PIECES = st.sampled_from(
    [
        *"{}[],:\"\\\n \t\x00\x0b", '\\"', "\\\\", "\\n", "\\u00e9", "\\ud83d\\ude00", "\\ud83d", "\\ude00",
        "\\u12", "é", "漢", "😀", "\x7f",
        "1,", '"a":', '{"a":1},', "[1,2],", "[[", "]]", "x" * 60, "x" * 509, '{"id":1}\n',
        " " * 64, "\\" * 63, "\\" * 64, "é" * 40, "NaN",
    ]
)  # fmt: skip
TEXTS = st.one_of(
    st.lists(PIECES, max_size=120).map(lambda pieces: "".join(pieces).encode()),
    st.lists(PIECES, max_size=120).map(lambda pieces: ('{"data":[' + "".join(pieces)).encode()),
    st.lists(PIECES, max_size=120).map(lambda pieces: ('{"a":1}\n[2]\n' + "".join(pieces)).encode()),
    st.lists(PIECES, max_size=120).map(lambda pieces: ("log: " + "".join(pieces)).encode()),
)


def rows(table: SlabTable) -> list[Slab]:
    """A slab table as the reference writes it."""
    columns = table.ends, table.depth, table.extra_once, table.extra_twice
    return [Slab(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def expected(payload: bytes, found: Scan) -> list[Slab]:
    """What the reference makes of a payload, given its kind and its results."""
    if found.kind == "bytes":
        return []
    if not found.inventory.results or found.kind == "ndjson":
        level = 0
    else:  # that of a comma in the place of the first result
        before = payload[: found.inventory.results[0].start] + b","
        level = edges(before, "json")[len(before)]
    return slabs(payload, found.kind, {result.start: level for result in found.inventory.results})


def stream(payload: bytes, cuts: list[int], window: int = 8 << 20) -> Scan:
    """The payload through a Scanner, split at these places."""
    scanner = Scanner(window=window)
    bounds = [0, *sorted(cut % (len(payload) + 1) for cut in cuts), len(payload)]
    tables = [scanner.feed(memoryview(payload)[start:end]) for start, end in pairwise(bounds)]
    last, kind, inventory = scanner.finish()
    return Scan(len(payload), kind, SlabTable.concatenate([*tables, last]), inventory)


@pytest.mark.parametrize("name", MALFORMED)
def test_slabs_of_damaged_documents_are_those_of_the_reference(name: str) -> None:
    """Cuts, depths and costs are exactly what the byte-by-byte rules say, whatever is wrong with the document."""
    payload = MALFORMED[name]
    if len(payload) > 100_000:
        payload = payload[:20_000]
    found = scan(payload)
    assert rows(found.slabs) == expected(payload, found)


@given(TEXTS)
def test_slabs_of_any_text_are_those_of_the_reference(payload: bytes) -> None:
    """The rules hold for every mixture of structure, escapes, controls and code points."""
    found = scan(payload)
    assert rows(found.slabs) == expected(payload, found)


@given(
    st.integers(0, 700),
    st.sampled_from(["\\ud83d\\ude00", "\\\\", "é", "漢", "😀", "\\u00e9", "\\ud83d\\ud83d\\ude00", "\\\\\\n"]),
    st.booleans(),
)
def test_no_cut_is_ever_inside_a_unit(offset: int, unit: str, as_json: bool) -> None:
    """Wherever a code point, escape or surrogate pair falls on a stretch's end, the cut goes before it."""
    body = "x" * offset + unit * 400
    payload = f'{{"a":"{body}"}}'.encode() if as_json else body.encode()
    assert not unsafe_places(payload) & set(scan(payload).slabs.ends[:-1].tolist())


@given(TEXTS, st.lists(st.integers(0, 1 << 20), max_size=6), st.integers(1, 6000))
def test_a_stream_is_scanned_as_the_whole_is(payload: bytes, cuts: list[int], window: int) -> None:
    """However a payload is split, a Scanner gives the slabs, kind and inventory of scan with the same window."""
    whole, streamed = scan(payload, window=window), stream(payload, cuts, window)
    assert (streamed.kind, streamed.inventory) == (whole.kind, whole.inventory)
    if whole.kind != "bytes":
        assert rows(streamed.slabs) == rows(whole.slabs)


@pytest.mark.parametrize("window", [1, 512, 100_000, 300_000, 8 << 20])
def test_long_streams_are_scanned_as_the_whole_is(window: int) -> None:
    """Payloads of many blocks, whose state is carried over block ends, come out the same in any split."""
    generator = random.Random(5)  # noqa: S311  repeatable, not secret
    for payload in _long_payloads():
        cuts = [generator.randrange(len(payload)) for _ in range(9)]
        whole, streamed = scan(payload, window=window), stream(payload, cuts, window)
        assert (streamed.kind, streamed.inventory) == (whole.kind, whole.inventory)
        assert rows(streamed.slabs) == rows(whole.slabs)


def test_long_payloads_have_the_slabs_of_the_reference() -> None:
    """What a block hands to the next is enough: slabs of several blocks are those of the byte-by-byte rules."""
    for payload in _long_payloads():
        found = scan(payload)
        assert rows(found.slabs) == expected(payload, found)


def _long_payloads() -> list[bytes]:
    documents = [
        document for name, document in MALFORMED.items() if name.startswith(("odd pieces", "lost quotes", "lines"))
    ]
    sound = [{"name": f"n{n}", "text": 'say "hi"\\ 😀' * (n % 40), "values": [[n, "1"]] * (n % 90)} for n in range(260)]
    return [
        json.dumps({"data": {"result": sound}}).encode(),
        json.dumps(sound, indent=1).encode(),
        b"\n".join(json.dumps(one).encode() for one in sound),
        b'{"data":[' + b",".join(documents),
        b'{"data":1}\n{"x":1}\n' + b"\n".join(documents),
        b"log\n" + b"\n".join(documents),
        b'{"a":"' + b"\\" * 300_001 + b'",1,[2,3]}',
    ]


def test_slabs_come_out_as_soon_as_they_are_final() -> None:
    """After the window, slabs follow the bytes that were fed within a block, and memory need not grow."""
    scanner = Scanner(window=1 << 10)
    fed = settled = 0
    for _ in range(20):
        table = scanner.feed(b'{"a":[1,2,3]},' * 8000)
        fed += 14 * 8000
        settled = int(table.ends[-1]) if len(table) else settled
        assert fed - settled <= BLOCK + 2 * STRETCH


def test_one_cut_per_stretch_and_the_last_is_the_end() -> None:
    """Cut k lies in (512k, 512(k+1)], and the last is the payload's size, whatever the size."""
    for size in (1, 511, 512, 513, 1024, 1025, 262_144, 262_145, 262_150, 262_151, 524_288):
        ends = scan((b"[1,2],3," * (size // 8 + 1))[:size]).slabs.ends
        assert ((ends - 1) // STRETCH == np.arange(len(ends))).all()
        assert ends[-1] == size


def test_costs_are_what_a_serialiser_adds() -> None:
    """The recorded costs are the growth under orjson, once and as a JSON string within a JSON string."""
    characters = [chr(code) for code in range(0x300)] + ["\u2028", "\ufeff", "\uffff", "😀", '"', "\\"]
    for character in characters:
        text = character.encode()
        once = orjson.dumps(character)
        twice = orjson.dumps(once.decode())
        assert cost(text) == (len(once) - 2 - len(text), len(twice) - 6 - len(text)), repr(character)


def test_an_empty_payload_has_no_slabs() -> None:
    """Nothing to cut; its kind is text."""
    found = scan(b"")
    assert (found.size, found.kind, len(found.slabs)) == (0, "text", 0)


def test_a_stretch_without_an_edge_is_marked() -> None:
    """A page that must end inside a string ends at a code point, and the table says that it is no edge."""
    assert set(scan(b'{"a":"' + b"x" * 5000 + b'"}').slabs.depth[:-1].tolist()) == {NO_EDGE}


def test_a_named_result_wins_over_shallower_edges() -> None:
    """A cut stands where the last result of a stretch starts, blanks before it included in the slab before."""
    payload = json.dumps(
        {"status": "success", "data": {"result": [{"name": "x" * 600, "v": [1]} for _ in range(9)]}}, indent=4
    ).encode()
    found = scan(payload)
    assert {result.start for result in found.inventory.results[1:]} <= set(found.slabs.ends.tolist())
