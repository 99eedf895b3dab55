"""Answers of an upstream over HTTP, whatever they hold and whomever they are for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mcp.shared.exceptions import MCPError

from spillcache.mcp.proxy.config import Upstream, make_upstream
from spillcache.mcp.proxy.failures import Away, as_mcp_error, lost, typed, unreachable, why_unreachable
from tests.mcp.proxy.fronts import answer_of, before, free_port, text_of
from tests.mcp.proxy.upstreams.answers import answering


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    """A server that answers anything."""
    with answering() as url:
        yield make_upstream(url=url, max_message_bytes=1_000_000)


async def test_what_is_sound_arrives(redis_url: str, upstream: Upstream) -> None:
    """After other events, with its fields in any order, under its id as a text, and compressed."""
    async with before(upstream, redis_url) as client:
        for tool in ("events", "backwards", "as text"):
            for name in (tool, f"gzip {tool}"):
                assert text_of(await client.call_tool(name)) == "fine"


@pytest.mark.parametrize(
    ("tool", "code", "word"),
    [
        ("cp949", "upstream_invalid", "UTF-8"),
        ("gzip cp949", "upstream_invalid", "UTF-8"),
        ("another's event", "upstream_invalid", "not made"),
        ("nobody's event", "upstream_invalid", "not made"),
        ("another's", "upstream_invalid", "not made"),
        ("no answer", "upstream_invalid", "JSON-RPC"),
        ("batch", "upstream_invalid", "JSON-RPC"),
        ("cut", "upstream_invalid", "JSON-RPC"),
        ("large", "payload_too_large", "more than"),
    ],
)
async def test_what_is_no_answer_of_this_call_fails_it_at_once(
    redis_url: str, upstream: Upstream, tool: str, code: str, word: str
) -> None:
    """With a code and a next step: it neither waits, nor takes another's answer for its own. The next call is well."""
    async with before(upstream, redis_url) as client:
        failed = await client.call_tool(tool)
        assert failed.is_error
        assert answer_of(failed)["code"] == code
        assert word in answer_of(failed)["message"]
        assert answer_of(failed)["next_step"]
        assert text_of(await client.call_tool("events")) == "fine"


@pytest.mark.parametrize(
    ("namespace", "tool", "named"), [("", "any", "the tool's server"), ("ns", "ns_any", "the server 'ns'")]
)
async def test_a_server_that_does_not_listen_is_said_to_be_unreachable_once(
    redis_url: str, namespace: str, tool: str, named: str
) -> None:
    """In one sentence: which server, why, and that nothing was run."""
    nowhere = make_upstream(url=f"http://127.0.0.1:{free_port()}/mcp")
    async with before({namespace: nowhere}, redis_url) as client:
        answer = answer_of(await client.call_tool(tool))
    assert answer["message"] == (
        f"{named} cannot be reached: the connection was refused or has no way; the call was not made"
    )


def test_what_failed_while_connecting_fits_into_the_sentence() -> None:
    """Whatever it was."""
    answered = Away("the tool's server answered 503", why="it answered 503")
    assert why_unreachable(answered) == "it answered 503"
    again = typed(as_mcp_error(answered), alive=True)
    assert again is not None
    assert why_unreachable(again) == "it answered 503"
    assert why_unreachable(unreachable("it took too long")) == "it took too long"
    assert "ran this call" not in why_unreachable(lost())


@pytest.mark.parametrize("tool", ["refused", "refused event"])
async def test_an_error_that_does_not_say_whose_it_is_is_that_of_its_request(
    redis_url: str, upstream: Upstream, tool: str
) -> None:
    """Over HTTP there is only one that it can be."""
    async with before(upstream, redis_url) as client:
        with pytest.raises(MCPError) as error:
            await client.call_tool(tool)
    assert (error.value.error.code, error.value.error.message) == (-32602, "refused")
