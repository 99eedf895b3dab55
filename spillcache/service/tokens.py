"""The file of static bearer tokens: whose each one is. It holds digests only, so reading it opens nothing.

`{"tokens": [{"sha256": "<hex>", "tenant": "…", "name": "…"}]}`; `name` is for people. A serving process follows the
file: a token that was added or revoked counts within a second. A version that cannot be read leaves the last good one
in force, and the log says so.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spillcache.errors import ArgumentsInvalid
from spillcache.service.auth import Identity, subject_of

_log = logging.getLogger("spillcache")

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_LOOK_S: Final = 1.0  # what `tokens revoke` promises; a look costs 2 µs

_Version = tuple[int, int, int, int]

_REPAIR = 'It is JSON of the form {"tokens": [{"sha256": "…", "tenant": "…", "name": "…"}]}: correct it.'


@dataclass(frozen=True, slots=True)
class TokenEntry:
    """A token's digest (64 hex digits), whose it is, and what people call it."""

    sha256: str
    tenant: str
    name: str


def digest_of(token: str) -> str:
    """What a file holds of a token. No salt and no stretching: tokens are 256 random bits, not passwords."""
    return hashlib.sha256(token.encode()).hexdigest()


def parse_tokens(text: str) -> tuple[TokenEntry, ...]:
    """The entries of a file. Raises `ArgumentsInvalid`, which repeats nothing of it."""
    try:
        listed = json.loads(text)["tokens"]
        entries = tuple(TokenEntry(one["sha256"], one["tenant"], one.get("name", "")) for one in listed)
        sound = all(_is_sound(entry) for entry in entries)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        sound = False
    if not sound:
        raise ArgumentsInvalid("the tokens file is not valid", next_step=_REPAIR)
    if len({entry.sha256 for entry in entries}) != len(entries):
        raise ArgumentsInvalid("the tokens file lists a token twice", next_step="Remove one of the two entries.")
    return entries


def format_tokens(entries: tuple[TokenEntry, ...]) -> str:
    """The text of a file, as `parse_tokens` reads it."""
    listed = [{"sha256": one.sha256, "tenant": one.tenant, "name": one.name} for one in entries]
    return json.dumps({"tokens": listed}, indent=2, ensure_ascii=False) + "\n"


def read_tokens(file: Path) -> tuple[TokenEntry, ...]:
    """The entries of a file on disk. Raises `ArgumentsInvalid`."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
        raise ArgumentsInvalid(
            f"the tokens file {file} cannot be read ({why})",
            next_step="Let this user read it; `spillcache tokens new` makes one where there is none.",
        ) from None
    return parse_tokens(text)


class TokenFile:
    """The tokens of a file, which it follows. Raises `ArgumentsInvalid` when the first version is not valid."""

    def __init__(self, file: Path, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._file, self._monotonic = file, monotonic
        self._looked_at = monotonic()
        self._in_force = self._told_of = _version(file)
        self._identities = _identities(read_tokens(file))

    async def find(self, token: str) -> Identity | None:
        """See `TokenSource`."""
        self._follow()
        # How long it takes to find a digest could at most tell of digests, and those open nothing.
        return self._identities.get(digest_of(token))

    def _follow(self) -> None:
        now = self._monotonic()
        if now - self._looked_at < _LOOK_S:
            return
        self._looked_at = now
        version = _version(self._file)
        if version != self._in_force:
            self._read(version)

    def _read(self, version: _Version | None) -> None:
        """Put a version in force. One that is not good is read again each time: it may be half written."""
        try:
            identities = _identities(read_tokens(self._file))
        except ArgumentsInvalid as error:
            if version != self._told_of:
                _log.error("tokens_not_reloaded", extra={"meaning": error.message})
        else:
            self._identities, self._in_force = identities, version
            _log.info("tokens_reloaded", extra={"tokens": len(identities)})
        self._told_of = version


def _identities(entries: tuple[TokenEntry, ...]) -> dict[str, Identity]:
    return {one.sha256: Identity(one.tenant, subject_of("token", one.sha256)) for one in entries}


def _is_sound(entry: TokenEntry) -> bool:
    texts = (entry.sha256, entry.tenant, entry.name)
    return all(isinstance(text, str) for text in texts) and bool(_SHA256.fullmatch(entry.sha256) and entry.tenant)


def _version(file: Path) -> _Version | None:
    """What differs between two versions of a file, also where a link is turned to another; None when it is gone."""
    try:
        found = os.stat(file)  # noqa: PTH116 - as Path.stat
    except OSError:
        return None
    # The time of change as well: that of the content can be set, and copying tools do.
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size
