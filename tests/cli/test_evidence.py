"""`spillcache verify` and `spillcache claims`: what can be proven, with Redis or without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from spillcache import Keyring
from spillcache.keyring import parse_ring
from spillcache.sync import SpillCache
from tests.cli.commands import Program
from tests.servers.caches import metrics

PAYLOAD = metrics(results=3, points=400)
NOWHERE = "redis://127.0.0.1:1"


@pytest.fixture
def cache(program: Program, keyring_file: Path) -> Iterator[SpillCache]:
    """A cache with the program's ring."""
    with SpillCache.from_url(
        program.environment["SPILLCACHE_REDIS_URL"], keyring=Keyring.from_file(keyring_file)
    ) as made:
        yield made


def receipt_of(cache: SpillCache, spill_id: str) -> str:
    """What the last page of a walk carries."""
    *_, last = cache.walk(spill_id)
    assert last.receipt is not None
    return last.receipt


def test_a_receipt_is_verified_without_redis(program: Program, cache: SpillCache) -> None:
    """What it claims, for people and for programs; and that it proves no reading."""
    spill_id = cache.put(PAYLOAD).spill_id
    receipt = receipt_of(cache, spill_id)
    ran = program("verify", receipt, "--json", SPILLCACHE_REDIS_URL=NOWHERE)
    assert (ran.code, ran.answer["spill_id"], ran.answer["size_bytes"]) == (0, spill_id, len(PAYLOAD))
    assert (ran.answer["signed"], ran.answer["sha256"]) == ("hmac", cache.stat(spill_id).sha256)
    shown = program("verify", receipt, SPILLCACHE_REDIS_URL=NOWHERE)
    assert shown.code == 0
    assert "VERIFIED" in shown.text
    assert "nothing says that they were read" in shown.text
    other = program("--tenant", "acme", "verify", receipt, "--json", SPILLCACHE_REDIS_URL=NOWHERE)
    assert (other.code, other.answer["code"]) == (1, "receipt_rejected")


def test_a_verifier_with_the_public_key_alone(program: Program, keyring_file: Path, tmp_path: Path) -> None:
    """No ring, no Redis: it checks what a private key signed, and nothing that a secret did."""
    secrets, sign = parse_ring(keyring_file.read_text())
    with SpillCache.from_url(program.environment["SPILLCACHE_REDIS_URL"], keyring=Keyring(secrets, sign=sign)) as cache:
        spill_id = cache.put(PAYLOAD).spill_id
        older = receipt_of(cache, spill_id)
    assert program("keys", "rotate", "--receipts").code == 0
    assert program("keys", "rotate", "--receipts").code == 0
    assert program("keys", "public", "-o", "public.json").code == 0
    with SpillCache.from_url(
        program.environment["SPILLCACHE_REDIS_URL"], keyring=Keyring.from_file(keyring_file)
    ) as cache:
        receipt = receipt_of(cache, spill_id)
    keyring_file.rename(tmp_path / "away.json")
    ran = program("verify", receipt, "--public-key", "public.json", "--json", SPILLCACHE_REDIS_URL=NOWHERE)
    assert (ran.code, ran.answer["signed"]) == (0, "ed25519")
    assert program("verify", older, "--public-key", "public.json", "--json", SPILLCACHE_REDIS_URL=NOWHERE).code == 1
    ring = program("verify", receipt, "--public-key", "away.json", "--json", SPILLCACHE_REDIS_URL=NOWHERE)
    assert (ring.code, ring.answer["code"]) == (1, "keyring_invalid")
    proven = program(
        "claims",
        spill_id,
        "--receipt",
        receipt,
        "--no-store",
        "--public-key",
        "public.json",
        "--json",
        SPILLCACHE_REDIS_URL=NOWHERE,
    )
    assert (proven.code, proven.answer["status"]) == (0, "COMPLETE")


def test_claims_name_the_results_that_were_served(program: Program, cache: SpillCache) -> None:
    """By cursor and range_receipt; PARTIAL is exit code 3, and the unserved are listed."""
    spill_id = cache.put(PAYLOAD).spill_id
    cursor = cache.page(spill_id).next_cursor
    *_, last = cache.walk(spill_id, result=2)
    assert cursor is not None
    assert last.range_receipt is not None
    ran = program("claims", spill_id, cursor, last.range_receipt, "--json")
    assert (ran.code, ran.answer["status"]) == (3, "PARTIAL")
    assert [result["index"] for result in ran.answer["results_served"]] == [1, 2]
    assert [result["index"] for result in ran.answer["results_unserved"]] == [3]
    assert ran.answer["unserved"][-1][1] == len(PAYLOAD)
    shown = program("claims", spill_id, "--receipt", last.range_receipt)
    assert shown.code == 3
    assert all(word in shown.text for word in ("PARTIAL", "unserved", "query 1", "range_receipt"))


def test_claims_end_complete_or_failed(program: Program, cache: SpillCache) -> None:
    """A receipt of this spill is everything; another one's is nothing; a size that it contradicts is FAILED."""
    spill_id, other = cache.put(PAYLOAD).spill_id, cache.put(b"other").spill_id
    receipt = receipt_of(cache, spill_id)
    complete = program("claims", spill_id, "--receipt", receipt, "--json")
    assert (complete.code, complete.answer["status"], complete.answer["results_unserved"]) == (0, "COMPLETE", [])
    failed = program("claims", other, "--receipt", receipt, "--json")
    assert (failed.code, failed.answer["code"]) == (1, "nothing_proven")
    assert failed.answer["rejected"][0]["code"] == "receipt_rejected"
    wrong = program("claims", spill_id, "--receipt", receipt, "--size", "5", "--json", SPILLCACHE_REDIS_URL=NOWHERE)
    assert (wrong.code, wrong.answer["code"]) == (1, "size_contradicted")


def test_a_token_that_is_no_receipt_is_sent_to_claims(program: Program, cache: SpillCache) -> None:
    """A cursor and a range_receipt; the command that is named takes them."""
    spill_id = cache.put(PAYLOAD).spill_id
    *_, last = cache.walk(spill_id, result=2)
    for token in (cache.page(spill_id, budget=1500).next_cursor, last.range_receipt):
        assert token is not None
        ran = program("verify", token)
        assert ran.code == 1
        assert "cursor or range_receipt" in ran.err
        assert "`spillcache claims ID TOKEN`" in ran.err
        assert program("claims", spill_id, token).code == 3


def test_claims_say_where_the_size_is_from_and_what_is_not_known(program: Program, cache: SpillCache) -> None:
    """From Redis, or as it was given; without any, nothing says that none is unserved."""
    spill_id = cache.put(PAYLOAD).spill_id
    cursor = cache.page(spill_id, budget=1500).next_cursor
    assert cursor is not None
    assert "as Redis has it" in program("claims", spill_id, cursor).text
    assert "as it was given" in program("claims", spill_id, cursor, "--size", str(len(PAYLOAD))).text
    assert "whatever follows" in program("claims", spill_id, cursor, "--no-store").text
    nothing = program("claims", spill_id, "x" * 40, "--no-store")
    assert (nothing.code, "all of it, however much that is" in nothing.text) == (1, True)


def test_claims_without_a_token_are_a_usage_error(program: Program, cache: SpillCache) -> None:
    """Exit code 2: nothing was checked, so nothing failed."""
    ran = program("claims", cache.put(PAYLOAD).spill_id)
    assert (ran.code, ran.out, "at least one cursor" in ran.err) == (2, b"", True)


def test_evidence_outlives_its_spill(program: Program, cache: SpillCache) -> None:
    """Where Redis has nothing any more, the error says how to check without it."""
    spill_id = cache.put(PAYLOAD).spill_id
    receipt = receipt_of(cache, spill_id)
    cache.delete(spill_id)
    gone = program("claims", spill_id, "--receipt", receipt)
    assert gone.code == 1
    assert "--no-store" in gone.err
    assert f"spillcache --tenant NAME claims {spill_id} ..." in gone.err
    assert program("claims", spill_id, "--receipt", receipt, "--no-store").code == 0
