"""Static tokens: a file of digests that a serving process follows."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path

import pytest

from spillcache.errors import ArgumentsInvalid, Unauthorized
from spillcache.service.auth import Anybody, Bearer, nobody_checked
from spillcache.service.tokens import TokenEntry, TokenFile, digest_of, format_tokens, parse_tokens


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def _written(file: Path, *tenants: str) -> list[str]:
    """A file with a fresh token for each tenant; the tokens."""
    tokens = [secrets.token_urlsafe(32) for _ in tenants]
    file.write_text(format_tokens(tuple(map(TokenEntry, map(digest_of, tokens), tenants, tenants))))
    return tokens


def _break(file: Path, text: str | None) -> None:
    """Put a text that is no list of tokens in its place, or remove it."""
    if text is None:
        file.unlink()
    else:
        file.write_text(text)


def _holds(file: Path, text: str) -> bool:
    return text in file.read_text()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the tokens are."""
    return tmp_path / "tokens.json"


async def test_a_token_is_its_tenant_s(file: Path) -> None:
    """Each another subject; a token that is not listed is nobody's."""
    first, second, third = _written(file, "a", "b", "a")
    tokens = TokenFile(file)
    found = [await tokens.find(token) for token in (first, second, third)]
    assert [identity.tenant for identity in found if identity] == ["a", "b", "a"]
    assert len({identity.subject for identity in found if identity}) == 3
    assert await tokens.find(first[:-1]) is None
    assert await tokens.find(digest_of(first)) is None


async def test_a_subject_is_not_the_credential(file: Path) -> None:
    """Nor its digest, which the file holds."""
    (token,) = _written(file, "a")
    identity = await TokenFile(file).find(token)
    assert identity is not None
    assert identity.subject not in token
    assert not _holds(file, identity.subject)


async def test_the_file_is_followed(file: Path) -> None:
    """What was added counts, what was revoked does not, within a second."""
    clock = Clock()
    (old,) = _written(file, "a")
    tokens = TokenFile(file, monotonic=clock)
    new, newer = _written(file, "b", "c")
    assert await tokens.find(old) is not None
    clock.now = 1.0
    assert await tokens.find(old) is None
    assert await tokens.find(new) is not None
    assert await tokens.find(newer) is not None


@pytest.mark.parametrize(
    "broken",
    ["", "{", '{"tokens": [{"sha256": "short", "tenant": "a"}]}', "[" * 200_000, None],
    ids=["empty", "cut", "a short digest", "deep", "gone"],
)
async def test_a_broken_version_leaves_the_good_one_in_force(
    file: Path, broken: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says so, once; a good version later counts again."""
    clock = Clock()
    (old,) = _written(file, "a")
    tokens = TokenFile(file, monotonic=clock)
    _break(file, broken)
    for clock.now in (1.0, 2.0, 3.0):
        assert await tokens.find(old) is not None
    assert [record.message for record in caplog.records] == ["tokens_not_reloaded"]
    (new,) = _written(file, "b")
    clock.now = 4.0
    assert await tokens.find(new) is not None
    assert await tokens.find(old) is None


async def test_a_version_that_was_read_half_written_is_read_again(
    file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever was revoked by it gets in no longer than until it can be read, though nothing about it changes."""
    clock = Clock()
    (old,) = _written(file, "a")
    tokens = TokenFile(file, monotonic=clock)
    (new,) = _written(file, "b")
    whole = Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda *args, **options: whole(*args, **options)[:20])
    for clock.now in (1.0, 2.0):
        assert await tokens.find(old) is not None
    monkeypatch.undo()
    clock.now = 3.0
    assert await tokens.find(old) is None
    assert await tokens.find(new) is not None
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == ["tokens_not_reloaded"]


async def test_a_version_of_the_same_size_and_time_is_seen(file: Path) -> None:
    """Copying tools set the time of the content; that of the change they cannot."""
    clock = Clock()
    (old,) = _written(file, "a")
    tokens = TokenFile(file, monotonic=clock)
    before = os.stat(file)  # noqa: PTH116 - as Path.stat
    (new,) = _written(file, "b")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    clock.now = 1.0
    assert await tokens.find(old) is None
    assert await tokens.find(new) is not None


@pytest.mark.parametrize(
    "entry",
    [
        {"tenant": "a"},
        {"sha256": "0" * 64},
        {"sha256": "0" * 63, "tenant": "a"},
        {"sha256": "A" * 64, "tenant": "a"},
        {"sha256": "0" * 64, "tenant": ""},
        {"sha256": "0" * 64, "tenant": 7},
        {"sha256": None, "tenant": "a"},
        {"sha256": "0" * 64, "tenant": "a", "name": []},
        "0" * 64,
    ],
)
def test_a_file_that_is_not_valid_is_refused_and_not_repeated(entry: object) -> None:
    """At the start nothing is served under it."""
    with pytest.raises(ArgumentsInvalid) as caught:
        parse_tokens(json.dumps({"tokens": [entry]}))
    assert "0000" not in str(caught.value.as_dict())


def test_the_same_token_twice_is_refused() -> None:
    """It could be two tenants'."""
    entries = (TokenEntry("0" * 64, "a", ""), TokenEntry("0" * 64, "b", ""))
    with pytest.raises(ArgumentsInvalid, match="twice"):
        parse_tokens(format_tokens(entries))


def test_no_tokens_at_all_are_valid() -> None:
    """Then nobody gets in."""
    assert parse_tokens('{"tokens": []}') == ()


def test_a_file_that_is_not_there_is_named(file: Path) -> None:
    """With the command that makes one."""
    with pytest.raises(ArgumentsInvalid, match="No such file") as caught:
        TokenFile(file)
    assert str(file) in caught.value.message
    assert "tokens new" in caught.value.next_step


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "localhost", "LOCALHOST", "::1"])
def test_on_loopback_no_credentials_are_needed(host: str) -> None:
    """Whoever calls is on this machine."""
    assert isinstance(nobody_checked(host, "t", allow_no_auth=False), Anybody)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.7", "spills.example", "localhost.example"])  # noqa: S104
def test_beyond_loopback_it_does_not_start_without_credentials(host: str) -> None:
    """Unless that is asked for; the error names the settings."""
    with pytest.raises(ArgumentsInvalid) as caught:
        nobody_checked(host, "t", allow_no_auth=False)
    assert all(f"SPILLCACHE_{name}" in caught.value.next_step for name in ("TOKENS_FILE", "JWKS_URL", "ALLOW_NO_AUTH"))
    assert isinstance(nobody_checked(host, "t", allow_no_auth=True), Anybody)


async def test_whoever_sends_what_no_source_knows_is_refused(file: Path) -> None:
    """In the same words, whatever was wrong."""
    (token,) = _written(file, "a")
    bearer = Bearer(TokenFile(file))
    said = set()
    for sent in (b"Bearer wrong", b"Basic " + token.encode(), b"Bearer a b", b""):
        with pytest.raises(Unauthorized) as caught:
            await bearer.identify(sent)
        said.add(str(caught.value.as_dict()))
    assert len(said) == 1
    assert (await bearer.identify(b"Bearer " + token.encode())).tenant == "a"
