"""The options of commands that listen: where, and how they end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--host", metavar="ADDRESS", help="Where to listen.  [env: SPILLCACHE_HOST; default: 127.0.0.1]"),
    click.option(
        "--port", type=click.IntRange(0, 65535), help="0 takes a free one.  [env: SPILLCACHE_PORT; default: 8321]"
    ),
    click.option(
        "--metrics-port",
        type=click.IntRange(-1, 65535),
        help="Prometheus metrics; -1 for none.  [env: SPILLCACHE_METRICS_PORT; default: 9321]",
    ),
    click.option(
        "--drain",
        "drain_s",
        type=click.FloatRange(min=0),
        metavar="SECONDS",
        help="How long to go on accepting after SIGTERM.  [env: SPILLCACHE_DRAIN_S; default: 5]",
    ),
)

#: The settings that they set, and their names on the command line.
LISTENING = {"host": "--host", "port": "--port", "metrics_port": "--metrics-port", "drain_s": "--drain"}


def listening_options(command: F) -> F:
    """Give a command `host`, `port`, `metrics_port` and `drain_s`, each None where it was not given."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
