"""Keys of many members at once, against a regular expression on each; blanks by the word, against `strip`."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spillcache.scan.index import Index
from spillcache.scan.keys import Keys, KeysBefore, key_ends, repeats
from spillcache.scan.structure import Rows
from spillcache.scan.words import gather

_KEY = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_WANTED = (b"a", b"id", b"name", b"values", b"structuredContent")
keys = st.one_of(
    st.sampled_from((*_WANTED, b"", b"names", b"nam", b"e", b"va:lues", b"xvalues", b"structuredContents")),
    st.text('ab"\\é:,{ ', max_size=30).map(lambda text: text.encode().replace(b"\\", b"\\\\").replace(b'"', b'\\"')),
)
_PIECES = (b" ", b"\n", b"\t", b"\r", b"\x00", b"\x1f", b"x", b" " * 70, b"\n" + b" " * 600)
blanks = st.one_of(st.just(b""), st.text(" \t\r\n", max_size=40).map(str.encode))


def index_of(text: bytes) -> Index:
    """An index that knows the text only."""
    nothing = np.empty(0, np.int32)
    plain = not re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]", text)
    rows = [Rows(np.empty(0, np.uint64), nothing, nothing, None)]
    return Index(np.frombuffer(text, np.uint8), rows, len(text), broken=False, plain=plain)


@given(st.lists(keys, min_size=1, max_size=12), blanks, blanks)
def test_keys_are_found_from_both_sides(members: list[bytes], before: bytes, after: bytes) -> None:
    """Where each ends, and which are wanted, told from where they begin and from where their values do."""
    text, starts, values = b"", [], []
    for member in members:
        starts.append(len(text))
        text += b'"%b"%b:%b' % (member, before, after)
        values.append(len(text))
        text += b"1,"
    index = index_of(text)
    ends = key_ends(index, np.array(starts))
    assert ends.tolist() == [match.end() for start in starts if (match := _KEY.match(text, start))]
    heads, tails = Keys(index, np.array(starts), _WANTED), KeysBefore(index, np.array(values))
    for wanted in _WANTED:
        places = [place for place, member in enumerate(members) if member == wanted]
        assert heads.which_are(wanted).tolist() == places
        assert np.flatnonzero(tails.are(wanted)).tolist() == places
    repeated = repeats(gather(index.text, np.array(starts), ends), np.zeros(len(members), np.int64))
    assert repeated == len(members) - len(set(members))


@given(st.text('ab"\\:', max_size=80).map(str.encode))
def test_a_key_without_an_end_has_none(text: bytes) -> None:
    """At any place of any text: the end that the expression finds, or -1."""
    places = np.arange(len(text))
    matches = [_KEY.match(text, place) for place in places.tolist()]
    found = key_ends(index_of(text), places) if text else places
    assert found.tolist() == [match.end() if match else -1 for match in matches]


@given(st.lists(st.sampled_from(_PIECES), min_size=1))
def test_blanks_are_passed_over_from_any_place(pieces: list[bytes]) -> None:
    """Forwards and backwards, by the word or one by one; controls that are no blanks stop it."""
    text = b"".join(pieces)
    places = np.arange(len(text) + 1)
    index = index_of(text)
    assert index.skip_blanks(places).tolist() == [
        len(text) - len(text[place:].lstrip(b" \t\r\n")) for place in places.tolist()
    ]
    assert index.trim_blanks(places).tolist() == [len(text[:place].rstrip(b" \t\r\n")) for place in places.tolist()]


@given(st.binary(max_size=60), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=12))
def test_pieces_are_copied(text: bytes, ranges: list[tuple[int, int]]) -> None:
    """Pieces of any length, from any place, in any order, also those that end before they begin: these are empty."""
    bounded = [(min(start, len(text)), min(end, len(text))) for start, end in ranges]
    start, end = (np.array([one[side] for one in bounded], np.int64) for side in (0, 1))
    pieces = gather(np.frombuffer(text, np.uint8), start, end)
    assert [pieces.piece(number) for number in range(len(bounded))] == [text[low:high] for low, high in bounded]
