"""`spillcache proxy`: an MCP server in front of others, whose large results it spills."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import click

from spillcache.cli.extras import needs_extra
from spillcache.cli.listening import LISTENING, listening_options
from spillcache.cli.opened import settings_of
from spillcache.cli.session import Session
from spillcache.cli.verb import Verb


def _tool_budget(value: str) -> tuple[str, int]:
    """TOOL=BYTES, taken apart."""
    tool, _, number = value.rpartition("=")
    if not (tool and number.isascii() and number.isdigit()):
        raise click.BadParameter(f"{value!r} is not of the form TOOL=BYTES")
    return tool, int(number)


@click.command(cls=Verb, context_settings={"allow_interspersed_args": False})
@click.argument("command", nargs=-1, metavar="[-- COMMAND...]")
@click.option("--upstream", "url", metavar="URL", help="An upstream on HTTP, in place of a command.")
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Several upstreams, each in a table [upstream.NAME]; their tools are then called NAME_tool.",
)
@click.option("--http", is_flag=True, help="Serve over HTTP at /mcp; else on standard input and output.")
@listening_options
@click.option(
    "--tool-name",
    metavar="NAME",
    help="Name of the paging tool.  [env: SPILLCACHE_TOOL_NAME; default: search_query_spill]",
)
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    metavar="BYTES",
    help="What passes unspilled, where the client is not known.  [env: SPILLCACHE_BUDGET_BYTES; default: 7500]",
)
@click.option(
    "--budget-for", type=_tool_budget, metavar="TOOL=BYTES", multiple=True, help="For tools of this name or pattern."
)
@click.option("--include", metavar="PATTERN", multiple=True, help="Spill results of these tools only.")
@click.option("--exclude", metavar="PATTERN", multiple=True, help="Never spill results of these tools.")
@click.option("--env", metavar="NAME", multiple=True, help="A variable of ours that the command inherits.")
@click.option("--forward-authorization", is_flag=True, help="Send the caller's Authorization header upstream.")
@click.option("--drop-output-schema", is_flag=True, help="Declare no output schemas.")
@click.option(
    "--on-store-failure",
    type=click.Choice(["envelope", "pass", "error"]),
    help="What a large result becomes when it cannot be stored.  [default: envelope]",
)
@click.pass_obj
def proxy(
    session: Session,
    /,
    command: tuple[str, ...],
    url: str | None,
    config: Path | None,
    http: bool,
    tool_name: str | None,
    budget: int | None,
    **options: Any,
) -> None:
    """Stand in front of an MCP server, spill its large results, and add the tool that reads them.

    The server is a COMMAND to start, a URL, or several in a FILE. Everything else passes as it is: other results,
    resources, prompts, notifications, progress. A COMMAND gets little of our environment: name what it needs by --env.
    """
    if (bool(command) + (url is not None) + (config is not None)) != 1:
        raise click.UsageError("Give one of a COMMAND after --, --upstream URL, or --config FILE.")
    listening = {name: options.pop(name) for name in LISTENING}
    unused = [LISTENING[name] for name, value in listening.items() if value is not None and not http]
    if unused:
        raise click.UsageError(f"Without --http nothing listens: {', '.join(unused)} would mean nothing.")
    with needs_extra("serve" if http else "mcp"):
        from spillcache.service.stdio import run_stdio_proxy  # noqa: PLC0415 - only this command needs the extra
        from spillcache.service.upstreams import upstreams_of  # noqa: PLC0415

        if http:
            from spillcache.service.proxying import run_http_proxy  # noqa: PLC0415
    upstreams = upstreams_of(config, _fields(command, url, options))
    settings = settings_of(session, tool_name=tool_name, budget_bytes=budget, **listening)
    if http:
        run_http_proxy(settings, upstreams)
    else:
        run_stdio_proxy(settings, upstreams, secrets.token_hex(8))


def _fields(command: tuple[str, ...], url: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """What was given, by the names that a configuration file uses."""
    fields = {
        "command": command[0] if command else None,
        "args": command[1:],
        "url": url,
        "inherit_env": options["env"],
        "include": options["include"],
        "exclude": options["exclude"],
        "budgets": dict(options["budget_for"]),
        "forward_authorization": options["forward_authorization"],
        "drop_output_schema": options["drop_output_schema"],
        "on_store_failure": options["on_store_failure"],
    }
    return {name: value for name, value in fields.items() if value}
