"""Calls of the tool against a real server."""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import AsyncIterator
from typing import Any

import jsonschema
import orjson
import pytest
import redis

from spillcache import Keyring, SpillCache, defaults
from spillcache.errors import CODES, BudgetTooSmall, ResultAmbiguous, SpillError
from spillcache.ids import new_id
from spillcache.tool.calls import answer_call
from spillcache.tool.definition import ToolOptions, tool_entry
from spillcache.watch import Watcher
from tests.servers.caches import cache_on, key_of, metrics, noise
from tests.tool.test_rendering import STAMP, parse_raw

JSON, RAW, STRUCTURED = ToolOptions(), ToolOptions(rendering="raw"), ToolOptions(structured=True)
DECLARED = jsonschema.Draft202012Validator(tool_entry(STRUCTURED)["outputSchema"])
PAYLOADS = {
    "metrics": metrics(),
    "chinese and emoji": json.dumps(
        {"results": [{"name": "日本語の名前" * 9, "v": "漢字😀" * 4_000}, {"name": "二", "v": 2}]}, ensure_ascii=False
    ).encode(),
    "escapes": json.dumps({"results": [{"name": f'"\\{n}"', "v": '\\"\n\t\x01' * 400} for n in range(9)]}).encode(),
    "log lines": "".join(f'{n} level=info msg="a \\"quoted\\" word"\n' for n in range(900)).encode(),
    "bytes": noise(30_000),
    "nothing": b"",
}


class Heard(Watcher):
    """Keeps what was refused before any act."""

    def __init__(self) -> None:
        self.codes: list[tuple[str, str]] = []

    def failed(self, where: str, error: SpillError) -> None:
        """Keep it."""
        self.codes.append((where, error.code))


@pytest.fixture
async def cache(redis_url: str) -> AsyncIterator[SpillCache]:
    """A cache on the session's server."""
    async with cache_on(redis_url) as opened:
        yield opened


async def call(
    cache: SpillCache,
    options: ToolOptions = JSON,
    budget: int = 7_500,
    tenant: str = "default",
    full: int | None = None,
    **arguments: Any,
) -> dict[str, Any]:
    """The result of a call."""
    return await answer_call(cache, arguments, options=options, budget=budget, full=full, tenant=tenant)


def read(result: dict[str, Any], options: ToolOptions = JSON) -> dict[str, Any]:
    """The answer in a result, as a program reads it."""
    (block,) = result["content"]
    text: str = block["text"]
    is_raw = options.rendering == "raw" and '"chunk_bytes":' in text.split("\n", 1)[0]
    answer: dict[str, Any] = parse_raw(text) if is_raw else json.loads(text)
    if options.structured:
        assert result["structuredContent"] == answer
        DECLARED.validate(answer)
    else:
        assert "structuredContent" not in result
    return answer


async def walk(cache: SpillCache, options: ToolOptions, budget: int, **arguments: Any) -> list[dict[str, Any]]:
    """The answers of a whole walk; each result is checked against the budget."""
    answers: list[dict[str, Any]] = []
    while not answers or "next_cursor" in answers[-1]:
        result = await call(cache, options, budget, **arguments)
        assert not result["isError"], result
        assert len(orjson.dumps(STAMP | result)) <= budget
        answers.append(read(result, options))
        arguments["cursor"] = answers[-1].get("next_cursor")
    return answers


def bytes_of(answers: list[dict[str, Any]]) -> bytes:
    """The payload's bytes in pages."""
    return b"".join(
        base64.b64decode(answer["chunk"]) if answer["chunk_kind"] == "base64" else answer["chunk"].encode()
        for answer in answers
    )


@pytest.mark.parametrize("options", [JSON, RAW, STRUCTURED], ids=["json", "raw", "structured"])
@pytest.mark.parametrize("budget", [2_500, 7_500, 20_000])
@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS.keys())
async def test_a_walk_brings_every_byte_within_the_budget(
    cache: SpillCache, payload: bytes, budget: int, options: ToolOptions
) -> None:
    """In every rendering; only the last page says COMPLETE, and says it last but for the receipt."""
    envelope = await cache.put(payload)
    answers = await walk(cache, options, budget, spill_id=envelope.spill_id)
    assert bytes_of(answers) == payload
    assert [answer["status"] for answer in answers] == ["PARTIAL"] * (len(answers) - 1) + ["COMPLETE"]
    assert list(answers[-1])[-2:] == ["status", "receipt"]


@pytest.mark.parametrize("options", [JSON, RAW, STRUCTURED], ids=["json", "raw", "structured"])
async def test_one_result_by_name_or_number_never_says_that_all_was_read(
    cache: SpillCache, options: ToolOptions
) -> None:
    """Its walk ends with result_status COMPLETE and status PARTIAL."""
    payload = metrics()
    envelope = await cache.put(payload)
    by_name = await walk(cache, options, 7_500, spill_id=envelope.spill_id, result="query 2")
    by_number = await walk(cache, options, 7_500, spill_id=envelope.spill_id, result=3)
    assert bytes_of(by_name) == bytes_of(by_number)
    assert json.loads(bytes_of(by_name))["name"] == "query 2"
    assert {answer["status"] for answer in by_name} == {"PARTIAL"}
    assert by_name[-1]["result_status"] == "COMPLETE"


@pytest.mark.parametrize("options", [JSON, RAW, STRUCTURED], ids=["json", "raw", "structured"])
async def test_the_inventory_is_paged_by_its_own_cursor(cache: SpillCache, options: ToolOptions) -> None:
    """Asked for once; the cursor says by itself what it continues."""
    envelope = await cache.put(metrics(results=90, points=3))
    arguments: dict[str, Any] = {"inventory": True}
    names: list[str] = []
    while arguments:
        result = await call(cache, options, 3_000, spill_id=envelope.spill_id, **arguments)
        assert len(orjson.dumps(STAMP | result)) <= 3_000
        answer = read(result, options)
        names += [entry["name"] for entry in answer["entries"]]
        arguments = {"cursor": answer["next_cursor"]} if "next_cursor" in answer else {}
    assert names == [f"query {number}" for number in range(90)]
    assert (answer["status"], answer["inventory_status"]) == ("PARTIAL", "COMPLETE")


async def test_max_bytes_only_lowers(cache: SpillCache) -> None:
    """A smaller page starts at the same byte; a larger one than the client takes is not made."""
    envelope = await cache.put(metrics())
    usual = read(await call(cache, spill_id=envelope.spill_id))
    smaller = read(await call(cache, spill_id=envelope.spill_id, max_bytes=3_000))
    larger = read(await call(cache, spill_id=envelope.spill_id, max_bytes=10**9))
    assert len(smaller["chunk"]) < len(usual["chunk"]) == len(larger["chunk"])
    assert usual["chunk"].startswith(smaller["chunk"])


async def test_no_budget_is_above_the_cap(cache: SpillCache) -> None:
    """Whatever a face says."""
    envelope = await cache.put(noise(2 << 20))
    result = await call(cache, budget=10**9, spill_id=envelope.spill_id)
    assert len(orjson.dumps(STAMP | result)) <= defaults.MAX_PAGE_BYTES


@pytest.mark.parametrize("options", [JSON, RAW, STRUCTURED], ids=["json", "raw", "structured"])
async def test_a_budget_that_is_too_small_names_the_least_that_works(cache: SpillCache, options: ToolOptions) -> None:
    """And it does work."""
    envelope = await cache.put(metrics())
    result = await call(cache, options, spill_id=envelope.spill_id, max_bytes=10)
    answer = read(result, options)
    assert (result["isError"], answer["code"]) == (True, "budget_too_small")
    least = int(answer["next_step"].rsplit(" ", 1)[1].rstrip("."))
    assert not (await call(cache, options, spill_id=envelope.spill_id, max_bytes=least))["isError"]
    assert (await call(cache, options, spill_id=envelope.spill_id, max_bytes=least - 1))["isError"]


async def test_a_client_whose_own_budget_is_too_small_is_told_so(cache: SpillCache) -> None:
    """It cannot ask for more, so the operator must."""
    envelope = await cache.put(metrics())
    answer = read(await call(cache, budget=100, spill_id=envelope.spill_id))
    assert answer["code"] == "budget_too_small"
    assert answer["next_step"].startswith("Tell the operator: this client's budget of 100 bytes")


@pytest.mark.parametrize("options", [JSON, RAW, STRUCTURED], ids=["json", "raw", "structured"])
async def test_every_error_is_a_result_that_says_what_to_do(cache: SpillCache, options: ToolOptions) -> None:
    """The same JSON object in every rendering, with status FAILED, code, message and next step."""
    envelope = await cache.put(metrics())
    other = await cache.put(metrics())
    cursor = read(await call(cache, spill_id=envelope.spill_id))["next_cursor"]
    spill_id = envelope.spill_id
    calls: list[tuple[str, dict[str, Any]]] = [
        ("arguments_invalid", {}),
        ("spill_id_malformed", {"spill_id": spill_id[:-1]}),
        ("spill_not_found", {"spill_id": new_id(bytes(15))}),
        ("cursor_malformed", {"spill_id": spill_id, "cursor": "next_cursor"}),
        ("cursor_rejected", {"spill_id": other.spill_id, "cursor": cursor}),
        ("result_not_found", {"spill_id": spill_id, "result": "query 9"}),
        ("result_not_found", {"spill_id": spill_id, "result": 0}),
        ("arguments_invalid", {"spill_id": spill_id, "cursor": cursor, "inventory": True}),
        ("arguments_invalid", {"spill_id": spill_id, "cursor": cursor, "result": "query 1"}),
    ]
    for code, arguments in calls:
        result = await call(cache, options, **arguments)
        answer = read(result, options)
        assert (result["isError"], answer["status"], answer["code"]) == (True, "FAILED", code), arguments
        assert answer["message"]
        assert list(answer)[-1] == "next_step"


@pytest.mark.parametrize("kind", CODES.values(), ids=CODES.keys())
async def test_each_code_reaches_the_agent_with_its_next_step(
    cache: SpillCache, kind: type[SpillError], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the cache raises, also what no fault here can bring about."""
    error = make_error(kind)

    async def fail(*_: object, **__: object) -> Any:
        raise error

    monkeypatch.setattr(cache, "page", fail)
    result = await call(cache, spill_id=new_id(bytes(15)))
    assert (result["isError"], read(result)) == (True, error.as_dict())
    assert error.as_dict()["next_step"]


def make_error(kind: type[SpillError]) -> SpillError:
    """An error of that kind."""
    if kind is BudgetTooSmall:
        return BudgetTooSmall("too small", minimum=3_000)
    if kind is ResultAmbiguous:
        return ResultAmbiguous("two bear that name", indices=[1, 2], next_step="Choose one.")
    return kind("it did not work")


async def test_time_and_keys_that_ran_out_are_told_apart(redis_url: str, cache: SpillCache) -> None:
    """Expired is not lost, and a key that this replica lacks is not a forgery."""
    envelope = await cache.put(metrics())
    cursor = read(await call(cache, spill_id=envelope.spill_id))["next_cursor"]
    async with SpillCache.from_url(redis_url, keyring=Keyring.from_secret(os.urandom(32), kid="new")) as other:
        answer = read(await call(other, spill_id=envelope.spill_id, cursor=cursor))
        assert answer["code"] == "cursor_key_unknown"
    await cache.delete(envelope.spill_id)
    async with cache_on(redis_url, clock=lambda: time.time() + 1_000) as later:
        answer = read(await call(later, spill_id=envelope.spill_id, cursor=cursor))
        assert answer["code"] == "spill_expired"
        assert "Run the original tool again" in answer["next_step"]


async def test_a_flipped_cursor_is_never_believed(cache: SpillCache) -> None:
    """Whichever character was changed."""
    envelope = await cache.put(metrics())
    cursor = read(await call(cache, spill_id=envelope.spill_id))["next_cursor"]
    for place, character in enumerate(cursor):
        forged = cursor[:place] + ("A" if character != "A" else "B") + cursor[place + 1 :]
        answer = read(await call(cache, spill_id=envelope.spill_id, cursor=forged))
        assert answer["code"] in {
            "cursor_rejected",
            "cursor_key_unknown",
            "cursor_version_unsupported",
            "arguments_invalid",
        }


async def test_anothers_spill_answers_exactly_as_none(cache: SpillCache) -> None:
    """With a cursor or without; not a byte tells the two apart."""
    envelope = await cache.put(metrics(), tenant="theirs")
    nobodys = new_id(bytes(15))
    cursor = read(await call(cache, tenant="theirs", spill_id=envelope.spill_id))["next_cursor"]
    for arguments in ({}, {"inventory": True}, {"result": 1}, {"cursor": cursor}):
        theirs = await call(cache, tenant="mine", spill_id=envelope.spill_id, **arguments)
        none = await call(cache, tenant="mine", spill_id=nobodys, **arguments)
        assert theirs == none
        assert theirs["isError"]


async def test_lost_and_corrupt_spills_are_errors_and_never_short_pages(redis_url: str, cache: SpillCache) -> None:
    """A deleted spill in the middle of a walk, and a damaged chunk."""
    with redis.Redis.from_url(redis_url) as client:
        envelope = await cache.put(metrics())
        cursor = read(await call(cache, spill_id=envelope.spill_id))["next_cursor"]
        client.delete(key_of(envelope.spill_id))
        assert read(await call(cache, spill_id=envelope.spill_id, cursor=cursor))["code"] == "spill_lost"
        envelope = await cache.put(metrics())
        client.hset(key_of(envelope.spill_id), "0", b"damaged")
        assert read(await call(cache, spill_id=envelope.spill_id))["code"] == "spill_corrupt"


async def test_what_was_refused_before_any_act_is_told_to_the_watcher(redis_url: str) -> None:
    """Once; what an act of the cache refused is the act's to tell."""
    heard = Heard()
    async with cache_on(redis_url, watcher=heard) as cache:
        await call(cache)
        await call(cache, spill_id="x")
    assert heard.codes == [("tool", "arguments_invalid")]
