"""Stat, pages, inventory and delete: what the cache says, within the budget that was asked for."""

from __future__ import annotations

from typing import Any

import httpx2
import orjson
import pytest

from tests.http.serving import serving
from tests.servers.caches import cache_on, keys, metrics, noise

PAYLOADS = {"json": metrics(), "text": ('ünïcödé "quoted"\n' * 5_000).encode(), "binary": noise(60_000)}


def store(client: httpx2.Client, payload: bytes, **params: Any) -> str:
    """Address of a new spill."""
    created = client.post("/spills", content=payload, params=params)
    return f"/spills/{created.json()['spill_id']}"


def walk(client: httpx2.Client, at: str, what: str = "pages", **params: Any) -> list[httpx2.Response]:
    """All pages from the first on."""
    answers = [client.get(f"{at}/{what}", params=params)]
    while "next_cursor" in answers[-1].json():
        following = {**params, "cursor": answers[-1].json()["next_cursor"]}
        answers.append(client.get(f"{at}/{what}", params=following))
    return answers


@pytest.mark.parametrize("max_bytes", [None, 1_500, 60_000])
@pytest.mark.parametrize("kind", PAYLOADS)
async def test_pages_in_a_row_are_the_payload_and_each_keeps_to_its_budget(
    client: httpx2.Client, redis_url: str, kind: str, max_bytes: int | None
) -> None:
    """The size of a page is the size of the whole body; only the last says COMPLETE, with a receipt."""
    at = store(client, PAYLOADS[kind])
    answers = walk(client, at, max_bytes=max_bytes or "")
    assert max(len(answer.content) for answer in answers) <= (max_bytes or 7_500)
    assert [answer.json()["status"] for answer in answers] == ["PARTIAL"] * (len(answers) - 1) + ["COMPLETE"]
    assert "receipt" in answers[-1].json()
    async with cache_on(redis_url) as cache:
        spill_id = at.rpartition("/")[2]
        cursor = answers[0].json().get("next_cursor")
        pages = [page async for page in cache.walk(spill_id, cursor=cursor, budget=max_bytes)]
        assert b"".join(page.data for page in pages) == PAYLOADS[kind][-sum(len(page.data) for page in pages) :]
        assert [orjson.dumps(page.as_dict()) for page in pages][:-1] == [answer.content for answer in answers[1:-1]]


async def test_any_replica_reads_on(client: httpx2.Client, redis_url: str) -> None:
    """A cursor says all that a server needs to know."""
    at = store(client, metrics())
    with serving(redis_url) as other:
        cursor = client.get(f"{at}/pages").json()["next_cursor"]
        here = client.get(f"{at}/pages", params={"cursor": cursor})
        there = httpx2.get(f"{other}{at}/pages", params={"cursor": cursor})
    assert there.content == here.content


def test_one_result_is_read_by_name_or_by_number(client: httpx2.Client) -> None:
    """Its walk ends with its own status: the payload is still partly unread."""
    at = store(client, metrics())
    by_name = walk(client, at, result="query 3")
    assert by_name[-1].json()["result_status"] == "COMPLETE"
    assert by_name[-1].json()["status"] == "PARTIAL"
    text = "".join(answer.json()["chunk"] for answer in by_name)
    assert orjson.loads(text.strip().rstrip(","))["name"] == "query 3"
    assert "".join(answer.json()["chunk"] for answer in walk(client, at, result="4")) == text


def test_blank_parameters_count_as_absent(client: httpx2.Client) -> None:
    """A client may fill in a form of all of them."""
    at = store(client, metrics())
    blank = client.get(f"{at}/pages?cursor=&result=&max_bytes=")
    assert blank.json()["chunk"] == client.get(f"{at}/pages").json()["chunk"]
    assert client.get(f"{at}/inventory?cursor=&max_bytes=").status_code == 200


def test_the_inventory_lists_every_result_page_by_page(client: httpx2.Client) -> None:
    """Each page within its budget, and none of them the data."""
    at = store(client, metrics(results=40, points=10))
    answers = walk(client, at, "inventory", max_bytes=1_500)
    assert len(answers) > 2
    assert max(len(answer.content) for answer in answers) <= 1_500
    assert {answer.json()["status"] for answer in answers} == {"PARTIAL"}
    names = [entry["name"] for answer in answers for entry in answer.json()["entries"]]
    assert names == [f"query {number}" for number in range(40)]


def test_a_deployment_caps_every_answer(redis_url: str) -> None:
    """Its own budget counts when none is named, and its cap whatever is named."""
    with serving(redis_url, budget=3_000, max_page_bytes=9_000) as url, httpx2.Client(base_url=url) as client:
        at = store(client, metrics())
        assert 2_000 < len(client.get(f"{at}/pages").content) <= 3_000
        assert 7_000 < len(client.get(f"{at}/pages", params={"max_bytes": 10**30}).content) <= 9_000
        assert len(client.post("/spills", content=metrics(), params={"budget": 50_000}).content) <= 9_000


def test_a_spill_is_described(client: httpx2.Client) -> None:
    """What does not apply is absent; the lease is the one that is promised."""
    at = store(client, noise(1_000))
    known = client.get(at).json()
    assert (known["size_bytes"], known["kind"]) == (1_000, "bytes")
    assert 0 < known["lease_left_s"] <= known["ttl_s"] == 900
    assert "tool" not in known
    assert "results" not in known


def test_a_removed_spill_is_gone_at_once(client: httpx2.Client, redis_url: str) -> None:
    """Nothing of it is left, and removing it again says that there is nothing."""
    at = store(client, metrics())
    assert client.delete(at).status_code == 204
    assert keys(redis_url) == []
    assert client.delete(at).json()["code"] == "spill_not_found"


@pytest.mark.parametrize("route", ["", "/pages", "/pages?result=query%203", "/inventory", "/content", "DELETE"])
def test_another_tenants_spill_answers_exactly_as_none(client: httpx2.Client, redis_url: str, route: str) -> None:
    """Not a byte tells the two apart, and nothing happens to the spill."""
    theirs, gone = store(client, metrics()), store(client, metrics())
    client.delete(gone)
    stored = keys(redis_url)
    method, path = ("DELETE", "") if route == "DELETE" else ("GET", route)
    asking = {"X-Tenant": "another"}
    answers = [client.request(method, f"{at}{path}", headers=asking) for at in (theirs, gone)]
    assert answers[0].status_code == 404
    assert answers[0].content == answers[1].content
    assert _without_date(answers[0]) == _without_date(answers[1])
    assert keys(redis_url) == stored


def test_another_tenants_cursor_opens_nothing(client: httpx2.Client) -> None:
    """It is rejected whether the spill exists or not."""
    at = store(client, metrics())
    cursor = client.get(f"{at}/pages").json()["next_cursor"]
    answer = client.get(f"{at}/pages", params={"cursor": cursor}, headers={"X-Tenant": "another"})
    assert (answer.status_code, answer.json()["code"]) == (400, "cursor_rejected")
    client.delete(at)
    assert (
        client.get(f"{at}/pages", params={"cursor": cursor}, headers={"X-Tenant": "another"}).content == answer.content
    )


def _without_date(answer: httpx2.Response) -> list[tuple[str, str]]:
    return [(name, value) for name, value in answer.headers.multi_items() if name != "date"]
