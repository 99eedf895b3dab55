"""An upstream in a process of its own: its bytes, its environment, its end."""

from __future__ import annotations

import json
import os
from pathlib import Path

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult

from spillcache.errors import ArgumentsInvalid
from spillcache.mcp.proxy.child import check_commands
from spillcache.mcp.proxy.config import make_upstream
from tests.mcp.proxy.conftest import Behind
from tests.mcp.proxy.fronts import answer_of, before, program, text_of, walked
from tests.servers.waiting import until


async def test_bytes_that_are_no_answer_fail_their_call_and_nothing_else(redis_url: str) -> None:
    """345 KB on one line, another encoding, NUL, noise, an answer over the cap: each is lossless or a prompt error."""
    async with before(program("bytes", max_message_bytes=1_000_000), redis_url) as client:
        line = answer_of(await client.call_tool("line"))
        whole = json.loads(await walked(client, line["spill_id"]))
        cp949 = await client.call_tool("cp949")
        nul = await client.call_tool("nul")
        junk = await client.call_tool("junk")
        flood = await client.call_tool("flood")
        fine = await client.call_tool("fine")
    assert [result["log"] for result in whole["results"]] == ["x" * 86_000] * 4
    assert cp949.is_error
    assert answer_of(cp949)["code"] == "upstream_invalid"
    assert "UTF-8" in answer_of(cp949)["message"]
    assert text_of(nul) == "a\x00b"
    assert text_of(junk) == "after the junk"
    assert flood.is_error
    assert answer_of(flood)["code"] == "payload_too_large"
    assert text_of(fine) == "fine"


async def test_a_call_that_its_server_does_not_survive_says_that_it_may_have_run(redis_url: str, child: Behind) -> None:
    """It is not sent again; the next call finds a new process."""
    async with before(child.upstream, redis_url) as client:
        first = answer_of(await client.call_tool("where"))["pid"]
        died = await client.call_tool("die")
        second = answer_of(await client.call_tool("where"))["pid"]
    assert died.is_error
    assert answer_of(died)["code"] == "upstream_unavailable"
    assert answer_of(died)["message"] == "the tool's server was lost while it ran this call"
    assert "may have run" in answer_of(died)["next_step"]
    assert child.told("called die") == 1
    assert second != first


async def test_an_answer_cut_short_by_its_servers_death_is_no_answer(redis_url: str) -> None:
    """What came of it is not shown."""
    async with before(program("bytes"), redis_url) as client:
        half = await client.call_tool("half")
        fine = await client.call_tool("fine")
    assert half.is_error
    assert answer_of(half)["status"] == "FAILED"
    assert "z" not in answer_of(half)["message"]
    assert text_of(fine) == "fine"


async def test_a_process_that_ends_ends_its_calls_whoever_holds_its_output_open(redis_url: str) -> None:
    """What it left behind says nothing any more."""
    async with before(program("bytes"), redis_url) as client:
        left = await client.call_tool("heir")
        fine = await client.call_tool("fine")
    assert answer_of(left)["code"] == "upstream_unavailable"
    assert text_of(fine) == "fine"


@pytest.mark.parametrize("tool", ["stray", "unnamed", "torn"])
async def test_an_answer_that_is_nobodys_ends_all_that_wait(redis_url: str, tool: str) -> None:
    """One of them was meant, and nobody knows which; none of them waits for ever, and the next call is well."""
    results: list[CallToolResult] = []
    async with before(program("bytes"), redis_url) as client:
        await client.list_tools()

        async def call(name: str) -> None:
            results.append(await client.call_tool(name))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, "silent")
            tasks.start_soon(call, tool)
        fine = await client.call_tool("fine")
    assert [answer_of(result)["code"] for result in results] == ["upstream_invalid"] * 2
    assert all(answer_of(result)["next_step"] for result in results)
    assert text_of(fine) == "fine"


async def test_an_answer_over_the_cap_fails_its_own_call_only(redis_url: str) -> None:
    """Though its data has the id of another that waits."""
    async with before(program("bytes", max_message_bytes=1_000_000), redis_url) as client:
        await client.list_tools()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "silent")
            buried = await client.call_tool("buried")
            fine = await client.call_tool("fine")
            tasks.cancel_scope.cancel()
    assert answer_of(buried)["code"] == "payload_too_large"
    assert text_of(fine) == "fine"


async def test_what_can_be_read_is_read(redis_url: str) -> None:
    """After a byte order mark, in a batch; and an error without an id is that of the one call there is."""
    async with before(program("bytes"), redis_url) as client:
        assert text_of(await client.call_tool("bom")) == "fine"
        assert text_of(await client.call_tool("batch")) == "fine"
        with pytest.raises(MCPError) as error:
            await client.call_tool("unread")
    assert error.value.error.message == "unread"


async def test_a_server_that_ends_at_once_is_an_error(redis_url: str) -> None:
    """For a call a result that says why and what to do, for a list an error: never an empty list."""
    async with before(make_upstream(command="false"), redis_url) as client:
        called = await client.call_tool("anything")
        with pytest.raises(MCPError) as listed:
            await client.list_tools()
        with pytest.raises(MCPError):
            await client.list_resources()
    assert called.is_error
    assert answer_of(called)["code"] == "upstream_unavailable"
    assert answer_of(called)["message"] == (
        "the tool's server cannot be reached: the connection was lost while it was made; the call was not made"
    )
    assert listed.value.error.data["next_step"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("no-such-command", "there is no command 'no-such-command'"),
        ("./no-such-command", "there is no command './no-such-command'"),
        ("/dev/null", "'/dev/null' is no program"),
    ],
)
async def test_a_command_that_does_not_exist_is_refused_before_anything_is_served(
    redis_url: str, tmp_path: Path, command: str, said: str
) -> None:
    """One among several too, which the error names; a path counts from the directory that the command runs in."""
    (tmp_path / "here").write_text("#!/bin/sh")
    (tmp_path / "here").chmod(0o755)
    upstreams = {"good": make_upstream(command="./here", cwd=tmp_path), "bad": make_upstream(command=command)}
    with pytest.raises(ArgumentsInvalid, match=f"'bad': {said}"):
        async with before(upstreams, redis_url):
            raise AssertionError("it opened")


async def test_a_command_is_looked_for_where_its_own_path_says(tmp_path: Path) -> None:
    """A table that sets PATH sets it for the command itself."""
    (tmp_path / "only-here").write_text("#!/bin/sh")
    (tmp_path / "only-here").chmod(0o755)
    upstream = make_upstream(command="only-here", env={"PATH": str(tmp_path)})
    check_commands({"": upstream}, {})
    with pytest.raises(ArgumentsInvalid, match="on PATH"):
        check_commands({"": make_upstream(command="only-here")}, {})


async def test_a_child_inherits_what_it_is_given_and_no_more(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables by name, variables by value, and those that every program needs; our own secrets stay ours."""
    monkeypatch.setenv("PASSED_ON", "yes")
    monkeypatch.setenv("SPILLCACHE_KEYRING", "secret")
    upstream = program("everything", env={"GIVEN": "too"}, inherit_env=("PASSED_ON", "NOT_SET"))
    async with before(upstream, redis_url) as client:
        environment = answer_of(await client.call_tool("where"))["environment"]
    assert environment["PASSED_ON"] == "yes"
    assert environment["GIVEN"] == "too"
    assert environment["PATH"] == os.environ["PATH"]
    assert "SPILLCACHE_KEYRING" not in environment


async def test_a_child_ends_with_its_client_and_takes_its_own_children_along(redis_url: str) -> None:
    """Even one that holds the output open and would not end by itself."""
    async with before(program("everything"), redis_url) as client:
        child = answer_of(await client.call_tool("where"))["pid"]
        grandchild = int(text_of(await client.call_tool("orphan")))
    await anyio.to_thread.run_sync(until, lambda: not alive(child) and not alive(grandchild), "both are gone")


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and waits to be noticed does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
