"""How every process of ours begins: with its log, and a word about settings that do nothing."""

from __future__ import annotations

import logging

from spillcache.wiring.environment import unknown_settings
from spillcache.wiring.logs import configure_logs, confine_foreign_logs
from spillcache.wiring.settings import Settings

_log = logging.getLogger("spillcache")


def begin(settings: Settings) -> None:
    """Render logs as these settings say, other libraries' without their words, and warn of settings not known."""
    confine_foreign_logs(configure_logs(settings.log_format))
    unknown = unknown_settings()
    if unknown:
        _log.warning("settings_unknown", extra={"names": unknown})
