"""`spillcache demo`: replay the incident, and show side by side what each way of looking lets an agent conclude."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from spillcache.cli import exits
from spillcache.cli.answers import Verb, console, json_option, print_json, say, visible
from spillcache.demo.replay import Replay, replay
from spillcache.demo.views import NO_DATA, UNAVAILABLE, Conclusion, Series

_WIDEST = 130  # columns; a wider table leaves the eye nothing to follow
_WAYS = {"preview": "the preview", "search": "a text search", "walk": "the walk"}


@click.command(cls=Verb)
@json_option
@click.pass_context
def demo(ctx: click.Context, as_json: bool) -> None:
    """Replay an incident on real Prometheus data: write once, read from three processes, kill one, compare.

    It needs no settings: server and keys are its own, made now and gone afterwards. Exit code 1 when anything does not
    hold.
    """
    aside = console(aside=True)
    found = replay(lambda sentence: say(aside, f"[dim]•[/] {escape(sentence)}"))
    if as_json:
        print_json(_as_dict(found))
    else:
        _print(found, console())
    if not found.holds:
        ctx.exit(exits.FAILED)


def _as_dict(found: Replay) -> dict[str, Any]:
    ways = {way: _tally(found, way) for way in _WAYS}
    readers = [
        {"name": one.name, "pid": one.pid, "pages": one.pages, "killed": one.name == found.walk.killed}
        for one in found.walk.served
    ]
    series = [
        {"query": one.query, "labels": dict(one.labels), "samples": one.samples, "last": one.last}
        | {way: found.conclusions[way][number].text for way in _WAYS}
        for number, one in enumerate(found.series)
    ]
    answer: dict[str, Any] = {"size_bytes": found.size, "sha256": found.sha256, "envelope": found.envelope}
    answer |= {"pages": len(found.walk.answers), "readers": readers, "ways": ways, "series": series}
    answer |= {"checks": found.checks, "status": found.walk.last["status"]}
    return answer | ({"receipt": found.walk.last["receipt"]} if "receipt" in found.walk.last else {})


def _tally(found: Replay, way: str) -> dict[str, int]:
    said = found.conclusions[way]
    unavailable = sum(one.text == UNAVAILABLE for one in said)
    no_data = sum(one.text == NO_DATA for one in said)
    right = found.right(way)
    wrong = len(said) - unavailable - no_data - right
    return {"right": right, "wrong_value": wrong, "unavailable": unavailable, "no_data": no_data}


def _print(found: Replay, out: Console) -> None:
    out.print()
    out.print(_series_table(found, out))
    out.print()
    out.print(_tally_table(found))
    out.print()
    out.print(_reader_table(found))
    out.print()
    for check, holds in found.checks.items():
        out.print(f"{'[green]✓[/]' if holds else '[bold red]✗[/]'} {check}")
    color = "green" if found.holds else "red"
    out.print(f"\n[bold {color}]{found.walk.last['status']}[/] {found.size:,} bytes, sha256 {found.sha256}")


def _series_table(found: Replay, out: Console) -> Table:
    table = Table(
        title="What three ways of looking let an agent say of each series: last value (samples)",
        title_justify="left",
        header_style="bold",
        border_style="dim",
        box=box.SIMPLE_HEAD,
        width=min(out.width, _WIDEST),
    )
    table.add_column("series", overflow="ellipsis", no_wrap=True, ratio=1)
    for name in _WAYS.values():
        table.add_column(name, no_wrap=True, min_width=14)
    query = None
    for number, one in enumerate(found.series):
        if one.query != query:
            query = one.query
            table.add_section()
            table.add_row(f"[bold cyan]{escape(visible(query))}[/]")
        said = [_cell(found.conclusions[way][number], one) for way in _WAYS]
        table.add_row(f"  {escape(visible(_labels(one, found.series)))}", *said)
    return table


def _cell(said: Conclusion, series: Series) -> str:
    if said.is_right(series):
        return f"[green]{_number(series.last)}[/] [dim]({series.samples})[/]"
    if said.last is None:
        return f"[red]{said.text}[/]"
    return f"[red]{_number(said.last)}[/] [dim]({said.samples}/{series.samples})[/]"


def _number(text: str) -> str:
    return "NaN" if text == "NaN" else f"{float(text):.4g}"


def _labels(series: Series, all_of_them: Sequence[Series]) -> str:
    """The labels that tell a series from its siblings."""
    siblings = [one.labels for one in all_of_them if one.query == series.query]
    telling = {
        name: value
        for name, value in series.labels.items()
        if any(other.get(name) != value for other in siblings) or (len(siblings) == 1 and name == "instance")
    }
    return ", ".join(f"{name}={value}" for name, value in telling.items()) or "(no label tells it apart)"


def _tally_table(found: Replay) -> Table:
    table = Table("way of looking", header_style="bold", border_style="dim")
    for heading in ("right", "wrong value", '"Unavailable"', '"no data"'):
        table.add_column(heading, justify="right")
    for way, name in _WAYS.items():
        tally = _tally(found, way)
        table.add_row(name, *(f"{count}" if count else "[dim]0[/]" for count in tally.values()))
    return table


def _reader_table(found: Replay) -> Table:
    table = Table("reader process", "pid", "pages", "", header_style="bold", border_style="dim")
    for one in found.walk.served:
        fate = "[red]SIGKILL part way[/]" if one.name == found.walk.killed else ""
        table.add_row(one.name, str(one.pid), str(one.pages), fate)
    return table
