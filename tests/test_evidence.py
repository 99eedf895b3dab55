"""Claims: from tokens alone, which bytes and which results were served, and never one more."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache import Claims, Keyring, PublicKeys, claims
from spillcache.cursor import LEASE_EPOCH, MAX_POSITION, Cursor, WalkKind, encode_cursor
from spillcache.errors import SpillIdMalformed
from spillcache.evidence import gaps, merged
from spillcache.ids import new_id
from spillcache.listing import Entry
from spillcache.manifest import tenant_digest
from spillcache.receipt import Receipt, issue_receipt
from spillcache.signatures import ReceiptKeys

SECRET, SEED = os.urandom(32), os.urandom(32)
RING = Keyring.from_secret(SECRET)
SIGNING = Keyring({"default": SECRET}, sign="default", receipts=ReceiptKeys("r", {"r": SEED}))
SPILL, OTHER = new_id(bytes(15)), new_id(bytes([1] * 15))
SIZE = 1_000


def token(kind: WalkKind, position: int, start: int = 0, end: int = 0, spill: str = SPILL, walk: int = 1) -> str:
    """A cursor of a walk; of a whole one it says neither start nor end."""
    return encode_cursor(Cursor(kind, position, LEASE_EPOCH + 9, walk, start, end), RING, spill, "default")


def receipt(size: int = SIZE, spill: str = SPILL, ring: Keyring = RING, tenant: str = "default") -> str:
    """The receipt of a complete walk."""
    return issue_receipt(Receipt(spill, size, bytes(32), tenant_digest(tenant), 1, LEASE_EPOCH), ring)


def entry(index: int, start: int, end: int, name: str = "cpu") -> Entry:
    """One named result."""
    return Entry(index, name, f"results[{index - 1}]", start, end, 1, "object", None, None, approximate=False)


RESULTS = (entry(1, 10, 400), entry(2, 401, 700, "mem\x1b[2J"), entry(3, 701, 990))


def claimed(*tokens: str, size: int | None = SIZE, **options: Any) -> Claims:
    """The claims of tokens, whichever they are."""
    return claims(SPILL, size, cursors=tokens, keyring=options.pop("keyring", RING), results=RESULTS, **options)


def test_a_walk_s_cursor_proves_all_before_it() -> None:
    """And names the results that lie in that whole; a result that was begun is unserved from there on."""
    answer = claimed(token(WalkKind.WALK, 500))
    assert (answer.status, answer.served, answer.unserved) == ("PARTIAL", ((0, 500),), ((500, SIZE),))
    assert [result.unserved for result in answer.results] == [(), ((500, 700),), ((701, 990),)]


def test_a_receipt_proves_everything_and_the_size() -> None:
    """Also when nobody says the size; the size is then confirmed."""
    for size in (SIZE, None):
        answer = claims(SPILL, size, receipts=[receipt()], keyring=RING, results=RESULTS)
        assert (answer.status, answer.size, answer.unserved) == ("COMPLETE", SIZE, ())
        assert answer.size_proven
        assert not any(result.unserved for result in answer.results)
        assert answer.note == "Proves what was served, not what was read."


def test_a_result_s_cursor_proves_from_its_start_and_its_last_page_all_of_it() -> None:
    """Pages of one result prove nothing outside it."""
    begun, ended = token(WalkKind.RESULT, 300, 10, 400), token(WalkKind.RESULT, 400, 10, 400)
    assert claimed(begun).served == ((10, 300),)
    answer = claimed(ended)
    assert answer.unserved == ((0, 10), (400, SIZE))
    assert [proof.token for proof in (*claimed(begun).proofs, *answer.proofs)] == ["cursor", "range_receipt"]
    assert [not result.unserved for result in answer.results] == [True, False, False]


def test_ranges_of_several_walks_add_up() -> None:
    """Where one ends, overlapping or touching, another may go on: together they may have served it all."""
    first, second = token(WalkKind.WALK, 600), token(WalkKind.PART, SIZE, 550, SIZE, walk=2)
    answer = claimed(first, second)
    assert (answer.status, answer.served) == ("COMPLETE", ((0, SIZE),))
    assert "No receipt here confirms the size" in answer.note


def test_lists_and_the_very_beginning_prove_nothing() -> None:
    """Whoever has seen the table of contents, or a page that was cut to nothing, has seen none of the data."""
    nothing = (
        token(WalkKind.INVENTORY, 3),
        token(WalkKind.SERIES, 50, 0, 200),
        token(WalkKind.WALK, 0),
        token(WalkKind.RESULT, 10, 10, 400),
    )
    answer = claimed(*nothing)
    assert (answer.status, answer.code, answer.served, answer.rejected) == ("FAILED", "nothing_proven", (), ())
    assert claimed().code == "nothing_proven"


def test_the_compact_view_counts_and_is_named() -> None:
    """Its values were served, its bytes were not: what was served in no other way stands apart."""
    answer = claimed(token(WalkKind.WALK, 500), token(WalkKind.COMPACT, SIZE, 0, SIZE))
    assert (answer.status, answer.compact) == ("COMPLETE", ((500, SIZE),))
    assert "compact view only" in answer.note
    assert answer.as_dict()["served_compact"] == [[500, SIZE]]
    assert not claimed(token(WalkKind.WALK, 500)).compact


def test_what_does_not_hold_is_told_with_its_code() -> None:
    """Tokens of another spill, tenant or ring, altered ones and rubbish: each by its number, none by its text."""
    good = token(WalkKind.WALK, 500)
    altered = good[:-1] + ("A" if good[-1] != "A" else "B")
    bad = [altered, token(WalkKind.WALK, 900, spill=OTHER), "<next_cursor>", "", receipt(spill=OTHER), receipt()[:-4]]
    bad += [receipt(tenant="acme"), "x" * 500]
    answer = claimed(*bad, good)
    codes = ["cursor_rejected"] * 2 + ["cursor_malformed"] * 2 + ["receipt_rejected"] * 4
    assert [(one.number, one.code) for one in answer.rejected] == list(enumerate(codes, 1))
    assert answer.served == ((0, 500),)
    assert [proof.number for proof in answer.proofs] == [9]
    assert not any(one in str(answer.as_dict()) for one in (*bad, good) if one)


@pytest.mark.parametrize("thing", [None, 7, b"bytes", ["list"], "\ud83d" * 40, "é" * 200])
def test_what_is_no_text_is_rejected_and_not_raised(thing: Any) -> None:
    """An agent's report may hold anything."""
    assert [one.number for one in claims(SPILL, SIZE, cursors=[thing], keyring=RING).rejected] == [1]


def test_another_tenant_s_tokens_prove_nothing() -> None:
    """Cursors and receipts name whose they are."""
    answer = claims(SPILL, SIZE, cursors=[token(WalkKind.WALK, 9)], receipts=[receipt()], keyring=RING, tenant="acme")
    assert (answer.status, len(answer.rejected)) == ("FAILED", 2)


@pytest.mark.parametrize(
    ("size", "tokens"),
    [
        (SIZE - 1, [receipt()]),
        (SIZE + 1, [receipt(), token(WalkKind.WALK, 5)]),
        (None, [receipt(), receipt(SIZE + 1)]),
        (500, [token(WalkKind.WALK, 500)]),  # its walk goes on, or it would have ended with a receipt
        (500, [token(WalkKind.RESULT, 20, 10, 600)]),
        (None, [receipt(500), token(WalkKind.PART, 600, 550, 700)]),
    ],
)
def test_a_size_that_the_tokens_contradict_is_failed(size: int | None, tokens: list[str]) -> None:
    """Then nothing counts as served, and the answer says why."""
    answer = claimed(*tokens, size=size)
    assert (answer.status, answer.code, answer.served, answer.size_proven) == ("FAILED", "size_contradicted", (), False)
    assert list(answer.as_dict())[-4:] == ["status", "code", "message", "next_step"]


def test_without_a_size_nothing_is_complete() -> None:
    """How much follows the last proven byte is then not known, and said so."""
    answer = claimed(token(WalkKind.PART, SIZE, 0, SIZE), token(WalkKind.PART, 1_500, 1_200, 2_000), size=None)
    assert (answer.status, answer.unserved) == ("PARTIAL", ((SIZE, 1_200),))
    assert "size is not known" in answer.note
    assert "size_bytes" not in answer.as_dict()


def test_an_empty_payload_is_complete_only_with_a_receipt() -> None:
    """Nothing unserved is not the same as something proven."""
    assert claims(SPILL, 0, keyring=RING).status == "FAILED"
    assert claims(SPILL, 0, receipts=[receipt(0)], keyring=RING).status == "COMPLETE"


def test_a_verifier_with_public_keys_checks_receipts_and_no_cursors() -> None:
    """Cursors are signed with secrets, which it does not have."""
    signed, public = receipt(ring=SIGNING), PublicKeys(ReceiptKeys("r", {"r": SEED}).public)
    answer = claimed(token(WalkKind.WALK, 5), receipt(), signed, keyring=public)
    assert [one.code for one in answer.rejected] == ["cursor_key_unknown", "receipt_rejected"]
    assert all("a public key cannot check this kind" in one.message for one in answer.rejected)
    assert answer.status == "COMPLETE"


def test_what_is_rejected_is_called_a_cursor_or_range_receipt() -> None:
    """Nobody knows which before the signature holds; and a tenant is one of the reasons."""
    ended, strange = token(WalkKind.PART, 9, 0, 9), Keyring.from_secret(os.urandom(32), kid="other")
    for answer in (claimed(ended, keyring=strange), claims(SPILL, SIZE, cursors=[ended], keyring=RING, tenant="acme")):
        assert answer.rejected[0].message.startswith("this cursor or range_receipt was ")


def test_without_size_and_proof_there_is_no_list_of_what_is_missing() -> None:
    """An empty one would say that nothing is."""
    assert "unserved" not in claims(SPILL, None, keyring=RING).as_dict()
    assert claims(SPILL, SIZE, keyring=RING).as_dict()["unserved"] == [[0, SIZE]]


def test_names_are_shown_as_everywhere() -> None:
    """They are a stranger's words; our own stand outside them."""
    answer = claimed(token(WalkKind.WALK, 500)).as_dict()
    assert answer["results_served"] == [{"index": 1, "name": "cpu"}]
    assert answer["results_unserved"][0]["unserved"] == [[500, 700]]
    assert "\x1b" not in answer["results_unserved"][0]["name"]


def test_the_id_is_checked_first() -> None:
    """A mistyped id is an error, not a claim that fails."""
    with pytest.raises(SpillIdMalformed):
        claims(SPILL[:-1], SIZE, keyring=RING)
    assert claims(SPILL.upper(), SIZE, receipts=[receipt()], keyring=RING).spill_id == SPILL


spans = st.tuples(st.integers(0, 60), st.integers(0, 60))


@given(st.lists(spans, max_size=12), spans)
def test_merged_ranges_and_their_gaps_are_the_bytes_and_the_others(chosen: list[tuple[int, int]], of: Any) -> None:
    """For all ranges: the same set of bytes, in order, apart, and its complement within any bounds."""
    together = merged(chosen)
    members = {at for start, end in chosen for at in range(start, end)}
    assert [at for start, end in together for at in range(start, end)] == sorted(members)
    assert all(end < start for (_, end), (start, _) in pairwise(together))
    missing = gaps(together, *of)
    assert [at for start, end in missing for at in range(start, end)] == sorted(set(range(*of)) - members)


@given(st.integers(0, MAX_POSITION), st.integers(0, MAX_POSITION), st.integers(0, MAX_POSITION), st.booleans())
def test_no_token_proves_a_byte_outside_its_walk(start: int, position: int, end: int, compact: bool) -> None:
    """Whatever a cursor of a bounded walk says, only [start, position) is served."""
    start, position, end = sorted((start, position, end))
    kind = WalkKind.COMPACT if compact else WalkKind.PART
    answer = claims(SPILL, None, cursors=[token(kind, position, start, end)], keyring=RING)
    assert answer.served == merged([(start, position)])
    assert answer.status != "COMPLETE"
