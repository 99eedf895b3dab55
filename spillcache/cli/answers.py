"""How the command line answers: JSON exactly as the library gives it, or text for people; data out, remarks aside.

Standard output holds what was asked for and nothing else, so that it can be piped. Remarks go to standard error.
Payloads come from strangers: on a terminal their control characters are shown, never obeyed.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from typing import IO, Any

import click
import orjson
from rich.console import Console
from rich.markup import escape

from spillcache.cli import exits
from spillcache.errors import ResultNotFound, SpillError

_PIPED_WIDTH = 160  # what is piped has no width of its own; rich would fold it at 80

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # C0, C1, bidi; not \t \n

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, exactly as a program would get it.")


class Verb(click.Command):
    """A command that answers a `SpillError` in its own way: typed, with what to do next, and with an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. A reader that went away is no error of ours: it ends us quietly."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except SpillError as error:
            print_error(error, as_json=bool(ctx.params.get("as_json")))
            ctx.exit(exits.FAILED)
        except BrokenPipeError:
            drop_output()
            ctx.exit(exits.CLOSED)
        return result


def console(*, aside: bool = False) -> Console:
    """A console on standard output, or `aside` on standard error."""
    stream = sys.stderr if aside else sys.stdout
    return Console(stderr=aside, highlight=False, width=None if stream.isatty() else _PIPED_WIDTH)


def print_json(answer: Any) -> None:
    """One line of JSON on standard output."""
    click.echo(orjson.dumps(answer))


def print_error(error: SpillError, *, as_json: bool) -> None:
    """An error: for programs on standard output, where they look for the answer; for people on standard error."""
    if as_json:
        print_json(error.as_dict())
        return
    aside = console(aside=True)
    say(aside, f"[bold red]FAILED[/] [bold]{error.code}[/]: {escape(visible(error.message))}")
    if isinstance(error, ResultNotFound) and error.nearest:
        say(aside, f"[dim]Nearest:[/] {escape(visible(', '.join(error.nearest)))}")
    say(aside, f"[dim]Next:[/] {escape(error.next_step)}")


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Label and value (rich markup), a line each, on standard output."""
    out = console()
    for label, value in facts:
        say(out, f"[dim]{label:<11}[/]{value}")


def say(out: Console, sentence: str) -> None:
    """Prose (rich markup): a terminal gets it folded between words, a pipe as one line."""
    out.print(sentence, soft_wrap=not out.is_terminal)


def notice(sentence: str) -> None:
    """A remark that is not the answer, on standard error."""
    say(console(aside=True), f"[dim]{escape(sentence)}[/]")


def drop_output() -> None:
    """Nobody reads standard output any more: let what is still buffered go nowhere, without another complaint."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def write_raw(data: bytes) -> None:
    """A payload's bytes on standard output: exact, but a terminal is shown control characters, not sent them."""
    if sys.stdout.isatty():
        click.echo(visible(data.decode("utf-8", "replace")), nl=not data.endswith(b"\n"))
        return
    output: IO[bytes] = sys.stdout.buffer
    output.write(data)
    output.flush()


def visible(text: str) -> str:
    """The text with its control characters, but tab and newline, written as escapes."""
    return _CONTROL.sub(
        lambda found: f"\\x{ord(found[0]):02x}" if ord(found[0]) < 256 else f"\\u{ord(found[0]):04x}", text
    )


def human_bytes(count: int) -> str:
    """A size for people: `343,790 bytes`, and in a larger unit where that is easier."""
    exact = f"{count:,} byte{'s' * (count != 1)}"
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f} {unit} ({exact})"
    return exact


def human_seconds(seconds: float) -> str:
    """A duration for people: `14 min 59 s`."""
    whole = max(0, round(seconds))
    parts = [(whole // 86_400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "min"), (whole % 60, "s")]
    return " ".join(f"{count} {unit}" for count, unit in parts if count) or "0 s"
