"""The payload itself: whole, by range, and never a part that looks whole."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace

import httpx2
import pytest
import redis

from spillcache.frame import CHUNK_BYTES, SEGMENT_BYTES
from spillcache.manifest import FIELD, decode_manifest, encode_manifest
from tests.http.serving import Heard, connected, head, read_answer
from tests.http.test_reading import store
from tests.http.test_uploads import digest
from tests.servers.caches import key_of, metrics, noise

LARGE = noise(3_000_000)


@pytest.mark.parametrize(
    ("payload", "media_type"),
    [
        (metrics(), "application/json"),
        (b'{"a":1}\n{"a":2}\n{"a":3}\n', "application/x-ndjson"),
        (b"<script>alert(1)</script>\n", "text/plain; charset=utf-8"),
        (b"\xff\xfe<html>", "application/octet-stream"),
    ],
)
def test_the_payload_comes_as_what_it_is_and_never_as_a_page(
    client: httpx2.Client, payload: bytes, media_type: str
) -> None:
    """Payloads come from strangers: a browser must save them, not show them, and nobody may keep them."""
    answer = client.get(f"{store(client, payload)}/content")
    assert answer.content == payload
    assert answer.headers["content-type"] == media_type
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"] == "attachment"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["repr-digest"] == digest(payload)
    assert answer.headers["etag"] == f'"{hashlib.sha256(payload).hexdigest()}"'


@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=0-99", 0, 100),
        ("bytes=2999999-", 2_999_999, 3_000_000),
        ("bytes=-1", 2_999_999, 3_000_000),
        ("bytes=-9999999", 0, 3_000_000),
        ("bytes=1500000-9999999", 1_500_000, 3_000_000),
        (f"bytes={CHUNK_BYTES - 1}-{CHUNK_BYTES}", CHUNK_BYTES - 1, CHUNK_BYTES + 1),
    ],
)
def test_a_range_is_those_bytes_of_the_payload(client: httpx2.Client, asked: str, start: int, end: int) -> None:
    """And says which they are, and of how many."""
    answer = client.get(f"{store(client, LARGE)}/content", headers={"Range": asked})
    assert answer.status_code == 206
    assert answer.content == LARGE[start:end]
    assert answer.headers["content-range"] == f"bytes {start}-{end - 1}/3000000"
    assert answer.headers["repr-digest"] == digest(LARGE)


def test_a_range_beyond_the_payload_is_an_error(client: httpx2.Client, heard: Heard) -> None:
    """It says how many bytes there are."""
    answer = client.get(f"{store(client, LARGE)}/content", headers={"Range": "bytes=3000000-"})
    assert (answer.status_code, answer.headers["content-range"]) == (416, "bytes */3000000")
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["status"], answer.json()["code"]) == (416, "arguments_invalid")
    assert heard.refusals == [("http", "arguments_invalid")]


@pytest.mark.parametrize("asked", ["bytes=5-2", "bytes=-", "bytes=0-1,5-6", "lines=0-1", "bytes=a-b"])
def test_what_is_not_one_range_is_answered_with_the_whole(client: httpx2.Client, asked: str) -> None:
    """Which says so: 200, without a range."""
    answer = client.get(f"{store(client, b'payload')}/content", headers={"Range": asked})
    assert (answer.status_code, answer.content) == (200, b"payload")
    assert "content-range" not in answer.headers


def test_two_ranges_are_no_range(client: httpx2.Client) -> None:
    """In two lines as in one: which one was meant is not ours to guess."""
    answer = client.get(
        f"{store(client, b'payload')}/content", headers=[("Range", "bytes=0-1"), ("Range", "bytes=2-3")]
    )
    assert (answer.status_code, answer.content) == (200, b"payload")


def test_a_range_of_another_payload_is_answered_with_the_whole_of_this(client: httpx2.Client) -> None:
    """A client that resumes names the payload it has begun."""
    at = f"{store(client, b'payload')}/content"
    right = client.head(at).headers["etag"]
    assert client.get(at, headers={"Range": "bytes=3-", "If-Range": right}).content == b"load"
    for other in ('"another"', f"W/{right}", "Mon, 30 Nov 2026 16:27:44 GMT"):
        answer = client.get(at, headers={"Range": "bytes=3-", "If-Range": other})
        assert (answer.status_code, answer.content) == (200, b"payload")


def test_the_head_says_what_the_whole_would(client: httpx2.Client) -> None:
    """Without the payload; a range does not apply to it."""
    at = f"{store(client, LARGE)}/content"
    told, whole = client.head(at, headers={"Range": "bytes=0-9"}), client.get(at)
    assert told.status_code == 200
    assert told.content == b""
    for name in ("content-length", "content-type", "etag", "repr-digest", "accept-ranges"):
        assert told.headers[name] == whole.headers[name]


def test_a_client_that_has_the_payload_is_told_so(client: httpx2.Client) -> None:
    """By its tag, alone or among others; another's tag changes nothing."""
    at = f"{store(client, b'payload')}/content"
    tag = client.head(at).headers["etag"]
    answer = client.get(at, headers={"If-None-Match": f'"another", W/{tag}'})
    assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag)
    assert client.get(at, headers={"If-None-Match": '"another"'}).content == b"payload"


def test_one_connection_serves_range_after_range(url: str, client: httpx2.Client) -> None:
    """Each answer announces its length, so that the next begins where it ends."""
    at = f"{store(client, LARGE)}/content"
    with connected(url) as connection:
        parts = []
        for start in range(0, 3_000_000, 1_000_000):
            connection.sendall(head("GET", at, Range=f"bytes={start}-{start + 999_999}"))
            parts.append(read_answer(connection).body)
    assert b"".join(parts) == LARGE


def test_a_payload_that_fails_midway_breaks_the_connection(client: httpx2.Client, redis_url: str, heard: Heard) -> None:
    """A client that has taken in a part is told so, by fewer bytes than were announced."""
    payload = noise(SEGMENT_BYTES + 2_000_000)
    at = store(client, payload)
    with redis.Redis.from_url(redis_url) as store_client:
        store_client.hdel(key_of(at.rpartition("/")[2], 1), "70")
    came: list[bytes] = []
    with client.stream("GET", f"{at}/content") as answer:
        assert (answer.status_code, answer.headers["content-length"]) == (200, str(len(payload)))
        with pytest.raises(httpx2.RemoteProtocolError):
            came.extend(answer.iter_bytes())
    part = b"".join(came)
    assert 0 < len(part) < len(payload)
    assert payload.startswith(part)
    assert heard.acts[-1] == ("stream", "spill_lost")


def test_bytes_that_fail_at_the_very_end_are_not_sent_as_a_whole(client: httpx2.Client, redis_url: str) -> None:
    """The last block waits for the payload's own digest: a small one is then an error, with nothing sent."""
    at = store(client, b"payload")
    spill_id = at.rpartition("/")[2]
    with redis.Redis.from_url(redis_url) as store_client:
        stored = store_client.hget(key_of(spill_id), FIELD)
        assert isinstance(stored, bytes)
        manifest = decode_manifest(stored, spill_id, 0)
        forged = encode_manifest(replace(manifest, sha256=bytes(32)), spill_id, 0)
        store_client.hset(key_of(spill_id), FIELD, forged)
    answer = client.get(f"{at}/content")
    assert (answer.status_code, answer.json()["code"]) == (502, "spill_corrupt")


async def test_an_upload_comes_back_while_another_is_read(client: httpx2.Client, url: str) -> None:
    """Streams in both directions share the server."""

    async def parts() -> AsyncIterator[bytes]:
        async with asked.stream("GET", f"{at}/content") as answer:
            async for block in answer.aiter_bytes():
                yield block

    at = store(client, LARGE)
    async with httpx2.AsyncClient(base_url=url, timeout=30) as asked:
        copied = await asked.post("/spills", content=parts())
        assert (await asked.get(f"/spills/{copied.json()['spill_id']}/content")).content == LARGE
