"""COMPLETE and its receipt: said at the end of one unbroken chain from page 1, and never otherwise."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from spillcache import Keyring, Page, PublicKeys, Wire, claims, verify_receipt
from spillcache.cursor import LEASE_EPOCH, Cursor, WalkKind, encode_cursor
from spillcache.errors import ArgumentsInvalid, CursorError, CursorMalformed
from spillcache.manifest import tenant_digest
from spillcache.signatures import ReceiptKeys
from spillcache.sync import SpillCache
from tests.servers.caches import KEYRING, metrics, noise, sync_cache_on
from tests.strategies import smallest_budget, wires

PAYLOADS = (metrics(results=3, points=60), noise(2_500) + b"\xff", '😀"\\'.encode() * 400)
RECEIPT_KEYS = ReceiptKeys("r", {"r": os.urandom(32)})
SIGNING = Keyring({"k": os.urandom(32)}, sign="k", receipts=RECEIPT_KEYS)
VIEWS: tuple[Literal["raw", "compact"], ...] = ("raw", "compact")
PATTERNS = (r"\d\.5", "[a-z]", "😀")


@dataclass(frozen=True, slots=True)
class Chain:
    """One unbroken chain of cursors: where it began and must end, and whether it stays in a result by its name."""

    spill: int
    start: int
    end: int
    named: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    """A page that an agent holds: its chain has served every byte from its start to the page's end."""

    chain: Chain
    page: Page

    @property
    def spill(self) -> int:
        """Which of the payloads."""
        return self.chain.spill

    @property
    def token(self) -> str:
        """What there is to show for it: the one cursor or receipt that every page has."""
        (token,) = filter(None, (self.page.next_cursor, self.page.receipt, self.page.range_receipt))
        return token


class Agents(RuleBasedStateMachine):
    """Agents that call in any order: they begin, go on, replay, cut, jump into the middle and mix spills up."""

    make_cache: Callable[[], SpillCache]

    def __init__(self) -> None:
        super().__init__()
        self.cache = type(self).make_cache()
        self.spills = [self.cache.put(payload).spill_id for payload in PAYLOADS]
        self.held: list[Held] = []

    def teardown(self) -> None:
        """Give the connections back."""
        self.cache.close()

    def hold(self, chain: Chain, page: Page) -> None:
        """Take a page, after checking that what it says is so."""
        payload, spill = PAYLOADS[chain.spill], chain.spill
        assert page.data == payload[page.start : page.end]
        whole = not chain.named and (chain.start, page.end) == (0, len(payload))
        last = page.end == chain.end
        assert (page.status == "COMPLETE") == whole
        assert (page.receipt is not None) == whole
        assert (page.next_cursor is None) == last
        assert (page.range_receipt is not None) == (last and not whole)
        assert (page.result_status == "COMPLETE") == (last and chain.named)
        outside = (0, chain.start), (chain.end, len(payload))
        tells = last and not chain.named
        assert page.unread == tuple(span for span in outside if tells and span[0] < span[1])
        if page.receipt is not None:
            claim = verify_receipt(page.receipt, KEYRING, tenant="default")
            assert claim.spill_id == self.spills[spill]
            assert (claim.size, claim.sha256) == (len(payload), hashlib.sha256(payload).digest())
        self.held.append(Held(chain, page))

    @rule(spill=st.integers(0, 2), budget=st.integers(700, 3_000))
    def begin(self, spill: int, budget: int) -> None:
        """Page 1: a chain begins."""
        page = self.cache.page(self.spills[spill], budget=budget)
        self.hold(Chain(spill, 0, page.size), page)

    @rule(number=st.integers(1, 3), budget=st.integers(500, 3_000))
    def begin_result(self, number: int, budget: int) -> None:
        """Page 1 of a result: another chain, which is not of the whole."""
        entry = self.cache.inventory(self.spills[0]).entries[number - 1]
        page = self.cache.page(self.spills[0], result=number, budget=budget)
        self.hold(Chain(0, entry.start, entry.end, named=True), page)

    @rule(data=st.data(), budget=st.integers(500, 3_000))
    def begin_elsewhere(self, data: st.DataObject, budget: int) -> None:
        """A part is read from any edge of any page to another, as after a match: at 0 and the size, that is all."""
        if not self.held:
            return
        spill = data.draw(st.sampled_from(self.held), label="held").spill
        pages = [held.page for held in self.held if held.spill == spill]
        edges = sorted({0, len(PAYLOADS[spill]), *(page.start for page in pages), *(page.end for page in pages)})
        start, end = sorted(data.draw(st.lists(st.sampled_from(edges), min_size=2, max_size=2, unique=True)))
        part = Cursor(WalkKind.PART, start, LEASE_EPOCH, 7, start, end)
        cursor = encode_cursor(part, KEYRING, self.spills[spill], "default")
        self.hold(Chain(spill, start, end), self.cache.page(self.spills[spill], cursor=cursor, budget=budget))

    @rule(data=st.data(), spill=st.integers(0, 2), budget=st.integers(1_000, 3_000))
    def begin_at_a_match(self, data: st.DataObject, spill: int, budget: int) -> None:
        """A match's cursor begins a part at or before it, which ends with what was searched."""
        result = data.draw(st.sampled_from([None, 1, 2, 3])) if spill == 0 else None
        matches = self.cache.grep(self.spills[spill], PATTERNS[spill], result=result, max_matches=3, budget=7_500)
        match = data.draw(st.sampled_from(matches.matches), label="match")
        end = len(PAYLOADS[spill]) if result is None else self.cache.inventory(self.spills[0]).entries[result - 1].end
        page = self.cache.page(self.spills[spill], cursor=match.cursor, budget=budget)
        assert page.start <= match.start
        self.hold(Chain(spill, page.start, end), page)

    @rule(spill=st.integers(0, 2), cap=st.integers(700, 40_000))
    def read_fully(self, spill: int, cap: int) -> None:
        """A capped window from the start is page 1, and a large one."""
        page = self.cache.full(self.spills[spill], cap=cap)
        self.hold(Chain(spill, 0, page.size), page)

    @rule(data=st.data(), cap=st.integers(700, 40_000))
    def read_on_fully(self, data: st.DataObject, cap: int) -> None:
        """From a cursor it is one page more of that chain, whichever it is."""
        goes_on = [held for held in self.held if held.page.next_cursor is not None]
        if not goes_on:
            return
        held = data.draw(st.sampled_from(goes_on[-6:] + goes_on[:2]), label="held")
        page = self.cache.full(self.spills[held.spill], cursor=held.page.next_cursor, cap=cap)
        assert page.start == held.page.end
        self.hold(held.chain, page)

    @rule(data=st.data(), budget=st.integers(700, 3_000))
    def go_on(self, data: st.DataObject, budget: int) -> None:
        """Any cursor that was ever handed out, at any budget, as often as one likes."""
        goes_on = [held for held in self.held if held.page.next_cursor is not None]
        if not goes_on:
            return
        held = data.draw(st.sampled_from(goes_on[-6:] + goes_on[:2]), label="held")
        page = self.cache.page(self.spills[held.spill], cursor=held.page.next_cursor, budget=budget)
        assert page.start == held.page.end
        assert page.end > page.start
        self.hold(held.chain, page)

    @rule(data=st.data(), share=st.floats(0, 1))
    def cut(self, data: st.DataObject, share: float) -> None:
        """A host cut the page; what was served ends where the delivered text does."""
        if not self.held:
            return
        held = data.draw(st.sampled_from(self.held[-6:]), label="held")
        shrunk = held.page.shrink(held.page.chunk[: int(share * len(held.page.chunk))])
        if shrunk is not held.page:
            self.hold(held.chain, shrunk)

    @rule(data=st.data())
    def go_on_after_the_end(self, data: st.DataObject) -> None:
        """What a walk's last page carries is evidence, not a cursor."""
        ended = [held for held in self.held if held.page.next_cursor is None]
        if not ended:
            return
        held = data.draw(st.sampled_from(ended), label="held")
        with pytest.raises((ArgumentsInvalid, CursorMalformed)):
            self.cache.page(self.spills[held.spill], cursor=held.token)

    @rule(data=st.data(), spill=st.integers(0, 2))
    def claim(self, data: st.DataObject, spill: int) -> None:
        """Any choice of what is held proves the bytes that those chains served, and no others."""
        chosen = data.draw(st.lists(st.sampled_from(self.held), max_size=6) if self.held else st.just([]))
        payload, entries = PAYLOADS[spill], self.cache.inventory(self.spills[spill]).entries
        held = [one for one in chosen if one.spill == spill]
        bytes_of = [set(range(one.chain.start, one.page.end)) for one in held]
        served: set[int] = set().union(*bytes_of)
        answer = claims(
            self.spills[spill], len(payload), cursors=[one.token for one in chosen], keyring=KEYRING, results=entries
        )
        assert {at for start, end in answer.served for at in range(start, end)} == served
        assert {at for start, end in answer.unserved for at in range(start, end)} == set(range(len(payload))) - served
        status = "COMPLETE" if len(served) == len(payload) else "PARTIAL" if served else "FAILED"
        assert answer.status == status
        whole = {entry.index for entry in entries if served.issuperset(range(entry.start, entry.end))}
        assert {result.index for result in answer.results if not result.unserved} == whole
        assert len(answer.rejected) == len(chosen) - len(held)

    @rule(data=st.data())
    def mix_up(self, data: st.DataObject) -> None:
        """A cursor with another spill's id is refused."""
        goes_on = [held for held in self.held if held.page.next_cursor is not None]
        if not goes_on:
            return
        held = data.draw(st.sampled_from(goes_on[-6:]), label="held")
        with pytest.raises(CursorError):
            self.cache.page(self.spills[(held.spill + 1) % 3], cursor=held.page.next_cursor)

    @rule(data=st.data(), number=st.integers(1, 3))
    def name_a_result(self, data: st.DataObject, number: int) -> None:
        """A cursor of the whole with a result's number is refused: nothing can turn one chain into another."""
        goes_on = [held for held in self.held if held.spill == 0 and held.page.next_cursor and not held.chain.named]
        if not goes_on:
            return
        held = data.draw(st.sampled_from(goes_on[-6:]), label="held")
        with pytest.raises(ArgumentsInvalid):
            self.cache.page(self.spills[0], cursor=held.page.next_cursor, result=number)


def test_no_order_of_calls_but_an_unbroken_chain_from_page_one_yields_complete(redis_url: str) -> None:
    """Cursors replayed, walks mixed, results, cut pages, other budgets: COMPLETE and a receipt only at the true end."""

    class OnThisServer(Agents):
        """The machine on the session's server."""

        make_cache = staticmethod(lambda: sync_cache_on(redis_url))

    run_state_machine_as_test(OnThisServer, settings=settings(max_examples=60, stateful_step_count=50))


def test_the_shortest_chain_is_one_page(redis_url: str) -> None:
    """What fits is COMPLETE at once; so is an empty payload."""
    with sync_cache_on(redis_url) as cache:
        for payload in (b"", b"x", b'{"a":1}', b"\xff"):
            (page,) = cache.walk(cache.put(payload).spill_id)
            assert (page.data, page.status) == (payload, "COMPLETE")
            assert page.receipt is not None


def test_a_receipt_names_the_tenant_and_the_walk(redis_url: str) -> None:
    """Two walks of one spill have receipts of their own; the tenant is claimed as a digest."""
    with sync_cache_on(redis_url, tenant="acme") as cache:
        stored = cache.put(PAYLOADS[0]).spill_id
        claims = []
        for _ in range(2):
            *_, last = cache.walk(stored)
            claims.append(verify_receipt(last.receipt or "", KEYRING, tenant="acme"))
    assert claims[0].walk != claims[1].walk
    assert {claim.tenant_digest for claim in claims} == {tenant_digest("acme")}


@pytest.mark.parametrize("payload", [b"null", b'{"results":[1,2]}', b'["only one"]'])
def test_a_result_that_is_the_whole_payload_is_still_only_a_result(redis_url: str, payload: bytes) -> None:
    """By its name, every byte may be served and yet no claim about the whole is made."""
    with sync_cache_on(redis_url) as cache:
        stored = cache.put(payload).spill_id
        for entry in cache.inventory(stored).entries:
            *_, last = cache.walk(stored, result=entry.index)
            assert (last.status, last.result_status, last.receipt) == ("PARTIAL", "COMPLETE", None)


def matrices(results: int, points: int) -> bytes:
    """A batch of range queries, each with one series."""
    values = ",".join(f'[{1_700_000_000 + 15 * at},"0.{at * 7919 % 9973}"]' for at in range(points))
    listed = ",".join(
        f'{{"name":"q{number}","data":{{"resultType":"matrix","result":[{{"metric":{{"pod":"p{number}"}},'
        f'"values":[{values}]}}]}}}}'
        for number in range(results)
    )
    return f'{{"status":"success","results":[{listed}]}}'.encode()


@pytest.mark.parametrize("result", [None, 2])
def test_the_compact_view_ends_with_evidence_that_names_it(redis_url: str, result: int | None) -> None:
    """Each of its cursors proves what was shown so far, in that view only; the last page's token all of its walk."""
    payload = matrices(results=3, points=900)
    with sync_cache_on(redis_url) as cache:
        stored = cache.put(payload).spill_id
        entries = cache.inventory(stored).entries
        start, end = (entries[result - 1].start, entries[result - 1].end) if result else (0, len(payload))
        pages = list(cache.walk(stored, view="compact", result=result, budget=2_500))
        assert len(pages) > 2
        for page in pages:
            token = page.next_cursor or page.range_receipt
            assert token is not None
            answer = claims(stored, page.size, cursors=[token], keyring=KEYRING, results=entries)
            assert answer.served == answer.compact == ((start, page.end),)
            assert answer.status == ("COMPLETE" if page.end - start == page.size else "PARTIAL")
        assert (pages[-1].end, pages[-1].receipt) == (end, None)
        for view in VIEWS:
            with pytest.raises(ArgumentsInvalid):
                cache.page(stored, cursor=pages[-1].range_receipt, view=view)


@settings(max_examples=25)
@given(wire=wires, more=st.integers(0, 2_000), spill=st.integers(0, 2))
def test_a_ring_with_receipt_keys_keeps_room_for_its_longer_receipts(
    redis_url: str, wire: Wire, more: int, spill: int
) -> None:
    """On every wire, at every budget, no page is over it; the last one's receipt is an Ed25519 one."""
    budget = smallest_budget(wire) + 64 * len(wire.copies) + 600 + more
    with SpillCache.from_url(redis_url, keyring=SIGNING) as cache:
        pages = list(cache.walk(cache.put(PAYLOADS[spill]).spill_id, budget=budget, wire=wire))
    assert all(wire.size(page.as_dict()) <= budget for page in pages)
    assert b"".join(page.data for page in pages) == PAYLOADS[spill]
    assert pages[-1].receipt is not None
    assert verify_receipt(pages[-1].receipt, PublicKeys(RECEIPT_KEYS.public)).signed == "ed25519"
