"""From a run's options to settings, logs and an open cache."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from spillcache.cli.answers import notice
from spillcache.cli.session import Session
from spillcache.errors import SpillError
from spillcache.sync import SpillCache
from spillcache.wiring.logs import configure_logs
from spillcache.wiring.opening import open_cache
from spillcache.wiring.settings import Settings, read_settings
from spillcache.wiring.urls import shown_url


def settings_of(session: Session, **options: Any) -> Settings:
    """The settings of this run: the environment, and over it the global options and a command's own.

    Raises `ArgumentsInvalid`.
    """
    settings = read_settings(
        redis_url=session.redis_url,
        keyring_file=session.keyring_file,
        tenant=session.tenant,
        prefix=session.prefix,
        **options,
    )
    configure_logs(settings.log_format, level=logging.WARNING)
    return settings


def server_of(session: Session) -> str:
    """Where spills are, and which setting says so, for people: `SPILLCACHE_REDIS_URL (redis://host:6379)`."""
    try:
        settings = settings_of(session)
    except SpillError:  # the settings are what is wrong, and that is being said
        return "SPILLCACHE_REDIS_URL"
    if settings.redis_url is None:
        return "the embedded server (`spillcache embedded status`)"
    setting = "SPILLCACHE_REDIS_URL" if session.redis_url is None else "--redis-url"
    return f"{setting} ({shown_url(settings.redis_url.get_secret_value())})"


@contextmanager
def opened(session: Session, *, reads: bool = True) -> Iterator[SpillCache]:
    """A cache for one command. What was started or made for it on the way is said on standard error.

    Only reading takes a key ring.
    """
    with closing(open_cache(settings_of(session), reads=reads, tell=notice)) as cache:
        yield cache
