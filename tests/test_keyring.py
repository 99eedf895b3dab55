"""Key rings: who signs, who verifies, and what is refused before anything starts."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

import pytest

from spillcache.errors import KeyringInvalid
from spillcache.keyring import Keyring, format_ring, hkdf_sha256, key_tag, parse_ring

OLD, NEW = hashlib.sha256(b"old").digest(), hashlib.sha256(b"new").digest()


def write(path: Path, keys: dict[str, bytes], sign: str) -> Path:
    """A ring's file."""
    path.write_text(format_ring(keys, sign))
    return path


def test_a_ring_reads_back_what_was_written(tmp_path: Path) -> None:
    """Key ids keep their order, the named one signs, and each purpose has its own subkey."""
    ring = Keyring.from_file(write(tmp_path / "ring", {"a": OLD, "b": NEW}, "b"))
    assert (ring.kids, ring.sign_kid) == (("a", "b"), "b")
    tag, subkey = ring.signing_key("cursor")
    assert tag == key_tag("b")
    assert ring.verifying_keys(tag, "cursor") == [subkey]
    assert ring.signing_key("receipt")[1] != subkey
    assert len(subkey) == 32
    assert subkey != NEW


def test_white_space_around_and_inside_a_secret_is_harmless() -> None:
    """A key pasted with its trailing newline, or wrapped, is the same key."""
    text = base64.b64encode(OLD).decode()
    plain = Keyring.from_json(json.dumps({"sign": "a", "keys": {"a": text}}))
    wrapped = Keyring.from_json(json.dumps({"sign": "a", "keys": {"a": f" {text[:20]}\r\n{text[20:]}\n"}}))
    assert wrapped.signing_key("cursor") == plain.signing_key("cursor")


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "[]", "{}", '"ring"', '{"sign":"a"}', '{"keys":{}}', '{"sign":"a","keys":[]}',
        '{"sign":1,"keys":{}}',
        '{"sign":"a","keys":{"a":1}}', '{"sign":"a","keys":{"a":null}}', '{"sign":"a","keys":{"a":"not base64!"}}',
        '{"sign":"a","keys":{"a":"QUJD"}}', '{"sign":"a","keys":{}}', "{" * 100,
    ],
)  # fmt: skip
def test_what_is_not_a_ring_is_refused_with_the_command_that_makes_one(text: str) -> None:
    """Every malformed, short or empty ring raises before anything starts, and names the way out."""
    with pytest.raises(KeyringInvalid) as error:
        Keyring.from_json(text)
    assert "spillcache keys new" in error.value.next_step


@pytest.mark.parametrize("length", [0, 16, 31])
def test_a_short_secret_is_refused(length: int) -> None:
    """32 bytes at least; the message holds the key's id and length, never the key."""
    with pytest.raises(KeyringInvalid, match="at least 32") as error:
        Keyring.from_secret(b"s" * length)
    assert "ss" not in error.value.message


@pytest.mark.parametrize("kid", ["", "k" * 33, "schlüssel", "a\nb"])
def test_a_key_id_is_short_and_printable(kid: str) -> None:
    """Key ids end up in logs and tables."""
    with pytest.raises(KeyringInvalid, match="key id"):
        Keyring({kid: OLD}, sign=kid)


def test_the_key_that_signs_must_be_in_the_ring() -> None:
    """A ring that names an absent key is refused."""
    with pytest.raises(KeyringInvalid, match="sign"):
        Keyring({"a": OLD}, sign="b")


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_missing_or_unreadable_file_is_refused_by_name_of_the_failure(tmp_path: Path, content: bytes | None) -> None:
    """The path stays out of the message; what failed is in it."""
    path = tmp_path / "ring"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(KeyringInvalid) as error:
        Keyring.from_file(path)
    assert str(tmp_path) not in error.value.message


def test_an_unknown_tag_reads_the_file_once_more(tmp_path: Path) -> None:
    """A key added after the start verifies without a restart."""
    path = write(tmp_path / "ring", {"a": OLD}, "a")
    ring = Keyring.from_file(path)
    assert ring.verifying_keys(key_tag("b"), "cursor") == []
    write(path, {"a": OLD, "b": NEW}, "b")
    assert len(ring.verifying_keys(key_tag("b"), "cursor")) == 1
    assert ring.sign_kid == "b"


def test_a_file_that_broke_meanwhile_leaves_the_good_ring_in_place(tmp_path: Path) -> None:
    """Replicas that hold a good ring go on with it."""
    path = write(tmp_path / "ring", {"a": OLD}, "a")
    ring = Keyring.from_file(path)
    path.write_text("half a r")
    assert not ring.reload()
    path.unlink()
    assert ring.verifying_keys(key_tag("b"), "cursor") == []
    assert ring.kids == ("a",)


def test_two_ids_may_share_a_tag() -> None:
    """A tag is one byte: both keys under it are tried."""
    by_tag: dict[bytes, str] = {}
    number = 0
    while (twin := by_tag.setdefault(key_tag(str(number)), str(number))) == str(number):
        number += 1
    ring = Keyring({twin: OLD, str(number): NEW}, sign=twin)
    assert len(ring.verifying_keys(key_tag(twin), "cursor")) == 2


def test_a_ring_shows_its_ids_and_nothing_else() -> None:
    """No secret in the representation."""
    assert repr(Keyring.from_secret(OLD, kid="a")) == "Keyring(kids=('a',), sign='a')"


def test_the_ring_s_text_parses_to_itself() -> None:
    """`format_ring` and `parse_ring` are inverse."""
    assert parse_ring(format_ring({"a": OLD, "b": NEW}, "b")) == ({"a": OLD, "b": NEW}, "b")


def test_subkeys_are_hkdf_of_rfc_5869() -> None:
    """Test case 3 of the RFC's appendix: no salt, no info; its first 32 bytes."""
    expected = "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"
    assert hkdf_sha256(b"\x0b" * 22, b"").hex() == expected
