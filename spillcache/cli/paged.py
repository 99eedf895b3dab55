"""How a page is shown to people: its text on standard output; where it is, and how it goes on, aside."""

from __future__ import annotations

import sys
from collections.abc import Callable

from rich.markup import escape

from spillcache.cli.answers import console, remarks_apart, say, visible, write_raw
from spillcache.page import Page
from spillcache.payload import to_json


def show_page(page: Page, go_on: Callable[[str], str]) -> None:
    """A page, its status, and the command for what follows: `go_on` makes it from a cursor."""
    aside = console(aside=True)
    compact = page.view == "compact"
    view = " in the compact view" if compact else ""
    aside.print(f"[dim]──[/] [bold]{page.position}[/] [dim]{page.chunk_kind}[/]", soft_wrap=True)
    if page.legend is not None:
        say(aside, f"[dim]   {escape(page.legend)}[/]")
    if page.inside is not None:
        aside.print(f"[dim]   inside:[/] {escape(visible(to_json(dict(page.inside)).decode()))}", soft_wrap=True)
    as_text = page.chunk_kind == "base64" and sys.stdout.isatty()
    shown = page.chunk.encode() if as_text or compact else page.data
    write_raw(shown)
    remarks_apart(shown)
    color = "green" if page.status == "COMPLETE" else "yellow"
    of_result = f", result {page.result_status}" if page.result_status else ""
    aside.print(f"[dim]──[/] [bold {color}]{page.status}[/]{of_result}{view}", soft_wrap=True)
    for begin, end in page.unread:
        aside.print(f"[dim]   unread:[/] bytes {begin}-{end}")
    if page.next_cursor is not None:
        aside.print(f"[dim]   next:[/] {escape(go_on(page.next_cursor))}", soft_wrap=True)
    if page.receipt is not None:
        aside.print(f"[dim]   receipt:[/] {page.receipt}", soft_wrap=True)
    if page.range_receipt is not None:
        aside.print(f"[dim]   range receipt:[/] {page.range_receipt}", soft_wrap=True)
