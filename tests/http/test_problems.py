"""Errors: one document for all of them, with HTTP's own word and ours."""

from __future__ import annotations

import json
from typing import NoReturn

import httpx2
import pytest

from spillcache.errors import CODES, BudgetTooSmall, ResultAmbiguous, SpillError
from spillcache.http.problems import problem_of, problem_response
from spillcache.ids import new_id
from spillcache.watch import Verb, Watcher
from tests.http.serving import Heard, serving
from tests.http.test_reading import store
from tests.servers.caches import metrics

NOBODYS = f"/spills/{new_id(bytes(15))}"


def made(code: str) -> SpillError:
    """An error of that code."""
    if code == BudgetTooSmall.code:
        return BudgetTooSmall("too small", minimum=7)
    if code == ResultAmbiguous.code:
        return ResultAmbiguous("several", indices=[1], next_step="Choose.")
    return CODES[code]("it failed")


@pytest.mark.parametrize("code", CODES)
def test_every_error_has_the_same_document(code: str) -> None:
    """What the table says of the error, and what other faces say of it."""
    error = made(code)
    answer = problem_response(error, request_id="r-1")
    document = json.loads(bytes(answer.body))
    assert answer.status_code == document["status"] == error.http_status
    assert answer.headers["content-type"] == "application/problem+json"
    assert document["type"].endswith(f":{code}")
    assert document["detail"] == document["message"] == error.message
    told_elsewhere = {name: value for name, value in error.as_dict().items() if name != "status"}
    assert document.items() >= told_elsewhere.items()
    assert document["retryable"] == error.retryable == ("retry-after" in answer.headers)
    assert document["request_id"] == "r-1"


def test_without_credentials_the_answer_says_which_would_do() -> None:
    """As HTTP wants it."""
    assert problem_response(made("unauthorized")).headers["www-authenticate"] == "Bearer"


def test_near_names_come_before_the_next_step(client: httpx2.Client) -> None:
    """The payload's words have a field of their own."""
    answer = client.get(f"{store(client, metrics())}/pages", params={"result": "query 33"})
    assert (answer.status_code, answer.json()["code"]) == (404, "result_not_found")
    assert "query 3" in answer.json()["nearest"]
    assert "query 3" not in answer.json()["detail"]
    assert list(answer.json()).index("nearest") < list(answer.json()).index("next_step")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "", 404),
        ("GET", "/", 404),
        ("GET", "/spills/", 404),
        ("GET", f"{NOBODYS}/", 404),
        ("GET", f"{NOBODYS}/nowhere", 404),
        ("GET", "/docs", 404),
        ("GET", "/redoc", 404),
        ("GET", "/spills", 405),
        ("PUT", "/spills", 405),
        ("POST", f"{NOBODYS}/pages", 405),
        ("OPTIONS", NOBODYS, 405),
    ],
)
def test_what_is_no_route_of_ours_is_told_from_what_is_no_spill(
    client: httpx2.Client, heard: Heard, method: str, path: str, status: int
) -> None:
    """HTTP's word is the same 404; ours is not."""
    answer = client.request(method, path)
    assert (answer.status_code, answer.json()["status"], answer.json()["code"]) == (status, status, "arguments_invalid")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["next_step"]
    assert ("allow" in answer.headers) == (status == 405)
    assert heard.refusals == [("http", "arguments_invalid")]


@pytest.mark.parametrize(
    "path",
    [
        f"{NOBODYS}/pages?max_bytes=SECRET",
        f"{NOBODYS}/pages?max_bytes=0",
        f"{NOBODYS}/pages?max_bytes=-5",
        f"{NOBODYS}/pages?SECRET=1",
        f"{NOBODYS}/inventory?result=SECRET",
        f"{NOBODYS}/pages?cursor=SECRET&cursor=",
    ],
)
def test_parameters_that_are_not_known_or_make_no_sense_are_refused(
    client: httpx2.Client, heard: Heard, path: str
) -> None:
    """A typo must not read something else; and what was sent is not repeated, because it may be a cursor."""
    answer = client.get(path)
    assert (answer.status_code, answer.json()["code"]) == (400, "arguments_invalid")
    assert "SECRET" not in answer.text
    assert heard.refusals == [("http", "arguments_invalid")]


_UNKNOWN = "the query has a parameter that is not known here"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/pages?max_bytes=SECRET", "max_bytes must be a whole number"),
        ("/pages?max_bytes=1.5", "max_bytes must be a whole number"),
        ("/pages?max_bytes=" + "9" * 5_000, "max_bytes must be a smaller number"),
        ("/inventory?max_bytes=0", "max_bytes must be at least 1"),
        (
            "/pages?max_bytes=-1&SECRET=1",
            f"max_bytes must be at least 1; {_UNKNOWN}; known are client, cursor, max_bytes, result, view",
        ),
    ],
)
def test_a_parameter_that_is_refused_is_named_with_what_it_must_be(
    client: httpx2.Client, path: str, words: str
) -> None:
    """In our words, not those of a library."""
    assert client.get(NOBODYS + path).json()["detail"] == words


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("DELETE", ""), ("GET", "/content"), ("HEAD", "/content")])
def test_a_parameter_that_a_route_does_not_take_is_refused(client: httpx2.Client, method: str, path: str) -> None:
    """What it was to do is not done without it: least of all where something is removed."""
    assert client.request(method, f"{NOBODYS}{path}?x=1").status_code == 400


def test_the_parameters_of_an_upload_are_told_alike(client: httpx2.Client) -> None:
    """Which words it takes, and how many letters."""
    detail = client.post("/spills", content=b"x", params={"wire": "SECRET", "tool": "t" * 201}).json()["detail"]
    assert detail == "tool must have at most 200 characters; wire must be 'plain' or 'mcp'"


def test_every_address_may_say_which_client_it_is_for(client: httpx2.Client) -> None:
    """A platform sets it once for all of them."""
    spill_id = client.post("/spills", content=b"x" * 9_000, params={"client": "a"}).json()["spill_id"]
    for path in ("", "/pages", "/inventory", "/content"):
        assert client.get(f"/spills/{spill_id}{path}", params={"client": "a"}).status_code == 200


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/spills/short", 400, "spill_id_malformed"),
        (NOBODYS, 404, "spill_not_found"),
        (f"{NOBODYS}/pages", 404, "spill_not_found"),
        (f"{NOBODYS}/content", 404, "spill_not_found"),
        (f"{NOBODYS}/pages?cursor=SECRET", 400, "cursor_malformed"),
    ],
)
def test_what_the_cache_refuses_is_said_by_the_cache(
    client: httpx2.Client, heard: Heard, path: str, status: int, code: str
) -> None:
    """With its own code; whoever watches has heard of the act, and hears of it once."""
    answer = client.get(path, headers={"X-Request": "r-7"})
    assert (answer.status_code, answer.json()["code"], answer.json()["request_id"]) == (status, code, "r-7")
    assert "SECRET" not in answer.text
    assert [found for _, found in heard.acts] == [code]
    assert heard.refusals == []


def test_a_budget_that_is_too_small_says_which_would_do(client: httpx2.Client) -> None:
    """The next step works."""
    at = store(client, metrics())
    answer = client.get(f"{at}/pages", params={"max_bytes": 10})
    assert (answer.status_code, answer.json()["code"]) == (400, "budget_too_small")
    enough = "".join(letter for letter in answer.json()["next_step"] if letter.isdigit())
    assert client.get(f"{at}/pages", params={"max_bytes": enough}).status_code == 200


def test_the_document_of_a_problem_keeps_https_status_and_ours_apart() -> None:
    """`status` is a number here; where HTTP has a finer word than the table, it is that one."""
    assert problem_of(made("arguments_invalid"), status=416)["status"] == 416
    assert "request_id" not in problem_of(made("arguments_invalid"))


def test_a_bug_is_answered_as_a_failure(redis_url: str) -> None:
    """Not with the framework's own page, and without what was wrong: the server's log has that."""

    class Broken(Watcher):
        def act(self, verb: Verb, spill_id: str = "") -> NoReturn:
            raise RuntimeError("SECRET")

    with serving(redis_url, watcher=Broken()) as url:
        answer = httpx2.get(f"{url}{NOBODYS}")
    assert (answer.status_code, answer.json()["code"]) == (500, "spill_error")
    assert answer.headers["content-type"] == "application/problem+json"
    assert "SECRET" not in answer.text
