"""Envelopes: what the agent gets in place of the payload, within the budget."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache.envelope import Envelope, ends_of, estimate_pages, failed, fit_summary, inventory_cost, truncated
from spillcache.errors import BudgetTooSmall, PayloadTooLarge, StoreFull
from spillcache.inventory import summarise
from spillcache.page import reserve
from spillcache.scan import scan
from spillcache.shown import shown_text
from spillcache.wire import MCP, PLAIN, Wire
from tests.memory import SPILL_ID, spill
from tests.strategies import payloads, texts, wires
from tests.uncuttable import inside

TOOL = "search_query_spill"


def envelope_of(
    payload: bytes, budget: int, wire: Wire = PLAIN, head: int = 1_024, tail: int = 256, tool: str = TOOL
) -> Envelope:
    """The envelope of a stored payload."""
    found = scan(payload)
    once, twice = int(found.slabs.extra_once.sum()), int(found.slabs.extra_twice.sum())
    cost = wire.payload_cost(len(payload), once, twice, binary=found.kind == "bytes")
    return truncated(
        ends_of(payload, payload, len(payload), found.kind, head, tail),
        summarise(found.inventory),
        spill_id=SPILL_ID,
        pages=estimate_pages(cost, budget, wire),
        expires_in_s=900,
        tool_name=tool,
        budget=budget,
        wire=wire,
    )


def failure_of(payload: bytes, budget: int, wire: Wire = PLAIN) -> Envelope:
    """The envelope of a payload that was refused."""
    ends = ends_of(payload, payload, len(payload), scan(payload).kind, 1_024, 256)
    return failed(ends, StoreFull("full"), tool_name=TOOL, budget=budget, wire=wire)


def ends_as_shown(envelope: Envelope) -> tuple[bytes, bytes]:
    """The payload's bytes that the previews show."""
    if envelope.kind == "bytes":
        return base64.b64decode(envelope.preview), base64.b64decode(envelope.preview_tail)
    return envelope.preview.encode(), envelope.preview_tail.encode()


@given(payloads, wires, st.integers(0, 4_000), st.integers(0, 2_000), st.integers(0, 600))
def test_an_envelope_fits_and_shows_both_ends(payload: bytes, wire: Wire, more: int, head: int, tail: int) -> None:
    """For every payload, wire and budget: within it, the previews are what is shown of its two ends, apart."""
    budget = 1_900 + more
    for envelope in (envelope_of(payload, budget, wire, head, tail), failure_of(payload, budget, wire)):
        answer = envelope.as_dict()
        assert wire.size(answer) <= budget
        assert None not in answer.values()
        assert "" not in answer.values()
        first, last = ends_as_shown(envelope)
        shown = payload if envelope.kind == "bytes" else shown_text(payload.decode()).encode()
        assert shown.startswith(first)
        assert shown.endswith(last)
        assert len(first) + len(last) <= len(payload)
        assert answer["size_bytes"] == len(payload)


@given(texts, st.integers(0, 300))
def test_a_preview_ends_at_a_safe_edge(payload: bytes, head: int) -> None:
    """The head never shows half of an escape or of a pair."""
    payload = shown_text(payload.decode()).encode()
    preview = envelope_of(payload, 7_500, head=head, tail=0).preview.encode()
    assert len(preview) not in inside(payload) or len(preview) == len(payload)


def test_a_preview_shows_no_control_characters() -> None:
    """What a stranger wrote colours no terminal and hides no sentence; it is in the payload all the same."""
    payload = ("\x1b[31mred\x07\n\u202e\U000e0041plain\t" * 900).encode()
    for envelope in (envelope_of(payload, 7_500), failure_of(payload, 7_500)):
        assert envelope.preview.startswith("[31mred\nplain\t[31mred\n")
        assert envelope.preview_tail.endswith("[31mred\nplain\t")
        assert not {"\x1b", "\x07", "\u202e", "\U000e0041"} & {*envelope.preview, *envelope.preview_tail}


BATCH = json.dumps({"results": [{"name": f"query {n}", "values": [[n, "1"]] * 400} for n in range(12)]}).encode()


def test_fields_come_in_the_contract_s_order() -> None:
    """What explains before what is long; all of it there for a batch of twelve."""
    answer = envelope_of(BATCH, 7_500).as_dict()
    assert list(answer) == [
        "completeness", "spill_id", "hint", "next", "size_bytes", "pages", "tokens_estimate", "kind", "inventory",
        "expires_in_s", "preview", "preview_tail",
    ]  # fmt: skip
    assert answer["completeness"] == "truncated"
    assert answer["next"] == {"tool": TOOL, "arguments": {"spill_id": SPILL_ID}}
    assert answer["inventory"]["results"] == 12
    assert answer["inventory"]["result_names"][0] == "query 0"


def test_the_hint_says_what_to_do_and_what_not_to_say() -> None:
    """It names the tool, the chain of cursors, the number of pages, and forbids "no data"."""
    hint = envelope_of(BATCH, 7_500, tool="read_more").hint
    for words in ("TRUNCATED", "read_more", "only spill_id", "next_cursor", "one result by name", 'never "no data"'):
        assert words in hint
    assert "by name" not in envelope_of(b"x" * 20_000, 7_500).hint
    assert "about 1 page;" in envelope_of(BATCH[:400], 7_500).hint or "about 1 page)" in envelope_of(b"x", 7_500).hint


def test_what_was_not_stored_has_no_handle() -> None:
    """`failed`, a code, a preview, a way out; no spill_id, no next, no promise of pages."""
    answer = failure_of(BATCH, 7_500).as_dict()
    assert list(answer) == ["completeness", "code", "hint", "size_bytes", "kind", "preview", "preview_tail"]
    assert (answer["completeness"], answer["code"]) == ("failed", "store_full")
    assert "Narrow the query" in answer["hint"]
    assert SPILL_ID not in json.dumps(answer)
    ends = ends_of(b"x" * 9_000, b"x" * 9_000, 9_000, "text", 1_024, 256)
    assert failed(ends, PayloadTooLarge("m"), tool_name=TOOL, budget=7_500, wire=PLAIN).code == "payload_too_large"


@pytest.mark.parametrize("wire", [PLAIN, MCP], ids=str)
def test_room_is_given_up_in_order(wire: Wire) -> None:
    """As the budget shrinks the preview goes first, then the names; at the end a typed error names the minimum."""
    with pytest.raises(BudgetTooSmall) as error:
        envelope_of(BATCH, 100, wire)
    minimum = error.value.minimum
    for budget in range(3_000, minimum, -37):
        envelope = envelope_of(BATCH, budget, wire)
        assert wire.size(envelope.as_dict()) <= budget
        assert envelope.spill_id == SPILL_ID
    smallest = envelope_of(BATCH, minimum, wire)
    assert wire.size(smallest.as_dict()) <= minimum
    assert (smallest.preview, smallest.preview_tail) == ("", "")
    with pytest.raises(BudgetTooSmall):
        envelope_of(BATCH, minimum - 8, wire)  # within the digits of a number of pages


def test_a_verdict_at_the_end_is_in_the_preview() -> None:
    """The last line of a log, where the outcome stands, is shown with the first ones."""
    log = b"".join(b"step %d ok\n" % number for number in range(9_000)) + b"VERDICT: 3 failed\n"
    envelope = envelope_of(log, 7_500)
    assert envelope.preview.startswith("step 0 ok")
    assert envelope.preview_tail.endswith("VERDICT: 3 failed\n")


@given(payloads, wires, st.sampled_from((1_500, 7_500, 48_000)))
def test_the_number_of_pages_is_a_fair_estimate(payload: bytes, wire: Wire, budget: int) -> None:
    """Within a quarter, or two pages, of how many there really are (wires that escape beyond ASCII cost more)."""
    if not wire.ascii_only:
        stored = spill(payload)
        once, twice = stored.contents.extra_once, stored.contents.extra_twice
        cost = wire.payload_cost(len(payload), once, twice, binary=stored.manifest.kind == "bytes")
        real = len(list(stored.walk([budget], wire)))
        assert abs(estimate_pages(cost, budget, wire) - real) <= 2 + real / 4


@given(
    st.lists(st.text(st.characters(codec="utf-8"), max_size=60), min_size=2, max_size=90), wires, st.integers(0, 3_000)
)
def test_a_summary_takes_as_many_names_as_fit(names: list[str], wire: Wire, room: int) -> None:
    """What is shown costs at most the room, and one name more would not fit; what is omitted is counted."""
    payload = json.dumps({"results": [{"name": name, "v": [1]} for name in names]}).encode()
    summary = summarise(scan(payload).inventory)
    shown = fit_summary(summary, room, wire)
    if shown:
        assert inventory_cost(shown, wire) <= room
        count = len(shown.get("result_names", ()))
        assert shown["results"] == len(names)
        assert shown.get("names_omitted", 0) == len(names) - count
        assert count == len(summary.names) or inventory_cost(summary.as_dict(count + 1), wire) > room
    else:
        assert inventory_cost(summary.as_dict(0), wire) > room


def test_an_estimate_is_at_least_one_page() -> None:
    """Nothing to read is one page, and a budget below the reserve does not divide by nothing."""
    assert estimate_pages(0, 7_500, PLAIN) == 1
    assert estimate_pages(10_000, reserve(PLAIN), PLAIN) > 100
