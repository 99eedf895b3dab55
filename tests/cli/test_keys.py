"""`spillcache keys`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from spillcache.keyring import Keyring, format_ring
from tests.cli.commands import Program, clean_environment


@pytest.fixture
def keys(tmp_path: Path) -> Program:
    """The program with a ring that `keys new` made."""
    program = Program(clean_environment(tmp_path / "state"), tmp_path)
    assert program("keys", "new", "-o", "ring.json").code == 0
    return Program({**program.environment, "SPILLCACHE_KEYRING_FILE": str(tmp_path / "ring.json")}, tmp_path)


def _secrets(file: Path) -> list[str]:
    return list(json.loads(file.read_text())["keys"].values())


def test_a_new_ring_is_its_owners_alone(keys: Program, tmp_path: Path) -> None:
    """Mode 0600, one key, which signs."""
    file = tmp_path / "ring.json"
    assert file.stat().st_mode & 0o777 == 0o600
    ring = Keyring.from_file(file)
    assert ring.kids == (ring.sign_kid,)


def test_a_ring_is_never_overwritten(keys: Program, tmp_path: Path) -> None:
    """`keys new` on a file that exists fails and leaves it as it was."""
    before = (tmp_path / "ring.json").read_bytes()
    ran = keys("keys", "new", "-o", "ring.json", "--json")
    assert (ran.code, ran.answer["code"]) == (1, "arguments_invalid")
    assert (tmp_path / "ring.json").read_bytes() == before


def test_without_a_file_the_ring_goes_to_standard_output(keys: Program) -> None:
    """For a secret store that takes it from a pipe; two calls make two keys."""
    rings = [keys("keys", "new").text for _ in range(2)]
    assert rings[0] != rings[1]
    assert Keyring.from_json(rings[0]).kids


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_listing_shows_no_secret(keys: Program, tmp_path: Path, options: list[str]) -> None:
    """Ids, use and fingerprints only."""
    ran = keys("keys", "list", *options)
    assert ran.code == 0
    assert Keyring.from_file(tmp_path / "ring.json").sign_kid in ran.text
    assert not any(secret in ran.text for secret in _secrets(tmp_path / "ring.json"))


def test_equal_rings_have_equal_fingerprints(keys: Program, tmp_path: Path) -> None:
    """The environment's ring and the file's, with the same key, list the same print."""
    from_file = keys("keys", "list", "--json").answer
    text = (tmp_path / "ring.json").read_text()
    from_text = keys("keys", "list", "--json", SPILLCACHE_KEYRING=text, SPILLCACHE_KEYRING_FILE="").answer
    assert from_text["keys"] == from_file["keys"]
    assert from_text["source"] == "SPILLCACHE_KEYRING"


def test_a_rotation_adds_promotes_waits_and_removes(keys: Program, tmp_path: Path) -> None:
    """Run again and again it takes the steps in order, and removes only when the maximum age has passed."""
    file = tmp_path / "ring.json"
    old = Keyring.from_file(file).sign_kid
    added = keys("keys", "rotate", "--json").answer
    assert (added["step"], added["sign"], len(added["keys"])) == ("add", old, 2)
    promoted = keys("keys", "rotate", "--json").answer
    assert (promoted["step"], promoted["keys"]) == ("promote", added["keys"])
    assert promoted["sign"] != old
    early = keys("keys", "rotate", "--json")
    assert (early.code, early.answer["code"]) == (1, "arguments_invalid")
    changed = file.stat().st_mtime - 86_401
    os.utime(file, (changed, changed))
    removed = keys("keys", "rotate", "--json").answer
    assert (removed["step"], removed["keys"]) == ("remove", [promoted["sign"]])
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "arguments",
    [
        ["--step", "promote"],  # the only key signs already
        ["--step", "remove"],
        ["--step", "remove", "--key", "absent", "--force"],
        ["--step", "promote", "--key", "absent"],
    ],
)
def test_a_step_out_of_order_is_refused(keys: Program, tmp_path: Path, arguments: list[str]) -> None:
    """The ring stays as it is."""
    before = (tmp_path / "ring.json").read_bytes()
    assert keys("keys", "rotate", *arguments).code == 1
    assert (tmp_path / "ring.json").read_bytes() == before


def test_the_signing_key_is_never_removed(keys: Program, tmp_path: Path) -> None:
    """Not even by force."""
    sign = keys("keys", "rotate", "--json").answer["sign"]
    assert keys("keys", "rotate", "--step", "remove", "--key", sign, "--force").code == 1


def test_a_ring_from_the_environment_cannot_be_rotated(keys: Program, tmp_path: Path) -> None:
    """There is no file to change, and it says so."""
    text = (tmp_path / "ring.json").read_text()
    ran = keys("keys", "rotate", "--json", SPILLCACHE_KEYRING=text, SPILLCACHE_KEYRING_FILE="")
    assert (ran.code, ran.answer["code"]) == (1, "arguments_invalid")


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_ring_that_cannot_be_written_is_typed(keys: Program, options: list[str]) -> None:
    """The path, the reason, and what to do; as JSON where that was asked for."""
    ran = keys("keys", "new", "-o", "absent/ring.json", *options)
    said = json.dumps(ran.answer) if options else ran.err
    assert (ran.code, "output_failed" in said, "absent/ring.json" in said) == (1, True, True)
    assert "No such file" in said


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"not json", "JSON of the form"),
        (b"\xff\xfe", "not text"),
        (format_ring({"k": b"short"}, "k").encode(), "at least 32"),
        (None, "Is a directory"),
    ],
)
def test_a_broken_ring_is_named_and_not_to_be_replaced(
    keys: Program, tmp_path: Path, content: bytes | None, wrong: str
) -> None:
    """Its path and what is wrong with it; a new ring would only lock out the other replicas."""
    file = tmp_path / "broken.json"
    if content is None:
        file.mkdir()
    else:
        file.write_bytes(content)
    settings = {"SPILLCACHE_KEYRING_FILE": str(file), "SPILLCACHE_REDIS_URL": "redis://127.0.0.1:1"}
    broken = Program({**keys.environment, **settings}, tmp_path)
    for command in (["page", "a" * 26], ["keys", "list"], ["keys", "rotate"]):
        ran = broken(*command, "--json")
        assert (ran.code, ran.answer["code"]) == (1, "keyring_invalid")
        assert str(file) in ran.answer["message"]
        assert wrong in ran.answer["message"]
        assert "keys new" not in ran.answer["next_step"]


def test_a_ring_that_is_not_there_is_to_be_made_there(keys: Program, tmp_path: Path) -> None:
    """Only then is `keys new` the advice, with the very path."""
    file = tmp_path / "absent.json"
    ran = keys("keys", "list", "--json", SPILLCACHE_KEYRING_FILE=str(file))
    assert f"keys new -o {file}" in ran.answer["next_step"]


def test_receipt_keys_are_added_promoted_and_retired(keys: Program, tmp_path: Path) -> None:
    """Each step keeps the secrets; the public file has every key that ever signed, and nothing that signs."""
    file = tmp_path / "ring.json"
    secrets = _secrets(file)
    steps = [keys("keys", "rotate", "--receipts", "--json").answer for _ in range(5)]
    assert [step["step"] for step in steps] == ["add", "promote", "add", "promote", "remove"]
    assert [step.get("sign") for step in steps[:2]] == [None, steps[0]["keys"][0]]
    first, second = steps[2]["keys"]
    assert (steps[4]["sign"], steps[4]["keys"]) == (second, [second])
    assert keys("keys", "rotate", "--receipts", "--step", "add", "--key", first).code == 1
    ring = json.loads(file.read_text())
    assert (_secrets(file), set(ring["receipts"]["private"])) == (secrets, {second})
    public = json.loads(keys("keys", "public").text)["receipts"]
    assert set(public) == {"public"}
    assert set(public["public"]) == {first, second}
    assert ring["receipts"]["private"][second] not in json.dumps(public)
    assert file.stat().st_mode & 0o777 == 0o600


def test_rotating_the_secrets_leaves_receipt_keys_alone(tmp_path: Path) -> None:
    """And `keys new --receipts` makes a ring that has both from the start."""
    program = Program(clean_environment(tmp_path / "state", SPILLCACHE_KEYRING_FILE="ring.json"), tmp_path)
    assert program("keys", "new", "--receipts", "-o", "ring.json").code == 0
    before = json.loads((tmp_path / "ring.json").read_text())["receipts"]
    assert program("keys", "rotate").code == 0
    assert json.loads((tmp_path / "ring.json").read_text())["receipts"] == before
    listed = program("keys", "list", "--json").answer
    assert [key["signs"] for key in listed["receipts"]] == [True]
    assert before["private"][before["sign"]] not in json.dumps(listed) + program("keys", "list").text


def test_a_ring_without_receipt_keys_has_no_public_file(keys: Program) -> None:
    """It says which ring, how to choose another, and how to get one."""
    ran = keys("keys", "public", "--json")
    ring = keys.environment["SPILLCACHE_KEYRING_FILE"]
    assert (ran.code, ran.answer["code"]) == (1, "arguments_invalid")
    assert ring in ran.answer["message"]
    assert f"To add a receipt key to {ring}: `spillcache keys rotate --receipts`" in ran.answer["next_step"]
    assert "spillcache --keyring-file FILE keys public" in ran.answer["next_step"]


def test_a_step_says_what_it_changed_where_and_what_is_there_now(keys: Program, tmp_path: Path) -> None:
    """The removed key is named as removed, and never the one that signs."""
    file = keys.environment["SPILLCACHE_KEYRING_FILE"]
    first = Keyring.from_file(file).sign_kid
    said = [keys("keys", "rotate", "--force").text.splitlines() for _ in range(3)]
    second = Keyring.from_file(file).sign_kid
    assert said == [
        [f"added key {second} in {file}", f"now there: {first} signs; {second} verifies"],
        [f"promoted key {second} in {file}", f"now there: {first} verifies; {second} signs"],
        [f"removed key {first} in {file}", f"now there: {second} signs"],
    ]
    answer = keys("keys", "rotate", "--receipts", "--json").answer
    assert (answer["file"], answer["changed"]) == (file, answer["keys"])
    assert file in keys("keys", "public", "-o", "public.json").text
