"""Opening: from settings to a key ring, and to a cache, asynchronous or not.

Where no Redis is configured, the user's shared embedded server is used, and started if need be. Only that one may make
a key ring for itself, beside its socket: everywhere else several replicas must share one, so none is ever made up.
"""

from __future__ import annotations

import logging
import os
import secrets
import shlex
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spillcache._async.cache import SpillCache as AsyncSpillCache
from spillcache._sync.cache import SpillCache
from spillcache.embedded import server as embedded
from spillcache.embedded import socketfile
from spillcache.embedded.server import EmbeddedServer
from spillcache.errors import KeyringInvalid, StoreUnavailable
from spillcache.keyring import MIN_KEY_BYTES, Keyring, format_ring
from spillcache.watch import UNWATCHED, Watcher
from spillcache.wiring.settings import Settings

_log = logging.getLogger("spillcache")

Tell = Callable[[str], None]
"""Takes one sentence for whoever runs the program."""


@dataclass(frozen=True, slots=True)
class Ring:
    """A key ring's text and the file it came from; None when it came out of the environment."""

    text: str
    file: Path | None


def open_cache(settings: Settings, *, reads: bool = True, tell: Tell | None = None) -> SpillCache:
    """A cache for programs without asyncio. `reads=False` is for those that only write or delete: they need no key.

    `tell` hears what was started or made on the way; else the log does. Nothing is connected yet, but the embedded
    server may be started, which blocks for some 40 ms. Raises `KeyringInvalid`, `ArgumentsInvalid`, and what starting
    a server raises.
    """
    return SpillCache.from_url(**_arguments(settings, reads=reads, tell=tell))


def open_async_cache(
    settings: Settings, *, reads: bool = True, tell: Tell | None = None, watcher: Watcher = UNWATCHED
) -> AsyncSpillCache:
    """A cache for asyncio programs; otherwise as `open_cache`. Call it before the loop starts, or in a thread.

    `watcher` hears what it does: `Metrics`, `Events`, `Tracing`, or several as `Watchers`.
    """
    return AsyncSpillCache.from_url(**_arguments(settings, reads=reads, tell=tell), watcher=watcher)


def locate(settings: Settings, tell: Tell | None = None) -> str:
    """The URL of the configured Redis, else of the user's embedded server, started if it does not run."""
    if settings.redis_url is not None:
        return settings.redis_url.get_secret_value()
    url, started = embedded.start_shared()
    if started:
        _say(
            tell,
            "No Redis is configured: started an embedded one that keeps running between commands "
            "(SPILLCACHE_REDIS_URL names another; `spillcache embedded stop` ends it).",
        )
    return url


def has_keyring(settings: Settings) -> bool:
    """Whether there is a ring to read with; the embedded server has its own, made when it is needed."""
    return settings.keyring is not None or settings.keyring_file is not None or settings.redis_url is None


def open_keyring(settings: Settings, tell: Tell | None = None) -> Keyring:
    """The key ring of these settings. Raises `KeyringInvalid`.

    The error says how to make a ring only when there is none; of one that is wrong it says where it is, and what is.
    """
    ring = stored_ring(settings, tell)
    return Keyring.from_json(ring.text) if ring.file is None else Keyring.from_file(ring.file)


def stored_ring(settings: Settings, tell: Tell | None = None) -> Ring:
    """The text of the key ring of these settings, a valid one, for whoever administers it. Raises `KeyringInvalid`."""
    if settings.keyring is not None:
        return _valid(Ring(settings.keyring.get_secret_value(), None), "the key ring in SPILLCACHE_KEYRING")
    file = _ring_file(settings, tell)
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        make = shlex.join(["spillcache", "keys", "new", "-o", str(file)])
        raise KeyringInvalid(
            f"there is no key ring file {file}",
            next_step=(
                f"Correct the file's name, or put the ring there that the other processes use; "
                f"only if there is none yet: `{make}`."
            ),
        ) from None
    except OSError as error:
        raise KeyringInvalid(
            f"the key ring file {file} cannot be read ({error.strerror or type(error).__name__})",
            next_step="Let this user read the file, or name another.",
        ) from None
    except UnicodeDecodeError:
        raise KeyringInvalid(f"the key ring file {file} is not text", next_step=_REPAIR) from None
    return _valid(Ring(text, file), f"the key ring file {file}")


_REPAIR = "Correct it, or put a good copy in its place: the ring that the other processes use."


def _valid(ring: Ring, name: str) -> Ring:
    try:
        Keyring.from_json(ring.text)
    except KeyringInvalid as error:
        message = error.message
    else:
        return ring
    raise KeyringInvalid(f"{name} is not valid: {message}", next_step=_REPAIR)


def _arguments(settings: Settings, *, reads: bool, tell: Tell | None) -> dict[str, Any]:
    # The ring first: who has no key must not start a server.
    keyring = open_keyring(settings, tell) if reads else None
    read_deadline_s, write_deadline_s = settings.deadline_s
    return {
        "url": locate(settings, tell),
        "keyring": keyring,
        "prefix": settings.prefix,
        "read_deadline_s": read_deadline_s,
        "write_deadline_s": write_deadline_s,
        "concurrency": settings.concurrency,
        "wait_replicas": settings.wait_replicas,
        "tenant": settings.tenant,
        "ttl_s": settings.ttl_s,
        "max_age_s": settings.max_age_s,
        "budget_bytes": settings.budget_bytes,
        "max_payload_bytes": settings.max_payload_bytes,
        "preview_bytes": settings.preview_bytes,
        "series": settings.series,
        "tool_name": settings.tool_name,
    }


def _ring_file(settings: Settings, tell: Tell | None) -> Path:
    if settings.keyring_file is not None:
        return settings.keyring_file
    if settings.redis_url is not None:
        raise KeyringInvalid("no key ring is configured, and one that this process made up no other could read with")
    return _own_ring(embedded.state_directory(), tell)


def _own_ring(directory: Path, tell: Tell | None) -> Path:
    """The embedded server's key ring, made when there is none: for this user alone, and the same for every command."""
    file = directory / "keyring.json"
    if file.exists():
        return file
    draft = directory / f"keyring.{secrets.token_hex(8)}"
    try:
        socketfile.private_directory(directory)
        write_private(draft, format_ring({"embedded": secrets.token_bytes(MIN_KEY_BYTES)}, "embedded"))
        try:
            with suppress(
                FileExistsError
            ):  # another command was quicker: its ring is as good, and must be the only one
                os.link(draft, file)
                _say(tell, f"Made a key ring for the embedded server: {file}")
        finally:
            draft.unlink()
    except OSError as error:
        raise StoreUnavailable(
            f"the embedded server's directory {directory} cannot be written ({error.strerror or type(error).__name__})",
            next_step="Make it writable for you, or set SPILLCACHE_REDIS_URL to a server of your own.",
        ) from None
    return file


@dataclass(frozen=True, slots=True)
class EmbeddedState:
    """The user's embedded server: where its files are, and, while it runs, its URL and process id."""

    directory: Path
    url: str | None
    pid: int | None


def embedded_state() -> EmbeddedState:
    """How the user's embedded server is, without starting it."""
    directory = embedded.state_directory()
    url, pid = embedded.find_shared() or (None, None)
    return EmbeddedState(directory, url, pid)


def stop_embedded() -> bool:
    """Stop the user's embedded server; all that it held is gone. Whether there was one. Raises `StoreUnavailable`."""
    return embedded.stop_shared()


def private_server() -> EmbeddedServer:
    """A server of this process's own, gone with it. Raises `ServerUnsupported`, `StoreUnavailable`."""
    return EmbeddedServer.start()


def write_private(path: Path, text: str) -> None:
    """Write a new file that only its owner may read. Raises `FileExistsError` when it exists."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def _say(tell: Tell | None, sentence: str) -> None:
    if tell is None:
        _log.info("embedded_default", extra={"meaning": sentence})
    else:
        tell(sentence)
