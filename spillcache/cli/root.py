"""The root command: global options, and commands that are imported only when they are called."""

from __future__ import annotations

import importlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click

from spillcache.cli import exits
from spillcache.cli.failures import OutputClosed, StandardOutputFailed
from spillcache.cli.output import drop_output, guard
from spillcache.cli.session import Session

#: Command → what help says of it. Each is `spillcache.cli.<name>:<name>`, and loads numpy and redis only when it runs.
_COMMANDS = {
    "put": "Store a payload and print what an agent gets in its place.",
    "page": "Print one page of a spill.",
    "walk": "Read a whole spill page by page, verified.",
    "grep": "Search a spill for a pattern.",
    "series": "List the time series of a spill in numbers.",
    "full": "Print as much of a spill at once as is allowed.",
    "show": "Show what a spill contains, and how long it stays.",
    "rm": "Remove a spill.",
    "verify": "Check a receipt, without Redis.",
    "claims": "Say what an agent's cursors and receipts prove it was served.",
    "serve": "Serve MCP and REST over HTTP, for any number of callers.",
    "proxy": "Stand in front of MCP servers and spill their large results.",
    "mcp": "Serve the tool over standard input and output, for one agent.",
    "tokens": "Make, list and revoke the bearer tokens of `serve`.",
    "keys": "Make, list and rotate signing keys.",
    "doctor": "Check Redis, keys and clock; say what to change.",
    "demo": "Replay an incident on real data, with real processes.",
    "embedded": "The server that runs where no Redis is configured.",
}


class _LazyGroup(click.Group):
    """A group that knows its commands by name and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"spillcache.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--redis-url", metavar="URL", help="Redis or Valkey; else an embedded one.  [env: SPILLCACHE_REDIS_URL]")
@click.option(
    "--keyring-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Signing keys; `spillcache keys new` makes them.  [env: SPILLCACHE_KEYRING_FILE, SPILLCACHE_KEYRING]",
)
@click.option("--tenant", metavar="NAME", help="Whose spills.  [env: SPILLCACHE_TENANT; default: default]")
@click.option("--prefix", metavar="TEXT", help="First part of every key.  [env: SPILLCACHE_PREFIX; default: sc]")
@click.version_option(package_name="spillcache")
@click.pass_context
def spillcache(
    ctx: click.Context, redis_url: str | None, keyring_file: Path | None, tenant: str | None, prefix: str | None
) -> None:
    """Spill large tool results to Redis once, and read them page by page, byte for byte.

    Exit codes: 0 COMPLETE, or done where no status is printed; 1 FAILED; 2 usage; 3 PARTIAL (whatever command printed
    it; also a walk that Ctrl-C ended); 4 PARTIAL, and no match; 130 interrupted (Ctrl-C in any other command); 141
    output closed.
    """
    ctx.obj = Session(redis_url=redis_url, keyring_file=keyring_file, tenant=tenant, prefix=prefix)


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit; see the package's docstring for the codes."""
    signal.signal(signal.SIGTERM, _unwind)
    guard()
    try:
        code = spillcache.main(arguments, prog_name="spillcache", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        _placed(error).show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(exits.INTERRUPTED)
    except OutputClosed:  # help or version: commands have their own way
        drop_output()
        sys.exit(exits.CLOSED)
    except StandardOutputFailed as error:
        drop_output()
        click.echo(f"FAILED {error.code}: {error.message}\nNext: {error.next_step}", err=True)
        sys.exit(exits.FAILED)
    sys.exit(code if isinstance(code, int) else 0)


def _placed(error: click.ClickException) -> click.ClickException:
    """The error, or one that says where the option goes: some are for all commands, and stand before the command."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return error
    known = [option for option in spillcache.params if error.option_name in option.opts]
    if not known:
        return error
    verb = error.ctx.command_path.partition(" ")[2]
    command = f"spillcache {error.option_name} {known[0].metavar} {verb} ..."
    return click.UsageError(f"{error.option_name} is for all commands, and stands before one: {command}", error.ctx)


def _unwind(number: int, frame: FrameType | None) -> NoReturn:
    """End by way of every `finally`, so that nothing half-made stays behind."""
    sys.exit(exits.TERMINATED)
