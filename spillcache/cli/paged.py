"""How a page is shown to people: its bytes on standard output; where they are, and how it goes on, aside."""

from __future__ import annotations

import sys
from collections.abc import Callable

from rich.markup import escape

from spillcache.cli.answers import console, write_raw
from spillcache.page import Page


def _view(page: Page) -> str:
    return getattr(page, "view", "raw")


def show_page(page: Page, go_on: Callable[[str], str]) -> None:
    """A page, its status, and the command for what follows: `go_on` makes it from a cursor."""
    aside = console(aside=True)
    view = f" {_view(page)} view" if _view(page) != "raw" else ""
    aside.print(f"[dim]──[/] [bold]{page.position}[/] [dim]{page.chunk_kind}{view}[/]", soft_wrap=True)
    as_text = page.chunk_kind == "base64" and sys.stdout.isatty()
    write_raw(page.chunk.encode() if as_text or _view(page) != "raw" else page.data)
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
