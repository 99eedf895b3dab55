"""`spillcache embedded`: the server that runs where no Redis is configured."""

from __future__ import annotations

import click

from spillcache.cli.answers import console, json_option, print_json
from spillcache.cli.exits import Ending
from spillcache.cli.verb import Verb
from spillcache.wiring.opening import embedded_state, stop_embedded


@click.group()
def embedded() -> None:
    """Look at or stop the server that runs where no Redis is configured."""


@embedded.command(cls=Verb)
@json_option
def status(as_json: bool) -> Ending | None:
    """Say whether it runs, and where. Starts nothing. Exit code 1 when it does not run."""
    state = embedded_state()
    if as_json:
        running = {"url": state.url, "pid": state.pid} if state.pid is not None else {}
        print_json({"running": state.pid is not None, **running, "directory": str(state.directory)})
    elif state.pid is None:
        console().print(f"not running [dim](its directory is {state.directory})[/]", soft_wrap=True)
    else:
        console().print(f"[green]running[/], process {state.pid}, {state.url}", soft_wrap=True)
    return None if state.pid is not None else "FAILED"


@embedded.command(cls=Verb)
@json_option
def stop(as_json: bool) -> None:
    """Stop it. All spills that it holds are gone."""
    stopped = stop_embedded()
    if as_json:
        print_json({"stopped": stopped})
    else:
        console().print("stopped" if stopped else "it was not running")
