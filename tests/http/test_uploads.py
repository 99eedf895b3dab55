"""Uploads: every byte is kept, a part never is, and what is announced is checked."""

from __future__ import annotations

import base64
import hashlib
import socket
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from spillcache.wire import MCP
from tests.conftest import OwnServer
from tests.http.serving import Heard, chunk, connected, head, read_answer, serving
from tests.servers.caches import keys, metrics, noise
from tests.servers.waiting import until

MB = 1 << 20

PAYLOADS = {
    "json": (metrics(), "application/json"),
    "text": (("line – ünïcödé\r\n" * 3_000).encode(), "text/plain"),
    "binary": (noise(3 * MB), "image/png"),
    "empty": (b"", "application/octet-stream"),
}


def digest(payload: bytes, algorithm: str = "sha-256") -> str:
    """A digest field."""
    made = hashlib.new(algorithm.replace("-", ""), payload).digest()
    return f"{algorithm}=:{base64.b64encode(made).decode()}:"


def blocks(payload: bytes) -> Iterator[bytes]:
    """The payload in blocks that fit no chunk of ours; a client sends them without a length."""
    return (payload[start : start + 77_777] for start in range(0, len(payload), 77_777))


@pytest.mark.parametrize("chunked", [False, True], ids=["with a length", "chunked"])
@pytest.mark.parametrize("kind", PAYLOADS)
def test_a_body_of_any_type_is_kept_byte_for_byte(client: httpx2.Client, kind: str, chunked: bool) -> None:
    """What comes back under the address that was answered is what was sent."""
    payload, media_type = PAYLOADS[kind]
    body = blocks(payload) if chunked else payload
    created = client.post("/spills", content=body, headers={"Content-Type": media_type}, params={"tool": "query"})
    assert created.status_code == 201, created.text
    envelope = created.json()
    assert envelope["completeness"] == "truncated"
    assert envelope["size_bytes"] == len(payload)
    assert created.headers["location"] == f"/v1/spills/{envelope['spill_id']}"
    at = f"/spills/{envelope['spill_id']}"
    assert client.get(f"{at}/content").content == payload
    known = client.get(at).json()
    assert (known["tool"], known["sha256"]) == ("query", hashlib.sha256(payload).hexdigest())


@pytest.mark.parametrize("budget", [None, 2_000, 100_000])
def test_an_envelope_keeps_to_the_budget_that_was_asked_for(client: httpx2.Client, budget: int | None) -> None:
    """As JSON, and as the text of an MCP result that it will be."""
    params = {} if budget is None else {"budget": budget}
    plain = client.post("/spills", content=metrics(), params=params)
    assert len(plain.content) <= (budget or 7_500)
    carried = client.post("/spills", content=metrics(), params={**params, "wire": "mcp"})
    assert MCP.size(carried.json()) <= (budget or 7_500)


@pytest.mark.parametrize("chunked", [False, True], ids=["with a length", "chunked"])
def test_an_upload_that_is_cut_stores_nothing(redis_url: str, url: str, heard: Heard, chunked: bool) -> None:
    """The client goes away in the middle: what was stored until then is removed."""
    part = noise(4 * MB)
    framing = {"Transfer_Encoding": "chunked"} if chunked else {"Content_Length": str(8 * MB)}
    with connected(url) as connection:
        connection.sendall(head("POST", "/spills", **framing) + (chunk(part) if chunked else part))
        until(lambda: bool(keys(redis_url)), "the first part is stored")
    until(lambda: heard.acts == [("put", "arguments_invalid")], "the upload is given up")
    assert keys(redis_url) == []


def test_an_upload_whose_chunks_are_garbled_stores_nothing(redis_url: str, url: str, heard: Heard) -> None:
    """A chunk without a length ends the connection, not the payload."""
    with connected(url) as connection:
        connection.sendall(head("POST", "/spills", Transfer_Encoding="chunked") + chunk(noise(4 * MB)))
        until(lambda: bool(keys(redis_url)), "the first part is stored")
        connection.sendall(b"no length\r\n")
        assert read_answer(connection).status == 400
    until(lambda: heard.acts == [("put", "arguments_invalid")], "the upload is given up")
    assert keys(redis_url) == []


def test_half_a_body_is_not_taken_for_all_of_it_when_the_client_stops_sending(
    redis_url: str, url: str, heard: Heard
) -> None:
    """A client that closes its sending side only has not sent the rest either."""
    with connected(url) as connection:
        connection.sendall(head("POST", "/spills", Content_Length="20") + b'{"results":')
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1 << 16) == b""
    until(lambda: heard.acts == [("put", "arguments_invalid")], "the upload is given up")
    assert keys(redis_url) == []


@pytest.mark.parametrize("name", ["Content-Digest", "Repr-Digest"])
def test_a_digest_is_checked_before_anybody_can_read(client: httpx2.Client, redis_url: str, name: str) -> None:
    """The right one, among others, is answered as without; a wrong one stores nothing."""
    payload = metrics()
    right = f"{digest(payload, 'sha-512')}, {digest(payload)}"
    assert client.post("/spills", content=payload, headers={name: right}).status_code == 201
    stored = keys(redis_url)
    wrong = client.post("/spills", content=payload[:-1], headers={name: right})
    assert (wrong.status_code, wrong.json()["code"]) == (400, "arguments_invalid")
    assert "SHA-256" in wrong.json()["detail"]
    assert keys(redis_url) == stored


@pytest.mark.parametrize(
    "headers",
    [
        [("Content-Encoding", "gzip")],
        [("Content-Encoding", "identity"), ("Content-Encoding", "gzip")],
        {"Content-Digest": "sha-512=:AAAA:"},
        {"Content-Digest": "sha-256=AAAA"},
        {"Content-Digest": digest(b"one"), "Repr-Digest": digest(b"another")},
    ],
    ids=["a coding", "a second coding", "no sha-256", "not a digest", "two digests"],
)
def test_what_cannot_be_kept_or_checked_is_refused_before_anything_is_stored(
    client: httpx2.Client, redis_url: str, heard: Heard, headers: Any
) -> None:
    """A client that asks for a check gets it or an error."""
    answer = client.post("/spills", content=b"payload", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "arguments_invalid")
    assert heard.refusals == [("http", "arguments_invalid")]
    assert keys(redis_url) == []


@pytest.mark.parametrize("coding", ["gzip, chunked", "identity, chunked", "chunked\r\nTransfer-Encoding: chunked"])
def test_transfer_codings_are_undone_or_refused(url: str, redis_url: str, coding: str) -> None:
    """Chunked is the only one that is undone; what another has made of a payload is not the payload."""
    with connected(url) as connection:
        connection.sendall(head("POST", "/spills", Transfer_Encoding=coding) + chunk(b"payload") + chunk(b""))
        answer = read_answer(connection)
    assert answer.status in {400, 501}
    assert keys(redis_url) == []


def test_no_body_is_not_an_empty_payload(url: str, redis_url: str) -> None:
    """Whoever means an empty one says so with its length."""
    with connected(url) as connection:
        connection.sendall(head("POST", "/spills"))
        answer = read_answer(connection)
    assert (answer.status, answer.json()["code"]) == (400, "arguments_invalid")
    assert keys(redis_url) == []


def test_a_payload_that_announces_too_many_bytes_is_refused_before_it_comes(url: str) -> None:
    """A client that waits for our word gets the refusal at once, and none to go on."""
    with connected(url) as connection:
        connection.sendall(head("POST", "/spills", Content_Length=str(25 << 20), Expect="100-continue"))
        answer = read_answer(connection)
    assert (answer.status, answer.json()["code"]) == (413, "payload_too_large")


def test_a_client_that_waits_for_our_word_is_told_to_go_on(url: str) -> None:
    """Then its payload is stored as any other."""
    with connected(url) as connection:
        connection.sendall(head("POST", "/spills", Content_Length="7", Expect="100-continue"))
        assert connection.recv(1 << 16) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"payload")
        assert read_answer(connection).json()["size_bytes"] == 7


def test_a_payload_that_grows_too_large_on_the_way_stores_nothing(client: httpx2.Client, redis_url: str) -> None:
    """Without a length it is found out while it comes."""
    answer = client.post("/spills", content=blocks(noise(25 << 20)))
    assert (answer.status_code, answer.json()["code"]) == (413, "payload_too_large")
    assert keys(redis_url) == []


def test_a_connection_serves_on_after_a_refusal(url: str) -> None:
    """The body of what was refused is not taken for the next request."""
    with connected(url) as connection:
        for _ in range(2):
            body = b"GET /v1/spills HTTP/1.1\r\nHost: localhost\r\n\r\n"
            framing = {"Content_Length": str(len(body)), "Content_Encoding": "gzip"}
            connection.sendall(head("POST", "/spills", **framing) + body)
            assert read_answer(connection).status == 400
        connection.sendall(head("POST", "/spills", Content_Length="7") + b"payload")
        assert read_answer(connection).status == 201


def test_a_full_store_is_said_to_be_full(own_server: OwnServer) -> None:
    """With when to come again, and nothing left behind."""
    full = own_server({"maxmemory": "3mb", "maxmemory-policy": "noeviction"})
    with serving(full.url) as url:
        answer = httpx2.post(f"{url}/spills", content=noise(12 * MB))
    assert (answer.status_code, answer.json()["code"], answer.json()["retryable"]) == (507, "store_full", True)
    assert int(answer.headers["retry-after"]) > 0
    assert keys(full.url) == []


def test_a_store_that_is_down_is_said_to_be_down(own_server: OwnServer) -> None:
    """An upload is refused, and so is a read: neither is answered as if nothing were there."""
    down = own_server()
    with serving(down.url) as url:
        spill_id = httpx2.post(f"{url}/spills", content=b"payload").json()["spill_id"]
        down.kill()
        for answer in (httpx2.post(f"{url}/spills", content=b"x"), httpx2.get(f"{url}/spills/{spill_id}/pages")):
            assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")
            assert int(answer.headers["retry-after"]) > 0
            writing = answer.request.method == "POST"
            assert answer.json().get("completeness") == ("failed" if writing else None)
            assert ("Nothing was stored" in answer.json()["next_step"]) is writing
