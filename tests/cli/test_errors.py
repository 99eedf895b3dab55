"""How the command line fails."""

from __future__ import annotations

import secrets

import pytest

from spillcache.errors import StoreUnavailable
from tests.cli.commands import Program
from tests.conftest import OwnServer
from tests.servers.process import Admin


def test_json_errors_are_the_librarys(program: Program) -> None:
    """On standard output, in the contract's order, with nothing beside them."""
    ran = program("page", "abc", "--json")
    assert ran.code == 1
    assert list(ran.answer) == ["status", "code", "message", "next_step"]
    assert (ran.answer["status"], ran.answer["code"]) == ("FAILED", "spill_id_malformed")
    assert ran.err == ""


def test_errors_for_people_say_code_reason_and_next_step(program: Program) -> None:
    """On standard error; standard output stays empty."""
    ran = program("page", "abc")
    assert (ran.code, ran.out) == (1, b"")
    assert ran.err.startswith("FAILED spill_id_malformed: ")
    assert ran.err.splitlines()[1].startswith("Next: ")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--cursor", "start"], "cursor_malformed"),
        (["--result", "absent"], "result_not_found"),
        (["--budget", "10"], "budget_too_small"),
    ],
)
def test_each_error_keeps_its_code(program: Program, arguments: list[str], code: str) -> None:
    """What the library distinguishes, the command line distinguishes."""
    spill_id = program.store(b'{"results":[{"name":"a"},{"name":"b"}]}')
    ran = program("page", spill_id, *arguments, "--json")
    assert (ran.code, ran.answer["code"]) == (1, code)


def test_no_key_ring_says_how_to_make_one(program: Program) -> None:
    """Reading without a key is refused, with the command that makes one."""
    ran = program("page", "a" * 26, SPILLCACHE_KEYRING_FILE="")
    assert ran.code == 1
    assert "keyring_invalid" in ran.err
    assert "spillcache keys new -o" in ran.err


def test_a_server_that_is_down_is_unavailable_and_its_password_stays_secret(program: Program) -> None:
    """A typed error without the URL, and so without what is in it."""
    password = secrets.token_hex(8)
    url = f"redis://user:{password}@127.0.0.1:1"
    for command in (["put", "-"], ["page", "a" * 26], ["doctor"], ["doctor", "--json"]):
        ran = program(*command, SPILLCACHE_REDIS_URL=url)
        assert ran.code == 1
        assert password not in ran.text + ran.err


def test_the_next_command_does_not_repeat_a_password(program: Program, redis_url: str) -> None:
    """A URL given on the command line is repeated only when there is no password in it."""
    assert f"--redis-url {redis_url}" in program("--redis-url", redis_url, "put", "-", stdin=b"x").text
    with_password = redis_url.replace("redis://", "redis://:pw@")
    ran = program("--redis-url", with_password, "put", "-", stdin=b"x")
    assert "pw@" not in ran.text + ran.err


def test_a_setting_that_is_wrong_is_named_without_its_value(program: Program) -> None:
    """The variable and the reason; its value may be a secret in the wrong place."""
    ran = program("put", "-", "--json", SPILLCACHE_TTL_S="hunter2")
    assert (ran.code, ran.answer["code"]) == (1, "arguments_invalid")
    assert "SPILLCACHE_TTL_S" in ran.answer["message"]
    assert "hunter2" not in ran.text


@pytest.mark.parametrize("arguments", [["nonsense"], ["page"], ["page", "x", "--nonsense"], ["put", "."]])
def test_usage_errors_have_a_code_of_their_own(program: Program, arguments: list[str]) -> None:
    """Exit code 2."""
    assert program(*arguments).code == 2


@pytest.mark.parametrize(("option", "metavar"), [("--tenant", "NAME"), ("--redis-url", "URL"), ("--prefix", "TEXT")])
def test_an_option_for_all_commands_is_told_its_place(program: Program, option: str, metavar: str) -> None:
    """Before the command, and how that looks; also where the command has a group."""
    for command in (["verify", "x"], ["keys", "list"]):
        ran = program(*command, option, "x")
        verb = command[0] if command[0] == "verify" else "keys list"
        assert (ran.code, f"spillcache {option} {metavar} {verb} ..." in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["--result", "absent"], "spillcache show {id}"),
        (["--result", "twin"], "spillcache page {id} --result 2"),
        (["--budget", "10"], "Use --budget "),
        (["--cursor", "start"], "Start again with `spillcache page {id}`"),
    ],
)
def test_next_steps_are_commands_for_people(program: Program, arguments: list[str], advice: str) -> None:
    """What agents are told stays in --json."""
    spill_id = program.store(b'{"results":[{"name":"a"},{"name":"twin"},{"name":"twin"}]}')
    ran = program("page", spill_id, *arguments)
    assert advice.format(id=spill_id) in ran.err
    said = ran.err.split("Next: ")[1]
    assert all(word not in said for word in ("inventory: true", "max_bytes", "next_cursor"))


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1", "redis://nowhere.invalid:6379", "unix:///nowhere/redis.sock"])
def test_a_server_that_is_not_there_is_looked_for_at_its_url(program: Program, url: str) -> None:
    """The setting and what it says, not a call for patience; the JSON is the library's."""
    ran = program("put", "-", SPILLCACHE_REDIS_URL=url)
    assert f"Check SPILLCACHE_REDIS_URL ({url})" in ran.err
    assert "few seconds" not in ran.err
    answer = program("put", "-", "--json", SPILLCACHE_REDIS_URL=url).answer
    assert answer["next_step"] == StoreUnavailable.default_next_step


def test_a_wrong_password_is_to_be_checked_and_not_shown(program: Program, own_server: OwnServer) -> None:
    """The URL is shown without it, on the command line and in the environment."""
    right, wrong = secrets.token_hex(8), secrets.token_hex(8)
    server = own_server({"requirepass": right}, admin=Admin(password=right))
    url = server.url.replace(right, wrong)
    for options, setting in ((["--redis-url", url], "--redis-url"), ([], "SPILLCACHE_REDIS_URL")):
        ran = program(*options, "put", "-", SPILLCACHE_REDIS_URL=url)
        assert f"Nothing was stored. Check {setting} (redis://default:***@" in ran.err
        assert "user and password" in ran.err
        assert wrong not in ran.err
