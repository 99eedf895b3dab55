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

_PIPED_WIDTH = 160  # what is piped has no width of its own; rich would fold it at 80

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # C0, C1, bidi; not \t \n

view_option = click.option(
    "--view",
    type=click.Choice(["raw", "compact"], case_sensitive=False),
    default="raw",
    help="compact: time series with their labels once, then every value; what else there is stays as it is.",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, exactly as a program would get it.")


def console(*, aside: bool = False) -> Console:
    """A console on standard output, or `aside` on standard error."""
    stream = sys.stderr if aside else sys.stdout
    return Console(stderr=aside, highlight=False, width=None if stream.isatty() else _PIPED_WIDTH)


def print_json(answer: Any, *, aside: bool = False) -> None:
    """One line of JSON on standard output, or `aside` on standard error."""
    click.echo(orjson.dumps(answer), err=aside)


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


def write_raw(data: bytes) -> None:
    """A payload's bytes on standard output: exact, but a terminal is shown control characters, not sent them."""
    if sys.stdout.isatty():
        click.echo(visible(data.decode("utf-8", "replace")), nl=not data.endswith(b"\n"))
        return
    output: IO[bytes] = sys.stdout.buffer
    output.write(data)
    output.flush()


def remarks_apart(printed: bytes) -> None:
    """Before the first remark after a payload's bytes: a line of its own, where both streams go to one file or pipe.

    The newline is a remark too, so standard output stays exact by itself.
    """
    if printed and not printed.endswith(b"\n") and not sys.stdout.isatty() and _are_one():
        click.echo(err=True)


def _are_one() -> bool:
    try:
        return os.path.samestat(os.fstat(1), os.fstat(2))
    except OSError:  # one of them is closed
        return False


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
