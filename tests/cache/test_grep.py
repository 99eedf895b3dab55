"""Searching stored payloads on a real server: every match, what it is, and where to read on."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spillcache import MCP, PLAIN, SpillError, Wire
from spillcache.demo import sample
from spillcache.errors import ArgumentsInvalid, BudgetTooSmall, PatternInvalid, ResultNotFound, SpillLost, SpillNotFound
from spillcache.frame import CHUNK_BYTES, SEGMENT_BYTES
from spillcache.search import MOST_COUNTED, Matches
from spillcache.sync import SpillCache
from tests.servers.caches import cache_on, key_of, metrics, sync_cache_on
from tests.strategies import payloads, wires


@pytest.fixture
def cache(redis_url: str) -> Iterator[SpillCache]:
    """A cache without asyncio, on the session's server."""
    with sync_cache_on(redis_url) as made:
        yield made


def stored(cache: SpillCache, payload: bytes | str | dict[str, object]) -> str:
    """The id under which a payload is stored."""
    spill_id = cache.put(payload).spill_id
    assert spill_id is not None
    return spill_id


def spans(found: Matches) -> list[tuple[int, int]]:
    """Where the matches shown are."""
    return [(match.start, match.end) for match in found.matches]


def places(found: Matches) -> list[tuple[str | None, str]]:
    """What the matches shown have matched."""
    return [(match.path, match.role) for match in found.matches]


def test_a_needle_at_every_offset_over_an_edge_is_found_once(cache: SpillCache) -> None:
    """Over the edge of a chunk and over that of a segment, with every kind of pattern."""
    for edge in (CHUNK_BYTES, SEGMENT_BYTES):
        filler = b'["' + b"." * (edge - 12)
        for offset in range(0, 12, 1 if edge == CHUNK_BYTES else 4):
            payload = filler + b"-" * offset + b'needle!",' + b'"y"' + b'," "' * 40 + b"]"
            spill_id = stored(cache, payload)
            for pattern in ("needle", "n[e]+dle!", r"\bneedle\b"):
                found = cache.grep(spill_id, pattern)
                assert (found.total, found.matches[0].start) == (1, payload.index(b"needle")), (edge, offset, pattern)
            cache.delete(spill_id)


def test_a_single_line_of_345_kb_is_searched_like_any_other(cache: SpillCache) -> None:
    """Every match is there, and the walk from it ends with what it left unread."""
    payload = sample.payload()
    assert b"\n" not in payload
    spill_id = stored(cache, payload)
    found = cache.grep(spill_id, '"job":"', literal=True, max_matches=1_000, budget=400_000)
    expected, at = [], payload.find(b'"job":"')
    while at >= 0:
        expected.append((at, at + 7))
        at = payload.find(b'"job":"', at + 7)
    assert spans(found) == expected
    assert (found.total, found.searched) == (len(expected), len(payload))
    *_, last = cache.walk(spill_id, cursor=found.matches[-1].cursor, budget=48_000)
    assert last.status == "PARTIAL"
    assert last.unread == ((0, cache.page(spill_id, cursor=found.matches[-1].cursor).start),)


@pytest.mark.parametrize("budget", [2_000, 7_500])
def test_each_cursor_leads_to_a_page_that_shows_its_match(cache: SpillCache, budget: int) -> None:
    """Whatever the budget; the page begins well, which is before it."""
    spill_id = stored(cache, sample.payload())
    for pattern in ('"job":"', r'\["?1796040\d+\.122', "node_memory"):
        for match in cache.grep(spill_id, pattern, budget=budget, wire=MCP).matches:
            page = cache.page(spill_id, cursor=match.cursor, budget=budget, wire=MCP)
            assert page.start <= match.start
            assert match.end <= page.end


def test_the_incident_is_caught_in_the_act(cache: SpillCache) -> None:
    """Names and labels without values are said to be that, and the values can be read from the cursors given."""
    spill_id = stored(cache, sample.payload())
    found = cache.grep(spill_id, "cpu", max_matches=10)
    said = found.as_dict()
    assert {match["in"] for match in said["matches"]} <= {"key", "label"}
    assert "no value was matched" in said["note"]
    assert said["read_next"]
    page = cache.page(spill_id, cursor=said["read_next"][0]["cursor"])
    listed = cache.inventory(spill_id).entries[said["read_next"][0]["result"] - 1]
    assert page.start == listed.start
    assert '"values"' in page.chunk


def test_what_was_matched_is_told_apart(cache: SpillCache) -> None:
    """Keys, labels, values and what is none of them, with their paths."""
    document = {
        "status": "success",
        "data": {
            "result": [
                {"metric": {"__name__": "up", "job": "node"}, "values": [[1, "0.25"], [2, "job"]]},
                {"metric": {"__name__": "up", "job": "api"}, "values": [[1, "7"]]},
            ]
        },
    }
    spill_id = stored(cache, json.dumps(document, separators=(",", ":")))
    base = "$.data.result"
    assert places(cache.grep(spill_id, "job")) == [
        (f"{base}[0].metric.job", "key"),
        (f"{base}[0].values[1][1]", "value"),
        (f"{base}[1].metric.job", "key"),
    ]
    assert places(cache.grep(spill_id, "node|api")) == [
        (f"{base}[0].metric.job", "label"),
        (f"{base}[1].metric.job", "label"),
    ]
    assert places(cache.grep(spill_id, '"job":"api"')) == [(f"{base}[1].metric.job", "label")]
    assert places(cache.grep(spill_id, r'"metric":\{')) == [
        (f"{base}[0].metric", "label"),
        (f"{base}[1].metric", "label"),
    ]
    assert places(cache.grep(spill_id, r'"values":\[\[1,"7')) == [(f"{base}[1].values", "value")]
    assert places(cache.grep(spill_id, r"0\.25")) == [(f"{base}[0].values[0][1]", "value")]
    assert places(cache.grep(spill_id, "success")) == [("$.status", "value")]
    assert places(cache.grep(spill_id, r"\},\{")) == [(f"{base}[0]", "text")]
    assert [match.result for match in cache.grep(spill_id, "__name__").matches] == [1, 2]


@pytest.mark.parametrize(
    ("document", "pattern", "role"),
    [
        ('{"metric":{"cpu":{"datapoints":[[1,97.25]]}}}', "97", "value"),
        ('{"metric":{"cpu":{"load":97}}}', "97", "value"),
        ('{"metric":{"cpu":[97]}}', "97", "value"),
        ('{"metric":{"cpu":{"load":97}}}', '"cpu":.*97', "value"),
        ('{"stream":[{"line":"ERROR"}]}', "ERROR", "value"),
        ('[{"labels":["bug"]}]', "bug", "value"),
        ('[{"metric":{"pod":"p1"},"values":[[1,"2"]]}]', r"p1.*\]", "value"),
        ('[{"metric":{"pod":"p1"},"values":[[1,"2"]]}]', r'"metric".*"2"', "value"),
        ('[{"metric":{"pod":"p1"},"values":[[1,"2"]]}]', r'"metric":\{[^}]*\},', "label"),
        ('[{"metric":{"pod":"p1"},"value":[1,"2"]},{"metric":{"pod":"p1"}}]', 'p1".*p1"', "value"),
        ('[{"metric":{"pod":"a\\"p1"},"values":[[1,"2"]]}]', '"p1"', "label"),
        ('[{"metric":{"pod":"p1","job":"j"},"values":[[1,"2"]]}]', 'p1".*"j"}', "label"),
        ('{"schema":{"fields":[{"labels":{"pod":"p1"}}]},"data":{"values":[[1],[2]]}}', "p1", "label"),
        ('{"schema":{"fields":[{"labels":{"pod":"p1"}}]},"data":{"values":[[1],[2]]}}', r"p1.*2\]", "value"),
        ('{"' + "k" * 2_000 + '":"needle"}', "needle", "value"),
    ],
)
def test_what_may_be_a_value_is_never_called_a_label(cache: SpillCache, document: str, pattern: str, role: str) -> None:
    """So "no value was matched" is said of names alone: data under a label's name, and what lies behind it, is none."""
    found = cache.grep(stored(cache, document), pattern)
    assert [match.role for match in found.matches] == [role]
    assert ("no value was matched" in found.note) == (role == "label")


def test_results_that_are_members_go_by_their_keys(cache: SpillCache) -> None:
    """Also where there is only one, and where keys are no identifiers."""
    spill_id = stored(cache, '{"results":{"first one":{"refId":"A","v":[1,{"deep":"x"}]},"B":{"v":2}},"end":"x"}')
    assert places(cache.grep(spill_id, '"x"')) == [
        ('$.results["first one"].v[1].deep', "value"),
        ("$.end", "value"),
    ]
    assert places(cache.grep(spill_id, "first|refId|A")) == [
        ('$.results["first one"]', "key"),
        ('$.results["first one"].refId', "key"),
        ('$.results["first one"].refId', "label"),
    ]
    assert places(cache.grep(stored(cache, '{"a":{"b":[1,"needle"]}}'), "needle")) == [("$.a.b[1]", "value")]
    assert places(cache.grep(stored(cache, '["needle",{"needle":1}]'), "needle")) == [
        ("$[0]", "value"),
        ("$[1].needle", "key"),
    ]


def test_escapes_and_half_documents_have_places_too(cache: SpillCache) -> None:
    """Quotes and brackets inside strings are text of these."""
    spill_id = stored(cache, '{"a\\"b":["x\\\\","{[,\\"needle"],"c":{"d":"needle')
    assert places(cache.grep(spill_id, "needle")) == [('$["a\\"b"][1]', "value"), ("$.c.d", "value")]


def test_lines_of_json_are_documents_of_their_own(cache: SpillCache) -> None:
    """Their paths begin with the line."""
    lines = b"".join(b'{"level":"info","n":%d,"tags":["a","b%d"]}\n' % (number, number) for number in range(3_000))
    spill_id = stored(cache, lines)
    assert places(cache.grep(spill_id, '"b2999"')) == [("$[2999].tags[1]", "value")]
    assert places(cache.grep(spill_id, "b77", result=78)) == [("$[77].tags[1]", "value")]


def test_text_has_lines_and_no_paths(cache: SpillCache) -> None:
    """Newline patterns work, and `^` and `$` in mode m."""
    spill_id = stored(cache, "one\nfoo\nbar\nthree foo\n" * 3_000)
    found = cache.grep(spill_id, r"foo\nbar", max_matches=2)
    assert (found.total, spans(found)[0]) == (3_000, (4, 11))
    assert [(match.path, match.role, match.line) for match in found.matches] == [(None, "text", 2), (None, "text", 6)]
    assert cache.grep(spill_id, "(?m)^foo$").total == 3_000
    assert cache.grep(spill_id, "^foo").total == 0


def test_binary_data_is_searched_byte_for_byte(cache: SpillCache) -> None:
    """Invalid UTF-8 hides nothing."""
    payload = b"\xff\xfe needle \x00" * 2_000 + b"\xc3" + "née".encode()
    spill_id = stored(cache, payload)
    assert cache.grep(spill_id, "needle").total == 2_000
    assert cache.grep(spill_id, r"\xff\xfe n").total == 2_000
    found = cache.grep(spill_id, "née")
    assert spans(found) == [(len(payload) - 4, len(payload))]
    page = cache.page(spill_id, cursor=found.matches[0].cursor)
    assert page.data.startswith("née".encode())


def test_a_long_match_is_windowed_and_flagged(cache: SpillCache) -> None:
    """The match is one, however long; it is never dropped."""
    text = "before " + "x" * 200_000 + " after"
    found = cache.grep(stored(cache, text), "x+", context=20)
    assert (found.total, spans(found), found.matches[0].cut) == (1, [(7, 200_007)], True)
    assert found.matches[0].text == "before " + "x" * 64
    middle = cache.grep(stored(cache, text), " after", context=10).matches[0]
    assert (middle.text, middle.cut) == ("x" * 10 + " after", False)


def test_matches_longer_than_a_chunk_are_all_found_and_whole(cache: SpillCache) -> None:
    """A series with its values, and what lies between two names."""
    payload = sample.payload()
    spill_id = stored(cache, payload)
    for pattern, least in ((r'"metric":\{[^}]*\},"values":\[.*?\]\]', 1), ("cpu.*memory", 4)):
        found = cache.grep(spill_id, pattern, max_matches=1_000, context=0, budget=400_000)
        expected = [match.span() for match in re.finditer(pattern.encode(), payload)]
        assert max(end - start for start, end in expected) > least * CHUNK_BYTES
        assert (spans(found), found.overran) == (expected, False)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(?:a|aa)+b", "(.*)(.*)(.*)(.*)[^a]$"])
def test_patterns_that_backtracking_engines_choke_on_are_answered(cache: SpillCache, pattern: str) -> None:
    """Linear time, whatever the pattern."""
    assert cache.grep(stored(cache, "a" * 300_000 + "!a"), pattern).searched == 300_002


def test_a_pattern_that_matches_everywhere_gets_a_bounded_answer(cache: SpillCache) -> None:
    """Counting ends, and the answer says so; empty matches are refused."""
    spill_id = stored(cache, "x" * (MOST_COUNTED + 50_000))
    said = cache.grep(spill_id, ".").as_dict()
    assert (said["search_incomplete"], said["shown"]) == (True, 10)
    assert MOST_COUNTED <= said["matches_total"] <= said["searched"] < MOST_COUNTED + 50_000
    assert f"after {said['searched']} of {MOST_COUNTED + 50_000} bytes" in said["note"]
    for pattern in ("x*", r"\b", ""):
        with pytest.raises(PatternInvalid):
            cache.grep(spill_id, pattern)


def test_one_result_is_searched_alone(cache: SpillCache) -> None:
    """As a text of its own; the cursors of its matches stay inside it."""
    payload = metrics(results=6, points=2_000)
    spill_id = stored(cache, payload)
    listed = cache.inventory(spill_id).entries[3]
    found = cache.grep(spill_id, r"\[1999,", result="query 3")
    assert (found.result, found.searched, found.total) == (4, listed.end - listed.start, 1)
    at = payload.index(b"[1999,", listed.start)
    assert spans(found) == [(at, at + 6)]
    *_, last = cache.walk(spill_id, cursor=found.matches[0].cursor)
    assert last.end == listed.end
    assert last.unread[-1] == (listed.end, len(payload))
    assert "result 4" in found.note
    assert cache.grep(spill_id, r"\A\{", result=4).total == 1
    with pytest.raises(ResultNotFound):
        cache.grep(spill_id, "x", result="query 9")


def test_no_match_says_what_was_searched(cache: SpillCache) -> None:
    """Also in nothing at all."""
    said = cache.grep(stored(cache, metrics()), "no such thing").as_dict()
    assert (said["status"], said["matches_total"], said["matches"]) == ("PARTIAL", 0, [])
    assert f"No match in {len(metrics())} bytes" in said["note"]
    assert cache.grep(stored(cache, b""), "x").searched == 0


def test_answers_fit_their_budget(cache: SpillCache) -> None:
    """Fewer matches are shown, never fewer counted."""
    spill_id = stored(cache, sample.payload())
    shown = []
    for budget in (1_200, 2_500, 7_500, 60_000):
        found = cache.grep(spill_id, "values", max_matches=50, context=200, budget=budget, wire=MCP)
        assert MCP.size(found.as_dict()) <= budget
        shown.append(len(found.matches))
        assert found.total == cache.grep(spill_id, "values").total
    assert all(fewer <= more for fewer, more in itertools.pairwise(shown))
    assert shown[0] >= 1
    with pytest.raises(BudgetTooSmall):
        cache.grep(spill_id, "values", budget=300)


@pytest.mark.parametrize("wire", [PLAIN, MCP], ids=["plain", "mcp"])
def test_the_least_budget_that_a_refusal_names_is_enough(cache: SpillCache, wire: Wire) -> None:
    """Whichever is larger: what the answer needs, or what a page from its cursor needs."""
    for payload, pattern in ((sample.payload(), "idle"), (sample.payload(), "(?s)idle.*"), (b"x needle", "needle")):
        spill_id = stored(cache, payload)
        for budget in (100, 250, 300, 350):
            with pytest.raises(BudgetTooSmall) as caught:
                cache.grep(spill_id, pattern, budget=budget, wire=wire)
            assert cache.grep(spill_id, pattern, budget=caught.value.minimum, wire=wire).matches


def unsafe() -> list[bytes]:
    """Payloads in which good places to cut are far apart, or what is between them costs much on a wire."""
    lines = b"".join(b'{"a":%d,"b":{"metric":{"n":"needle%d"}}}\n' % (number, number) for number in range(900))
    return [
        lines + b'{bad\nneedle"\n{"q":"needle"}\n',
        b"a,b\n" + b"".join(b'%d,"needle, %d"\n' % (number, number) for number in range(900)),
        b'{"k":"' + "😀".encode() * 9_000 + b"needle" + b"\\u0001" * 9_000 + b'"}',
        b'{"k":"' + b"\\u0001" * 9_000 + b"needle" + b"\\u0001" * 9_000 + b'"}',
        b'{"k":"' + b"\\ud83d\\ude00" * 9_000 + b'needle"}',
        b'["","","' + b"a" * 900 + b"needle" + b"a" * 900 + b'"]',
        b"\xff" * 20_000 + b"needle" + b"\xff" * 9_000,
    ]


@pytest.mark.parametrize("place", range(7))
@settings(max_examples=12)
@given(data=st.data())
def test_a_page_of_a_matchs_cursor_begins_the_match_at_the_same_budget(
    cache: SpillCache, place: int, data: st.DataObject
) -> None:
    """However small that is, wherever good places to cut are, and whatever is around costs."""
    payload = unsafe()[place]
    spill_id = stored(cache, payload)
    pattern = data.draw(st.sampled_from(["needle", r"[^\\]needle", r"(?s)..needle", "ud?.{4}.?ude00|needle8"]))
    budget, wire = data.draw(st.integers(400, 3_000)), data.draw(st.sampled_from([PLAIN, MCP]))
    try:
        found = cache.grep(spill_id, pattern, budget=budget, wire=wire)
    except BudgetTooSmall:
        return
    for match in found.matches:
        page = cache.page(spill_id, cursor=match.cursor, budget=budget, wire=wire)
        assert page.start <= match.start < page.end
        assert page.data == payload[page.start : page.end]


@pytest.mark.parametrize(
    ("pattern", "options", "escaped"),
    [
        ("é", {}, True),
        (r"foo\nbar", {}, True),
        ("foo\nbar", {"literal": True}, True),
        ('say "x"', {}, True),
        (r"C:\d", {"literal": True}, True),
        (r"C:\d\.", {}, False),
        ("absent", {}, False),
    ],
)
def test_no_match_in_json_of_what_json_escapes_says_so(
    cache: SpillCache, pattern: str, options: dict[str, Any], escaped: bool
) -> None:
    """Such text is there, in another spelling; in plain text it would not be."""
    document = json.dumps({"a": "foo\nbar", "b": "\u00e9", "c": 'say "x"', "d": r"C:\d"})
    for payload, said in ((document, escaped), ("plain text", False)):
        found = cache.grep(stored(cache, payload), pattern, **options)
        assert found.total == 0
        assert ("JSON may spell" in found.note) == said


def test_what_is_unseen_is_spelled_in_a_matchs_text(cache: SpillCache) -> None:
    """In a spelling that the pattern of the next search may have."""
    spill_id = stored(cache, "pay\u200bpal\x00 needle")
    found = cache.grep(spill_id, "needle").matches[0]
    assert found.text == r"pay\x{200b}pal\x00 needle"
    assert cache.grep(spill_id, r"pay\x{200b}pal\x00").total == 1


def test_what_is_around_matches_is_bounded_in_time_too(redis_url: str) -> None:
    """The first is shown in any case, and those that are not are counted."""
    with sync_cache_on(redis_url) as cache:
        spill_id = stored(cache, metrics(points=300))
        ticking = itertools.count(step=1.5)
        cache._terms = replace(cache._terms, monotonic=lambda: next(ticking))
        found = cache.grep(spill_id, "name", max_matches=6)
    assert (len(found.matches) < found.total, bool(found.matches)) == (True, True)
    assert "matches are not shown" in found.note


def test_a_match_whose_place_takes_too_long_to_tell_is_shown_without_it(redis_url: str) -> None:
    """And is called neither key nor label, of which it would be said that they are no values."""
    with sync_cache_on(redis_url) as cache:
        spill_id = stored(cache, json.dumps({"results": [{"name": "x", "labels": list(range(35_000))}]}))
        ticking = itertools.count()
        cache._terms = replace(cache._terms, monotonic=lambda: next(ticking) * 0.3)
        found = cache.grep(spill_id, "34999")
    assert [(match.path, match.role) for match in found.matches] == [(None, "text")]
    assert "no values" not in found.note


def test_a_search_that_takes_too_long_says_how_far_it_came(redis_url: str) -> None:
    """Rather than look like one that found nothing."""
    payload = metrics(points=20_000)
    with sync_cache_on(redis_url) as cache:
        spill_id = stored(cache, payload)
        ticking = itertools.count(step=2.0)
        cache._terms = replace(cache._terms, monotonic=lambda: next(ticking))
        said = cache.grep(spill_id, r"[0-9].{60}no such thing").as_dict()
    assert (said["search_incomplete"], said["matches_total"]) == (True, 0)
    assert 0 < said["searched"] < len(payload)
    assert "slow to search for; the rest was not searched" in said["note"]


@pytest.mark.parametrize("options", [{"max_matches": 0}, {"max_matches": 1_001}, {"context": -1}, {"context": 5_000}])
def test_options_out_of_range_are_refused(cache: SpillCache, options: dict[str, int]) -> None:
    """Not rounded."""
    with pytest.raises(ArgumentsInvalid):
        cache.grep(stored(cache, "x"), "x", **options)  # type: ignore[arg-type]


@settings(max_examples=40)
@given(payload=payloads, wire=wires, data=st.data())
def test_whatever_is_stored_can_be_searched(cache: SpillCache, payload: bytes, wire: Wire, data: st.DataObject) -> None:
    """For every payload: as many matches as there are, within the budget, each on the page that its cursor leads to."""
    spill_id = stored(cache, payload)
    at = data.draw(st.integers(0, len(payload)))
    needle = payload[at : at + data.draw(st.integers(1, 9))].decode("utf-8", "ignore") or "x"
    found = cache.grep(spill_id, needle, literal=True, budget=9_000, wire=wire)
    assert found.total == payload.count(needle.encode())
    assert found.searched == len(payload)
    assert wire.size(found.as_dict()) <= 9_000
    for match in found.matches[-2:]:
        assert payload[match.start : match.end] == needle.encode()
        page = cache.page(spill_id, cursor=match.cursor, budget=9_000, wire=wire)
        assert page.start <= match.start < page.end
        assert page.data == payload[page.start : page.end]


async def test_heavy_patterns_find_the_same_in_a_thread(redis_url: str) -> None:
    """And the event loop goes on meanwhile."""
    payload = metrics(points=300)
    async with cache_on(redis_url) as cache:
        spill_id = (await cache.put(payload)).spill_id
        assert spill_id is not None
        found = await cache.grep(spill_id, r"\[299,.{120}")
    assert [match.start for match in found.matches] == [at.start() for at in re.finditer(rb"\[299,.{120}", payload)]


def test_a_search_of_what_is_gone_fails(cache: SpillCache, redis_url: str) -> None:
    """A lost chunk is no chunk without matches; another tenant's spill is not there."""
    spill_id = stored(cache, metrics(points=20_000))
    with pytest.raises(SpillNotFound):
        cache.grep(spill_id, "x", tenant="another")
    cache._store._client.hdel(key_of(spill_id), "3")
    with pytest.raises(SpillLost):
        cache.grep(spill_id, "no such thing")
    with pytest.raises(SpillError):
        cache.grep(spill_id[:-1], "x")


async def test_asyncio_gives_the_same_answer(redis_url: str) -> None:
    """Both sides find the same."""
    async with cache_on(redis_url) as cache:
        spill_id = (await cache.put(metrics())).spill_id
        assert spill_id is not None
        found = await cache.grep(spill_id, "query [24]")
    with sync_cache_on(redis_url) as other:
        again = other.grep(spill_id, "query [24]")
    assert places(found) == places(again) == [("$.results[2].name", "label"), ("$.results[4].name", "label")]
    assert spans(found) == spans(again)
