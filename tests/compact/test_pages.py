"""What a page of the compact view says of itself, and where there is none."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from spillcache.compact import expand, make_compact_page
from spillcache.compact.pages import LEGEND, least_budget, refuse_without_series
from spillcache.cursor import Cursor, WalkKind
from spillcache.errors import ArgumentsInvalid, BudgetTooSmall
from spillcache.frame import Chunk
from spillcache.manifest import Manifest
from spillcache.page import Page
from spillcache.series import NOT_LOOKED_AT, SeriesTable, find_series
from spillcache.wire import MCP, PLAIN, Wire

ONE = '{"metric":{"cpu":"0"},"values":[[10,"1"],[20,"2"],[30,"3"],[40,"4"]]}'
TEXT = f"[{ONE},{ONE}]".encode()
TABLE = find_series(TEXT, whole=True)


def page(
    position: int = 0,
    room: int = 4_000,
    *,
    wire: Wire = PLAIN,
    scope: tuple[int, int] = (0, len(TEXT)),
    table: SeriesTable = TABLE,
    inventory: Mapping[str, Any] | None = None,
) -> Page:
    """The page at a position of TEXT; its cursors say where they go on."""
    manifest = Manifest("json", len(TEXT), 1, bytes(32), bytes(8), 1_000, 1_000, 0, 2, "")
    state = Cursor(WalkKind.COMPACT, position, 0, 1, *scope)
    chunk = Chunk(TEXT, starts=(1, 2 + len(ONE)))
    return make_compact_page(
        TEXT, chunk, 0, manifest, table, state, room, wire,
        spill_id="", inventory=inventory, budget=room, sign=str,
    )  # fmt: skip


def test_the_page_that_is_all_is_complete_and_proves_its_range() -> None:
    """No receipt: what was served are the values, not the bytes."""
    whole = page()
    assert expand(whole.chunk).encode() == TEXT
    assert (whole.status, whole.view, whole.chunk_kind, whole.legend) == ("COMPLETE", "compact", "compact", LEGEND)
    assert (whole.next_cursor, whole.receipt, whole.range_receipt) == (None, None, str(len(TEXT)))
    assert (whole.results, whole.results_total, whole.inside) == ((0, 2), 2, None)


def test_pages_join_and_say_where_they_begin() -> None:
    """Only the first has the legend, and only those that begin within samples name the series."""
    first = page(room=PLAIN.added({"view": "compact", "legend": LEGEND}) + 60)
    assert (first.status, first.next_cursor, first.range_receipt) == ("PARTIAL", str(first.end), None)
    assert 0 < first.end < len(TEXT)
    rest = page(first.end)
    assert rest.start == first.end
    assert (rest.legend, rest.status) == (None, "COMPLETE")
    assert expand(first.chunk + rest.chunk).encode() == TEXT
    within = 2 + len(ONE) + ONE.index("[20")
    assert page(within).inside == {"series": 2, "labels": "{cpu=0}"}
    assert page(within).chunk == "<20+10: 2 3 4>}]"
    assert page(2 + len(ONE)).inside is None


def test_the_end_of_one_result_is_not_the_end_of_all() -> None:
    """Its own status says so."""
    one = page(1, scope=(1, 1 + len(ONE)))
    assert expand(one.chunk) == ONE
    assert (one.status, one.result_status) == ("PARTIAL", "COMPLETE")
    assert one.range_receipt == str(1 + len(ONE))


@pytest.mark.parametrize("wire", [PLAIN, MCP])
@pytest.mark.parametrize("position", [0, 1 + ONE.index("[20")])
def test_a_page_that_holds_nothing_says_how_much_would(wire: Wire, position: int) -> None:
    """At its beginning and within samples; what it names suffices."""
    with pytest.raises(BudgetTooSmall) as refused:
        page(position, 10, wire=wire)
    assert page(position, refused.value.minimum, wire=wire).end > position
    assert least_budget(0, wire) > wire.added({"view": "compact", "legend": LEGEND})


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (None, "without a table"),
        (SeriesTable(), "no time series are recognised here, so"),
        (NOT_LOOKED_AT, "recognised here in what was looked at"),
        (SeriesTable(TABLE.series, known_json=len(TEXT) - 1), "not known to be well-formed JSON to its end"),
    ],
)
def test_where_there_is_no_such_view_the_raw_one_is_named(table: SeriesTable | None, said: str) -> None:
    """Each reason has its words."""
    with pytest.raises(ArgumentsInvalid, match=said) as refused:
        refuse_without_series(table, 0, len(TEXT))
    assert "without view" in refused.value.next_step
    refuse_without_series(TABLE, 0, len(TEXT))


def test_the_legend_says_what_the_short_forms_stand_for() -> None:
    """What it names reads back as it says, with numbers in place of letters."""
    numbers = {"t+2s": "30", "t+3s": "40", "t+s:": "10+10:", "t+s": "20", "t": "10", "u": "99"}
    numbers |= {"a": "1", "b": "2", "c": "3", "v": "4"}
    letters = re.compile("|".join(rf"\b{re.escape(one)}" for one in numbers))
    for short, long in (
        ("<t+s: a b*3; u: c>", '[[t,"a"],[t+s,"b"],[t+2s,"b"],[t+3s,"b"],[u,"c"]]'),
        ("<t v>", '[t,"v"]'),
        ("{k=v}", '{"k":"v"}'),
    ):
        assert f"{short} is {long}" in LEGEND
        said, meant = (letters.sub(lambda found: numbers[found[0]], text) for text in (short, long))
        assert json.loads(expand(said)) == json.loads(meant)
    assert "= the time right before; <t+s*n> is n times from t" in LEGEND
    assert expand("[<10 1>,<= 2>]") == '[[10,"1"],[10,"2"]]'
    assert json.loads(expand("<10+10*3>")) == [10, 20, 30]
