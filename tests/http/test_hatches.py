"""Matches, full reads and series over REST: in the library's words, and never to be taken for the data."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from spillcache.demo import sample
from spillcache.errors import RequestError
from tests.http.serving import serving
from tests.http.test_reading import store, walk
from tests.servers.caches import cache_on, metrics


async def test_matches_are_what_the_library_says(client: httpx2.Client, redis_url: str) -> None:
    """Byte for byte but for the cursors, each of which leads to its match."""
    at = store(client, metrics())
    asked: dict[str, Any] = {"pattern": "QUERY [24]", "ignore_case": True, "max_matches": 1, "context": 9}
    answer = client.get(f"{at}/matches", params={**asked, "ignore_case": "true"}).json()
    async with cache_on(redis_url) as cache:
        found = (await cache.grep(at.rpartition("/")[2], **asked)).as_dict()
    cursors = [one["matches"][0].pop("cursor") for one in (answer, found)]
    firsts = [one["read_next"][0].pop("cursor") for one in (answer, found)]
    assert answer == found
    assert len({*cursors, *firsts}) == 4  # each cursor begins a walk of its own
    assert (answer["status"], answer["matches_total"], answer["shown"]) == ("PARTIAL", 2, 1)
    pages = [client.get(f"{at}/pages", params={"cursor": cursor}).json()["chunk"] for cursor in cursors]
    assert pages[0] == pages[1]
    assert "query 2" in pages[0]


def test_no_match_is_said_with_what_was_searched(client: httpx2.Client) -> None:
    """And a pattern that cannot be is a problem, never no match."""
    at = store(client, metrics())
    nothing = client.get(f"{at}/matches", params={"pattern": "no such thing"}).json()
    assert (nothing["status"], nothing["matches_total"], nothing["searched"]) == ("PARTIAL", 0, len(metrics()))
    assert "not the absence of data" in nothing["note"]
    for pattern in ("(?!x)", "(", r"\1"):
        answer = client.get(f"{at}/matches", params={"pattern": pattern})
        assert (answer.status_code, answer.json()["code"]) == (400, "pattern_invalid")
    assert client.get(f"{at}/matches").json()["code"] == "arguments_invalid"
    literal = client.get(f"{at}/matches", params={"pattern": "(", "literal": "true"})
    assert literal.json()["matches_total"] == 0


def test_a_pattern_that_is_no_text_is_refused(client: httpx2.Client) -> None:
    """Half a code point, percent-encoded, is not searched for as another; neither is it no match."""
    at = store(client, metrics())
    for query in ("pattern=%FF", "pattern=a%C3", "pattern=x&result=%80"):
        answer = client.get(f"{at}/matches?{query}")
        assert (answer.status_code, answer.json()["code"]) == (400, "arguments_invalid")
    assert client.get(f"{at}/matches?pattern=%C3%A9+x").json()["matches_total"] == 0


async def test_options_mean_the_same_as_in_the_library(client: httpx2.Client, redis_url: str) -> None:
    """No context is one; no matches to show, and no pattern, are refused in the same words."""
    at = store(client, metrics())
    bare = client.get(f"{at}/matches", params={"pattern": "query 3", "context": 0, "client": "somebody"}).json()
    assert [match["text"] for match in bare["matches"]] == ["query 3"]
    assert client.get(f"{at}/matches", params={"pattern": " "}).json()["matches_total"] == 6
    async with cache_on(redis_url) as cache:
        wrong: list[dict[str, Any]] = [{"pattern": "x", "max_matches": 0}, {"pattern": "x", "context": 5_000}]
        for options in (*wrong, {"pattern": ""}):
            with pytest.raises(RequestError) as refused:
                await cache.grep(at.rpartition("/")[2], **options)
            answer = client.get(f"{at}/matches", params=options)
            assert answer.status_code == 400
            assert (answer.json()["code"], answer.json()["detail"]) == (refused.value.code, refused.value.message)


def test_one_result_is_searched_alone(client: httpx2.Client) -> None:
    """By name or by number."""
    at = store(client, metrics())
    for result in ("query 3", "4"):
        answer = client.get(f"{at}/matches", params={"pattern": "query", "result": result}).json()
        assert answer["matches_total"] == 1


def test_a_full_read_is_one_page_up_to_the_deployments_cap(redis_url: str) -> None:
    """A client may ask for less, and gets no more by asking; the rest is walked on from it."""
    payload = metrics()
    with serving(redis_url, full_bytes=30_000) as url, httpx2.Client(base_url=url) as client:
        at = store(client, payload)
        window = client.get(f"{at}/full", params={"max_bytes": 10**9})
        assert 25_000 < len(window.content) <= 30_000
        assert len(client.get(f"{at}/full", params={"max_bytes": 2_000}).content) <= 2_000
        page = window.json()
        assert (page["status"], "receipt" in page) == ("PARTIAL", False)
        rest = walk(client, at, "full", cursor=page["next_cursor"])
        assert "".join(one["chunk"] for one in [page, *(answer.json() for answer in rest)]).encode() == payload
        assert rest[-1].json()["status"] == "COMPLETE"
        whole = client.get(f"{store(client, metrics(points=20))}/full").json()
        assert whole["status"] == "COMPLETE"


async def test_series_are_what_the_library_says(client: httpx2.Client, redis_url: str) -> None:
    """Page by page within the budget, and PARTIAL to the end."""
    at = store(client, sample.payload())
    answers = walk(client, at, "series", max_bytes=4_000)
    assert max(len(answer.content) for answer in answers) <= 4_000
    assert {answer.json()["status"] for answer in answers} == {"PARTIAL"}
    async with cache_on(redis_url) as cache:
        listing = await cache.series(at.rpartition("/")[2])
        of_one = await cache.series(at.rpartition("/")[2], result=2)
    answers.append(client.get(f"{at}/series", params={"result": 2}))
    entries = [entry for answer in answers for entry in answer.json()["entries"]]
    assert len({entry.pop("cursor") for entry in entries}) == len(entries)  # each begins a walk of its own
    expected = [entry for listed in (listing, of_one) for entry in listed.as_dict()["entries"]]
    assert entries == [{name: value for name, value in entry.items() if name != "cursor"} for entry in expected]
    assert len(listing.entries) == 87


def test_a_compact_walk_names_its_view_and_has_no_receipt_of_the_bytes(client: httpx2.Client) -> None:
    """Its cursors go on with it whether or not the view is said again."""
    at = store(client, sample.payload())
    answers = [answer.json() for answer in walk(client, at, view="compact", max_bytes=48_000)]
    assert {answer["view"] for answer in answers} == {"compact"}
    assert (answers[-1]["status"], "receipt" in answers[-1]) == ("COMPLETE", False)
    unsaid = client.get(f"{at}/pages", params={"cursor": answers[0]["next_cursor"], "max_bytes": 48_000}).json()
    assert unsaid["chunk"] == answers[1]["chunk"]
    assert client.get(f"{at}/pages", params={"view": "table"}).json()["code"] == "arguments_invalid"
    assert client.get(f"{at}/pages", params={"view": " Compact"}).json()["view"] == "compact"
    raw = client.get(f"{at}/pages", params={"cursor": answers[0]["next_cursor"], "view": "RAW"}).json()
    assert (raw["code"], raw["next_step"][:14]) == ("arguments_invalid", "Leave out view")


@pytest.mark.parametrize("route", ["/matches?pattern=query", "/full", "/series"])
def test_another_tenants_spill_answers_exactly_as_none(client: httpx2.Client, route: str) -> None:
    """Not a byte tells the two apart."""
    theirs, gone = store(client, metrics()), store(client, metrics())
    client.delete(gone)
    answers = [client.get(f"{at}{route}", headers={"X-Tenant": "another"}) for at in (theirs, gone)]
    assert (answers[0].status_code, answers[0].content) == (404, answers[1].content)
