"""`spillcache demo`: replay the incident, and show side by side what each way of looking lets an agent conclude."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from spillcache.cli.answers import console, json_option, print_json, say, visible
from spillcache.cli.exits import Ending
from spillcache.cli.extras import needs_extra
from spillcache.cli.verb import Verb
from spillcache.demo.views import NO_DATA, UNAVAILABLE, Conclusion, Series

if TYPE_CHECKING:
    from spillcache.demo.replay import Replay

_WIDEST = 130  # columns; a wider table leaves the eye nothing to follow
_RULE = (
    'The text search delivers labels only: a series whose labels came without a value is taken for "Unavailable"; one '
    'whose labels did not come, for "no data".'
)
_WAYS = {"preview": "the preview", "search": "a text search", "walk": "the walk"}


@click.command(cls=Verb)
@json_option
def demo(as_json: bool) -> Ending | None:
    """Replay an incident on real Prometheus data: an MCP client, the proxy, three replicas, one killed; compare.

    It needs no settings: server and keys are its own, made now and gone afterwards. Exit code 1 when anything does not
    hold.
    """
    with needs_extra("embedded,serve"):
        from spillcache.demo.replay import replay  # noqa: PLC0415 - only this command needs the extra
    aside = console(aside=True)
    found = replay(lambda sentence: say(aside, f"[dim]•[/] {escape(sentence)}"))
    if as_json:
        print_json(_as_dict(found))
    else:
        _print(found, console())
    return None if found.holds else "FAILED"


def _as_dict(found: Replay) -> dict[str, Any]:
    ways = {way: _tally(found, way) for way in _WAYS}
    replicas = [
        {"name": one.name, "pid": one.pid, "pages": one.pages, "killed": one.name == found.walk.killed}
        for one in found.walk.served
    ]
    series = [
        {"query": one.query, "labels": dict(one.labels), "samples": one.samples, "last": one.last}
        | {way: found.conclusions[way][number].text for way in _WAYS}
        for number, one in enumerate(found.series)
    ]
    answer: dict[str, Any] = {"size_bytes": found.size, "sha256": found.sha256, "envelope": found.envelope}
    answer |= {"pages": len(found.walk.answers), "replicas": replicas, "ways": ways, "series": series}
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
    _print_series(found, out)
    out.print()
    out.print(_tally_table(found))
    out.print()
    out.print(_replica_table(found))
    out.print()
    for check, holds in found.checks.items():
        out.print(f"{'[green]✓[/]' if holds else '[bold red]✗[/]'} {check}")
    color = "green" if found.holds else "red"
    out.print(f"\n[bold {color}]{found.walk.last['status']}[/] {found.size:,} bytes, sha256 {found.sha256}")


def _print_series(found: Replay, out: Console) -> None:
    """A table for each query under the query itself, which may be longer than a column is wide; all have equal columns.

    Series without room for their labels take more lines, so that no name is cut.
    """
    cells = [[_cell(said[number], one) for said in _said(found)] for number, one in enumerate(found.series)]
    widths = [max(len(Text.from_markup(row[way])) for row in cells) for way in range(len(_WAYS))]
    widths = [max(width, len(name)) for width, name in zip(widths, _WAYS.values(), strict=True)]
    say(out, "[bold]What three ways of looking let an agent say of each series: last value (samples)[/]")
    say(out, f"[dim]{_RULE}[/]\n")
    out.print(_columns(out, ["series", *_WAYS.values()], widths, header=True))
    by_query = itertools.groupby(range(len(cells)), key=lambda number: found.series[number].query)
    for query, numbers in by_query:
        out.print(f"[bold cyan]{escape(visible(query))}[/]")
        table = _columns(out, [""] * (1 + len(_WAYS)), widths)
        for number in numbers:
            table.add_row(escape(visible(_labels(found.series[number], found.series))), *cells[number])
        out.print(table)


def _columns(out: Console, headings: Sequence[str], widths: Sequence[int], *, header: bool = False) -> Table:
    table = Table(box=None, show_header=header, header_style="bold underline", padding=(0, 1, 0, 2))
    room = min(out.width, _WIDEST) - sum(widths) - 3 * (1 + len(widths))
    table.add_column(headings[0], width=room, overflow="fold")
    for heading, width in zip(headings[1:], widths, strict=True):
        table.add_column(heading, width=width, no_wrap=True)
    return table


def _said(found: Replay) -> list[list[Conclusion]]:
    return [found.conclusions[way] for way in _WAYS]


def _cell(said: Conclusion, series: Series) -> str:
    if said.is_right(series):
        return f"[green]{_number(series.last)}[/] [dim]({series.samples})[/]"
    if said.last is None:
        return f"[red]{said.text}[/]"
    return f"[red]{_number(said.last)}[/] [dim]({said.samples}/{series.samples})[/]"


def _number(text: str) -> str:
    return "NaN" if text == "NaN" else f"{float(text):.4g}"


def _labels(series: Series, all_of_them: Sequence[Series]) -> str:
    """As few labels as tell a series from its siblings."""
    siblings = [one.labels for one in all_of_them if one.query == series.query]
    names = list(dict.fromkeys(name for labels in siblings for name in labels))
    kinds = _kinds(siblings, names)
    for name in list(names):
        fewer = [other for other in names if other != name]
        if len(siblings) > 1 and _kinds(siblings, fewer) == kinds:
            names = fewer
    if len(siblings) == 1:
        names = [name for name in names if name == "instance"]
    told = ", ".join(f"{name}={series.labels[name]}" for name in names if name in series.labels)
    return told or "(no label tells it apart)"


def _kinds(siblings: Sequence[Mapping[str, str]], names: Sequence[str]) -> int:
    """How many of the siblings these labels tell apart."""
    return len({tuple(labels.get(name) for name in names) for labels in siblings})


def _tally_table(found: Replay) -> Table:
    table = Table("way of looking", header_style="bold", border_style="dim")
    for heading in ("right", "wrong value", '"Unavailable"', '"no data"'):
        table.add_column(heading, justify="right")
    for way, name in _WAYS.items():
        tally = _tally(found, way)
        table.add_row(name, *(f"{count}" if count else "[dim]0[/]" for count in tally.values()))
    return table


def _replica_table(found: Replay) -> Table:
    table = Table("replica", "pid", "pages", "", header_style="bold", border_style="dim")
    for one in found.walk.served:
        fate = "[red]SIGKILL part way[/]" if one.name == found.walk.killed else ""
        table.add_row(one.name, str(one.pid), str(one.pages), fate)
    return table
