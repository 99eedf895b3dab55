"""`spillcache tokens`."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from spillcache.cli.root import spillcache
from spillcache.service.tokens import TokenFile, digest_of
from tests.cli.commands import Program, Ran, clean_environment


@dataclass(frozen=True, slots=True)
class Commands:
    """The command line in this process: starting one takes a hundred times as long as what it is to do."""

    environment: dict[str, str]

    def __call__(self, *arguments: str) -> Ran:
        """Run a command to its end."""
        unset = {name: None for name in os.environ if name.startswith("SPILLCACHE_")}
        ran = CliRunner().invoke(spillcache, arguments, env={**unset, **self.environment})
        assert ran.exception is None or isinstance(ran.exception, SystemExit)
        return Ran(ran.exit_code, ran.stdout_bytes, ran.stderr)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """The program without a setting, in an empty directory."""
    monkeypatch.chdir(tmp_path)
    return Commands({})


@pytest.fixture
def tokens(bare: Commands, tmp_path: Path) -> Commands:
    """The program, with a tokens file in its settings that does not exist yet."""
    return Commands({"SPILLCACHE_TOKENS_FILE": str(tmp_path / "tokens.json")})


def _tenant_of(file: Path, token: str) -> str | None:
    identity = asyncio.run(TokenFile(file).find(token))
    return identity.tenant if identity is not None else None


def test_a_token_is_printed_once_and_only_its_digest_is_kept(tmp_path: Path) -> None:
    """A new file is its owner's alone; standard output, of a real process, holds the token and nothing else."""
    file = tmp_path / "tokens.json"
    program = Program(clean_environment(tmp_path / "state", SPILLCACHE_TOKENS_FILE=str(file)), tmp_path)
    ran = program("tokens", "new", "--tenant", "a")
    token = ran.text.strip()
    assert (ran.code, len(ran.text.splitlines())) == (0, 1)
    assert file.stat().st_mode & 0o777 == 0o600
    assert token not in file.read_text() + ran.err
    assert digest_of(token) in file.read_text()
    assert _tenant_of(file, token) == "a"


def test_tokens_add_up_and_one_is_revoked_by_name(tokens: Commands, tmp_path: Path) -> None:
    """The others stay; a listing shows names and tenants, no digest."""
    file = tmp_path / "tokens.json"
    made = [tokens("tokens", "new", "--tenant", tenant, "--name", f"{tenant}-1", "--json").answer for tenant in "ab"]
    assert [(one["tenant"], one["name"]) for one in made] == [("a", "a-1"), ("b", "b-1")]
    listed = tokens("tokens", "list", "--json")
    assert listed.answer == {"tokens": [{"name": "a-1", "tenant": "a"}, {"name": "b-1", "tenant": "b"}]}
    assert tokens("tokens", "revoke", "a-1").code == 0
    assert [_tenant_of(file, one["token"]) for one in made] == [None, "b"]
    assert "b-1" in tokens("tokens", "list").text


def test_a_name_is_taken_once(tokens: Commands, tmp_path: Path) -> None:
    """Or revoking would not know which."""
    assert tokens("tokens", "new", "--tenant", "a", "--name", "n").code == 0
    before = (tmp_path / "tokens.json").read_text()
    again = tokens("tokens", "new", "--tenant", "b", "--name", "n", "--json")
    assert (again.code, again.answer["code"]) == (1, "arguments_invalid")
    assert (tmp_path / "tokens.json").read_text() == before


def test_a_broken_file_is_left_as_it_is(tokens: Commands, tmp_path: Path) -> None:
    """Adding to it would throw away what somebody may still repair."""
    file = tmp_path / "tokens.json"
    file.write_text("{")
    for command in (["new", "--tenant", "a"], ["revoke", "x"]):
        ran = tokens("tokens", *command, "--json")
        assert (ran.code, ran.answer["code"]) == (1, "arguments_invalid")
    assert file.read_text() == "{"


def test_the_file_must_be_named(bare: Commands, tokens: Commands, tmp_path: Path) -> None:
    """By option or setting; the option wins."""
    unnamed = bare("tokens", "new", "--tenant", "a", "--json")
    assert (unnamed.code, "SPILLCACHE_TOKENS_FILE" in unnamed.answer["next_step"]) == (1, True)
    assert tokens("tokens", "new", "--tenant", "b", "--file", "other.json").code == 0
    assert not (tmp_path / "tokens.json").exists()
    named = bare("tokens", "new", "--tenant", "a", "--file", "mine.json")
    assert (named.code, "SPILLCACHE_TOKENS_FILE" in named.err) == (0, True)
    assert json.loads((tmp_path / "mine.json").read_text())["tokens"][0]["tenant"] == "a"


def test_a_file_that_cannot_be_written_is_typed(tokens: Commands) -> None:
    """No token is shown for it."""
    ran = tokens("tokens", "new", "--tenant", "a", "--file", "absent/tokens.json", "--json")
    assert (ran.code, ran.answer["code"]) == (1, "output_failed")
    assert "sct_" not in ran.text


def test_a_tenant_has_a_name(tokens: Commands) -> None:
    """A blank one would be everybody's mistake."""
    assert tokens("tokens", "new", "--tenant", " ", "--json").answer["code"] == "arguments_invalid"


def test_revoking_what_is_not_there_is_said(tokens: Commands) -> None:
    """With how to see what is."""
    tokens("tokens", "new", "--tenant", "a")
    ran = tokens("tokens", "revoke", "absent", "--json")
    assert (ran.code, "tokens list" in ran.answer["next_step"]) == (1, True)
