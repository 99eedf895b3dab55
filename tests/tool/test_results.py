"""Whole tool results: what is handed on in place of one that does not fit."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillcache import SpillCache
from spillcache.errors import ArgumentsInvalid
from spillcache.tool.parts import HARD_CAP_BYTES
from spillcache.tool.results import MARK, SpillOptions
from spillcache.tool.schemas import UNDECLARED, declare
from tests.servers.caches import cache_on, keys, noise
from tests.tool.results import (
    BATCH,
    counted,
    envelope_in,
    image,
    is_media,
    resource,
    restored,
    result,
    results,
    spill,
    text,
)

NOWHERE = "redis://127.0.0.1:1"
TYPED = declare({"type": "object", "properties": {"ms": {"type": "integer", "default": 0}}})


@pytest.fixture
async def cache(redis_url: str) -> AsyncIterator[SpillCache]:
    """A cache on the session's server."""
    async with cache_on(redis_url) as opened:
        yield opened


@pytest.fixture
async def broken() -> AsyncIterator[SpillCache]:
    """A cache whose server is not there."""
    opened = cache_on(NOWHERE)
    yield opened
    await opened.aclose()


async def payload(cache: SpillCache, answer: dict[str, Any]) -> bytes:
    """What was stored for an answer."""
    return await cache.fetch(envelope_in(answer)["spill_id"])


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@given(sent=results, budget=st.sampled_from((4_096, 7_500, 20_000)), typed=st.booleans())
async def test_every_part_of_every_result_survives_within_the_budget(
    cache: SpillCache, sent: dict[str, Any], budget: int, typed: bool
) -> None:
    """Whatever blocks there are: the envelope first, the answer within its budget, and all parts to be had again."""
    declared = TYPED if typed else UNDECLARED
    answer = await spill(cache, sent, declared, budget=budget, media_bytes=8_000)
    ui = len(orjson.dumps(sent.get("_meta", {})))
    assert counted(answer) - (ui > 5_000) * ui <= budget
    assert answer["isError"] == sent["isError"]
    if MARK not in answer.get("_meta", {}):
        assert answer == sent or not any(block.get("text", "x").strip() for block in sent["content"])
        return
    envelope = envelope_in(answer)
    parts = {f"content[{number}]": block for number, block in enumerate(sent["content"])}
    parts |= {name: sent[name] for name in ("structuredContent",) if name in sent}
    assert restored(answer, await payload(cache, answer)) == parts
    assert {**answer["_meta"], MARK: None} == {**sent.get("_meta", {}), MARK: None}
    assert ("structuredContent" in answer) == (typed and not sent["isError"])
    assert answer.get("structuredContent", envelope) == envelope


async def test_a_result_that_fits_is_the_very_same(cache: SpillCache) -> None:
    """Nothing is copied or stored."""
    sent = result(text("a" * 7_000), structuredContent={"ms": 1})
    assert await spill(cache, sent) is sent


async def test_a_json_text_is_stored_as_itself_and_scanned(cache: SpillCache) -> None:
    """The payload is the text's bytes; its results are named in the envelope, and nothing is spliced into it."""
    answer = await spill(cache, result(text(BATCH)))
    envelope = envelope_in(answer)
    assert await payload(cache, answer) == BATCH.encode()
    assert envelope["kind"] == "json"
    assert envelope["inventory"]["results"] == 6
    assert "parts" not in envelope
    assert len(answer["content"]) == 1


async def test_text_survives_beside_other_structured_content(cache: SpillCache) -> None:
    """A small one that says something else stands in the envelope, because hosts that show it would not show text."""
    answer = await spill(cache, result(text("word " * 20_000), structuredContent={"ms": 0}))
    envelope = envelope_in(answer)
    assert envelope["structured_content"] == {"ms": 0}
    assert envelope["parts"] == {"spilled": ["content[0]"], "kept": ["structuredContent"]}
    assert list(envelope).index("structured_content") < list(envelope).index("preview")
    assert "structuredContent" not in answer


@pytest.mark.parametrize("spelling", [{}, {"indent": 2}, {"indent": 4, "sort_keys": True}, {"separators": (",", ":")}])
async def test_the_same_data_twice_is_spilled_once(cache: SpillCache, spelling: dict[str, Any], redis_url: str) -> None:
    """However the text is spaced; the payload is the text, and neither copy stays."""
    value = {"rows": [{"id": number, "name": "x" * 20} for number in range(1_000)]}
    answer = await spill(cache, result(text(json.dumps(value, **spelling)), structuredContent=value), TYPED)
    assert await payload(cache, answer) == json.dumps(value, **spelling).encode()
    assert len(keys(redis_url)) == 1
    assert answer["structuredContent"] == envelope_in(answer)
    assert "parts" not in envelope_in(answer)


async def test_two_copies_that_only_together_do_not_fit_are_spilled_once(cache: SpillCache) -> None:
    """Hosts count both, and half of them would not be the whole."""
    value = {"rows": ["x" * 30] * 120}
    sent = result(text(json.dumps(value)), structuredContent=value)
    assert len(json.dumps(value)) < 4_200
    answer = await spill(cache, sent, TYPED)
    assert await payload(cache, answer) == json.dumps(value).encode()
    small = {"rows": ["x" * 30] * 94}
    answer = await spill(cache, result(text(json.dumps(small)), structuredContent=small, _meta={"a": "b" * 1_000}))
    assert await payload(cache, answer) == json.dumps(small).encode()


@pytest.mark.parametrize(
    ("texts", "inner"),
    [
        (["word " * 4_000], "word " * 4_000),
        ([json.dumps(["a"] * 4_000)], ["a"] * 4_000),
        (["first " * 900, "second " * 900], ["first " * 900, "second " * 900]),
        (
            [json.dumps({"n": n, "v": "x" * 3_000}, indent=2) for n in range(3)],
            [{"n": n, "v": "x" * 3_000} for n in range(3)],
        ),
    ],
    ids=["a text", "a list", "a text for each", "an object for each"],
)
async def test_what_servers_wrap_is_recognised(cache: SpillCache, texts: list[str], inner: Any) -> None:
    """`{"result": …}` around what the texts say is no second copy, one text for all or one for each."""
    answer = await spill(cache, result(*map(text, texts), structuredContent={"result": inner}))
    assert b"structuredContent" not in await payload(cache, answer)
    assert "structured_content" not in envelope_in(answer)


async def test_what_the_reference_server_for_files_wraps_is_recognised(cache: SpillCache) -> None:
    """`{"content": …}` around its text is no second copy either."""
    answer = await spill(cache, result(text("word " * 4_000), structuredContent={"content": "word " * 4_000}))
    assert await payload(cache, answer) == b"word " * 4_000


@pytest.mark.parametrize(("size", "passes"), [(300_000, True), (500_000, False)])
async def test_a_picture_that_is_sent_twice_is_one_picture(cache: SpillCache, size: int, passes: bool) -> None:
    """Blocks repeated in structuredContent say nothing more; they pass whole while both copies are within the cap."""
    picture = {"type": "image", "data": "A" * size, "mimeType": "image/png"}
    sent = result(picture, structuredContent={"content": [picture]})
    answer = await spill(cache, sent, TYPED)
    assert (answer == sent) is passes
    assert len(orjson.dumps(answer)) <= HARD_CAP_BYTES


async def test_values_that_python_takes_for_equal_are_told_apart(cache: SpillCache) -> None:
    """1 and true are different data: both are kept."""
    answer = await spill(cache, result(text(json.dumps([1] * 9_000)), structuredContent={"result": [True] * 9_000}))
    assert {entry["name"] for entry in json.loads(await payload(cache, answer))["results"]} == {
        "content[0]",
        "structuredContent",
    }


async def test_several_large_parts_make_one_spill_that_names_each(cache: SpillCache, redis_url: str) -> None:
    """JSON stands in it byte for byte, duplicate keys and all; a walk of one part is a walk of one result."""
    odd = '{"a":1, "a":2,  "n":1e400}' + " " * 6_000 + "[]"
    document = '{"a":1, "a":2,   "values":[' + ",".join(map(str, range(3_000))) + "]}"
    answer = await spill(cache, result(text(document), text("small"), text(odd)))
    stored = await payload(cache, answer)
    envelope = envelope_in(answer)
    assert f'"json":{document}}}'.encode() in stored
    assert json.loads(stored)["results"][1] == {"name": "content[2]", "block": text(odd)}
    assert envelope["inventory"]["result_names"] == ["content[0]", "content[2]"]
    assert envelope["parts"] == {"spilled": ["content[0]", "content[2]"], "kept": ["content[1]"]}
    assert answer["content"][1:] == [text("small")]
    assert len(keys(redis_url)) == 1
    page = await cache.page(envelope["spill_id"], result="content[0]")
    assert page.results == (1, 1)


async def test_small_blocks_stay_in_order_after_the_envelope(cache: SpillCache) -> None:
    """The largest goes; links, pictures and texts around it stay as they were."""
    link = {"type": "resource_link", "uri": "file:///b", "name": "b"}
    blocks = [text("before"), image(500), text("x" * 9_000), link, text("after", annotations={"priority": 1})]
    answer = await spill(cache, result(*blocks))
    assert answer["content"][1:] == [blocks[0], blocks[1], blocks[3], blocks[4]]
    assert envelope_in(answer)["parts"]["spilled"] == ["content[2]"]
    assert await payload(cache, answer) == b"x" * 9_000


async def test_annotations_of_a_spilled_text_are_told(cache: SpillCache) -> None:
    """They stand in the envelope when they are short, in the payload when they are not."""
    short = {"annotations": {"audience": ["assistant"]}}
    answer = await spill(cache, result(text("x" * 9_000, **short)))
    assert envelope_in(answer)["parts"]["block"] == {"type": "text", **short}
    long = {"_meta": {"example.org/note": "y" * 900}}
    answer = await spill(cache, result(text("x" * 9_000, **long)))
    assert json.loads(await payload(cache, answer))["results"][0]["block"] == text("x" * 9_000, **long)


async def test_a_picture_passes_whole_under_its_cap(cache: SpillCache) -> None:
    """300 KB of PNG beside a text that does not fit."""
    picture = image(300_000)
    answer = await spill(cache, result(text(BATCH), picture))
    assert answer["content"][1] is picture
    assert counted(answer) <= 7_500
    alone = result(picture, text("what it shows"))
    assert await spill(cache, alone) is alone


async def test_a_picture_over_its_cap_is_stored_whole_as_bytes(cache: SpillCache) -> None:
    """Never cut, never as base64 of base64."""
    answer = await spill(cache, result(text("a chart"), image(300_000)), media_bytes=100_000)
    assert await payload(cache, answer) == noise(300_000)
    envelope = envelope_in(answer)
    assert envelope["kind"] == "bytes"
    assert envelope["parts"]["block"] == {"type": "image", "mimeType": "image/png"}
    assert answer["content"][1:] == [text("a chart")]


async def test_many_pictures_stay_together_under_what_clients_take(cache: SpillCache) -> None:
    """Each under its cap; together they would be an event that Python clients refuse."""
    pictures = [image(200_000, seed) for seed in range(5)]
    answer = await spill(cache, result(*pictures))
    assert len(orjson.dumps(answer)) < HARD_CAP_BYTES
    kept = [block for block in answer["content"] if is_media(block)]
    assert kept == [block for block in pictures if block in kept]
    assert len(kept) == 3
    assert len(json.loads(await payload(cache, answer))["results"]) == 2


async def test_a_resource_with_only_a_blob_survives(cache: SpillCache) -> None:
    """Even when its type says text: it is bytes, small it stays, large it is stored as them."""
    small, large = resource(blob="aGVsbG8="), resource(blob=base64.b64encode(noise(9_000)).decode())
    answer = await spill(cache, result(text("x" * 9_000), small))
    assert answer["content"][1] == small
    answer = await spill(cache, result(large), media_bytes=5_000)
    assert await payload(cache, answer) == noise(9_000)


@pytest.mark.parametrize("data", ["QUJD\n" * 3_000, "QUJD" * 3_000 + "QUJ=", "QUJD" * 3_000 + "QU"])
async def test_base64_that_is_not_canonical_is_stored_as_it_came(cache: SpillCache, data: str) -> None:
    """Decoding it would not be undone by encoding."""
    block = {"type": "image", "data": data, "mimeType": "image/png"}
    answer = await spill(cache, result(block), media_bytes=5_000)
    assert json.loads(await payload(cache, answer))["results"] == [{"name": "content[0]", "block": block}]


async def test_an_error_stays_one_and_shows_both_ends(cache: SpillCache) -> None:
    """200 KB of trace: the flag, how it begins and how it ends, as far as the budget goes."""
    trace = "Traceback:\n" + "".join(f'  File "a.py", line {n}\n' for n in range(9_000)) + "ValueError: the cause"
    answer = await spill(cache, result(text(trace), error=True, structuredContent={"code": 3}), TYPED)
    envelope = envelope_in(answer)
    assert answer["isError"] is True
    assert envelope["preview"].startswith("Traceback:\n")
    assert envelope["preview_tail"].endswith("ValueError: the cause")
    assert len(envelope["preview"]) > 3_000
    assert len(envelope["preview_tail"]) > 500
    assert 6_500 < counted(answer) <= 7_500
    assert envelope["structured_content"] == {"code": 3}
    assert await payload(cache, answer) == trace.encode()


async def test_two_copies_of_the_envelope_share_one_budget(cache: SpillCache) -> None:
    """Both are the same, and counted."""
    for budget in (4_096, 7_500):
        answer = await spill(cache, result(text('"\\' * 9_000)), TYPED, budget=budget)
        assert answer["structuredContent"] == envelope_in(answer)
        assert len(orjson.dumps(answer)) <= budget


async def test_a_result_is_never_spilled_twice(cache: SpillCache, redis_url: str) -> None:
    """Not by a second proxy with less room, marked or not, nor what a tool spilled itself."""
    once = await spill(cache, result(text(BATCH)))
    assert await spill(cache, once, budget=4_096) is once
    unmarked = {key: value for key, value in once.items() if key != "_meta"}
    assert await spill(cache, unmarked, budget=4_096) is unmarked
    assert len(keys(redis_url)) == 1


async def test_a_claim_to_be_spilled_already_lets_nothing_huge_through(cache: SpillCache) -> None:
    """A mark is not believed over what clients can take."""
    answer = await spill(cache, result(text("x" * 900_000), _meta={MARK: {"version": 1}}))
    assert counted(answer) <= 7_500


async def test_a_tool_s_own_envelope_does_not_let_others_through(cache: SpillCache) -> None:
    """What is large beside it is spilled; the tool's envelope stays, behind ours."""
    own = text(orjson.dumps((await cache.put(BATCH)).as_dict()).decode())
    both = result(own, structuredContent=json.loads(own["text"]))
    assert await spill(cache, both, budget=4_096) is both
    answer = await spill(cache, result(own, text("x" * 9_000)), budget=20_000)
    assert answer["content"][0] == own
    answer = await spill(cache, result(own, text("x" * 90_000)), budget=20_000)
    assert await payload(cache, answer) == b"x" * 90_000
    assert answer["content"][1] == own


async def test_the_smallest_budget_holds_the_longest_envelope(redis_url: str) -> None:
    """Two copies, a name of 128 characters, meta, annotations and a tool's structured content of its own."""
    said = {"annotations": {"audience": ["user"] * 8}, "_meta": {'"' * 20: '"' * 60}}
    sent = result(
        text("x" * 90_000, **said), text("y" * 1_400), structuredContent={"ms": '"' * 400}, _meta={"trace": "z" * 900}
    )
    async with cache_on(redis_url, tool_name="n" * 128) as opened:
        answer = await spill(opened, sent, TYPED, budget=4_096)
        assert len(orjson.dumps(answer)) <= 4_096
        assert restored(answer, await payload(opened, answer)) == {
            "content[0]": sent["content"][0],
            "content[1]": sent["content"][1],
            "structuredContent": sent["structuredContent"],
        }


async def test_a_page_is_not_taken_for_an_envelope(cache: SpillCache) -> None:
    """Text that merely begins like one is spilled like any other."""
    for begun in ('{"completeness":"high","rows":[', '{"completeness":"truncated","rows":['):
        sent = begun + ",".join(map(str, range(3_000))) + "]}"
        answer = await spill(cache, result(text(sent)))
        assert await payload(cache, answer) == sent.encode()


@pytest.mark.parametrize("on_store_failure", ["envelope", "pass", "error"])
async def test_a_store_that_refuses_does_not_take_the_answer_away(broken: SpillCache, on_store_failure: Any) -> None:
    """The agent gets an envelope that says failed, the result itself, or an error with code and next step."""
    sent = result(text(BATCH), text("small"), structuredContent={"ms": 0}, _meta={"trace": "abc"})
    answer = await spill(broken, sent, TYPED, on_store_failure=on_store_failure)
    if on_store_failure == "pass":
        assert answer is sent
        return
    assert counted(answer) <= 7_500
    assert answer["_meta"]["trace"] == "abc"
    said = json.loads(answer["content"][0]["text"])
    assert said["code"] == "store_unavailable"
    if on_store_failure == "error":
        assert answer["isError"] is True
        assert said["status"] == "FAILED"
        assert "not empty data" in said["next_step"]
        assert "structuredContent" not in answer
    else:
        assert answer["isError"] is False
        assert said["completeness"] == "failed"
        assert "spill_id" not in said
        assert answer["structuredContent"] == said
        assert answer["content"][1:] == [text("small")]


async def test_what_a_spilled_wrap_would_hide_is_taken_off(cache: SpillCache) -> None:
    """FastMCP's mark of a wrap would make its client look for `result` in the envelope and find null."""
    meta = {"fastmcp": {"wrap_result": True, "version": 1}}
    answer = await spill(cache, result(text("x" * 9_000), structuredContent={"result": "x" * 9_000}, _meta=meta))
    assert answer["_meta"]["fastmcp"] == {"version": 1}
    assert meta == {"fastmcp": {"wrap_result": True, "version": 1}}


async def test_a_spill_belongs_to_the_caller_s_tenant(cache: SpillCache) -> None:
    """And to the tool that made it."""
    answer = await spill(cache, result(text(BATCH)), tenant="acme")
    assert (await cache.stat(envelope_in(answer)["spill_id"], tenant="acme")).tool == "query"


async def test_five_megabytes_come_back_exactly(cache: SpillCache) -> None:
    """Worked on beside the event loop; the answer stays small."""
    value = {"rows": [f"row {number}" for number in range(400_000)]}
    sent = orjson.dumps(value)
    answer = await spill(cache, result(text(sent.decode()), structuredContent=value), TYPED)
    assert hashlib.sha256(await payload(cache, answer)).digest() == hashlib.sha256(sent).digest()
    assert counted(answer) <= 7_500


async def test_a_question_to_the_client_is_not_a_result(cache: SpillCache) -> None:
    """What has no content because it is not complete goes through as it is."""
    asked = {"resultType": "input_required", "inputRequests": {"a": {"x": "y" * 9_000}}}
    assert await spill(cache, asked) is asked


def test_a_budget_that_holds_no_envelope_is_refused() -> None:
    """When the options are made, not when a result is."""
    for wrong in ({"budget": 1_000}, {"budget": 1 << 20}, {"media_bytes": -1}, {"media_bytes": 1 << 20}):
        with pytest.raises(ArgumentsInvalid):
            SpillOptions(**wrong)  # type: ignore[arg-type]
