"""Spill ids: a mistyped one is told from a lost one."""

from __future__ import annotations

import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.errors import SpillIdMalformed
from spillcache.ids import LENGTH, RANDOM_BYTES, id_bytes, id_from_bytes, new_id, parse_id

ids = st.binary(min_size=RANDOM_BYTES, max_size=RANDOM_BYTES).map(new_id)
ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
#: Letters that `str.lower` or `str.casefold` turns into an ASCII one, and digits beyond ASCII.
LOOKALIKES = "\u212a\u0130\u017f\uff4b\uff12\u0662\U0001d7d0\u0430"


def refused(text: object) -> bool:
    """Whether this is no id, and the error says how to go on."""
    with pytest.raises(SpillIdMalformed) as error:
        parse_id(text)
    assert len(str(text)) < 8 or str(text) not in error.value.message
    return "Copy spill_id again" in error.value.next_step


@given(ids)
def test_an_id_is_26_characters_of_a_small_alphabet(spill_id: str) -> None:
    """It fits any key, URL and file name, and parses to itself."""
    assert len(spill_id) == LENGTH
    assert set(spill_id) <= set(ALPHABET)
    assert parse_id(spill_id) == spill_id


@given(ids)
def test_case_and_what_models_put_around_a_token_do_not_matter(spill_id: str) -> None:
    """Upper case, white space, quotes and backticks around it are forgiven."""
    assert parse_id(spill_id.upper()) == spill_id
    assert parse_id(f" `{spill_id.capitalize()}`\n") == spill_id
    assert parse_id(f'"{spill_id}"\r\n') == spill_id


@given(ids)
def test_every_other_character_at_every_place_is_malformed(spill_id: str) -> None:
    """The checksum finds every single wrong character; look-alikes beyond ASCII are none of ours."""
    for place in range(LENGTH):
        for letter in ALPHABET + "0189-_ \x00" + LOOKALIKES:
            if letter != spill_id[place]:
                changed = spill_id[:place] + letter + spill_id[place + 1 :]
                assert refused(changed)


@given(ids, st.integers(0, LENGTH - 2))
def test_two_neighbouring_characters_swapped_are_malformed(spill_id: str, place: int) -> None:
    """A burst of ten bits is what the checksum was chosen for."""
    swapped = spill_id[:place] + spill_id[place + 1] + spill_id[place] + spill_id[place + 2 :]
    assert swapped == spill_id or refused(swapped)


@given(ids, st.integers(0, LENGTH - 1))
def test_a_shortened_or_lengthened_id_is_malformed_not_missing(spill_id: str, length: int) -> None:
    """A model that shortens an id is told so, instead of that the data is gone."""
    assert refused(spill_id[:length])
    assert refused(spill_id[length + 1 :])
    assert refused(spill_id[:length] + "…")
    assert refused(spill_id + spill_id[length])
    assert refused(spill_id + "=")


@given(ids)
def test_an_encoded_or_decorated_id_is_malformed(spill_id: str) -> None:
    """Strict inside: no URL encoding, no inner blanks, no full-width letters."""
    assert refused(urllib.parse.quote("{" + spill_id + "}"))
    assert refused(spill_id[:13] + " " + spill_id[13:])
    assert refused("".join(chr(ord(letter) + 0xFEE0) for letter in spill_id))


@pytest.mark.parametrize(
    "text", ["", " ", "0", "start", "null", "…", "a" * 1_500, "{}/\n" * 400, None, 0, True, b"a" * 26]
)
def test_placeholders_and_other_types_are_malformed(text: object) -> None:
    """What models invent is refused with a next step, whatever its type or length."""
    with pytest.raises(SpillIdMalformed) as error:
        parse_id(text)
    assert len(error.value.message) < 200


@given(ids)
def test_bytes_of_an_id_give_it_back(spill_id: str) -> None:
    """Signed claims hold 17 bytes of an id, without loss."""
    assert len(id_bytes(spill_id)) == 17
    assert id_from_bytes(id_bytes(spill_id)) == spill_id


@pytest.mark.parametrize("length", [0, 14, 16])
def test_an_id_needs_all_its_randomness(length: int) -> None:
    """Fewer or more random bytes are a programming error."""
    with pytest.raises(ValueError, match="15 random bytes"):
        new_id(bytes(length))


def test_all_zero_and_all_one_bits_are_ids() -> None:
    """The ends of the range are ordinary ids."""
    for random in (bytes(15), b"\xff" * 15):
        assert parse_id(new_id(random)) == new_id(random)
