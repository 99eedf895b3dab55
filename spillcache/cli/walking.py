"""A walk in progress: what has come, whether it is the payload, and the bar that shows it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import rich.progress

from spillcache.cli.answers import console
from spillcache.errors import SpillCorrupt, SpillError
from spillcache.page import Page, View
from spillcache.sync import Stat


@dataclass(slots=True)
class Walked:
    """What has come so far: `size` bytes of the payload in `pages` pages, handed on as `written` bytes.

    `stat` is what the store says of the spill, `last` the last page. `size` and `written` differ in the compact view.

    In the compact view the pages have the payload's values and not its bytes, so there is nothing to take a digest of.
    """

    output: Path | None
    view: View = "raw"
    stat: Stat | None = None
    pages: int = 0
    size: int = 0
    written: int = 0
    complete: bool = False
    last: Page | None = None
    _sha256: Any = field(default_factory=hashlib.sha256, repr=False)

    @property
    def status(self) -> Literal["COMPLETE", "PARTIAL"]:
        """COMPLETE once `check` has found it so."""
        return "COMPLETE" if self.complete else "PARTIAL"

    def take(self, page: Page) -> None:
        """Count a page that was handed on."""
        text = text_of(page)
        self._sha256.update(text)
        self.pages, self.size = self.pages + 1, self.size + page.end - page.start
        self.written += len(text)
        self.last = page

    @property
    def proof(self) -> dict[str, str]:
        """The `receipt` or `range_receipt` with which the walk ended, under its name; empty as long as it has not."""
        last = self.last
        held = {"receipt": last.receipt, "range_receipt": last.range_receipt} if last is not None else {}
        return {name: token for name, token in held.items() if token is not None}

    def check(self) -> None:
        """Whether all came, and came right. Raises `SpillCorrupt`."""
        if self.stat is None or not (self._shows_all() if self.view == "compact" else self._is_the_payload()):
            raise SpillCorrupt("the pages do not add up to the payload: size or SHA-256 are not the stored ones")
        self.complete = True

    def _is_the_payload(self) -> bool:
        return self.stat is not None and "receipt" in self.proof and self._sha256.hexdigest() == self.stat.sha256

    def _shows_all(self) -> bool:
        ended = self.last is not None and self.last.status == "COMPLETE"
        return ended and self.stat is not None and self.size == self.stat.size

    def as_dict(self, ended_by: SpillError | None = None) -> dict[str, Any]:
        """The sum of the walk, with what ended it before its time. Fields that do not apply are absent."""
        answer: dict[str, Any] = {"pages": self.pages, "payload_bytes": self.size, "written_bytes": self.written}
        if self.stat is not None:
            answer = {"spill_id": self.stat.spill_id, "size_bytes": self.stat.size} | answer
        if self.view == "compact":
            answer["view"] = self.view
        elif self.complete:
            answer["sha256"] = self._sha256.hexdigest()
        if self.output is None or not self.complete:
            del answer["written_bytes"]
        else:
            answer["output"] = str(self.output)
        answer["status"] = self.status
        if ended_by is not None:
            answer |= {name: said for name, said in ended_by.as_dict().items() if name != "status"}
        return answer | (self.proof if self.complete else {})


def text_of(page: Page) -> bytes:
    """What a page hands on: the payload's bytes, or the compact view's text."""
    return page.chunk.encode() if page.view == "compact" else page.data


class Progress:
    """A bar on standard error that vanishes when the walk ends. A context manager; not `shown`, it does nothing."""

    def __init__(self, size: int, *, shown: bool) -> None:
        self._bar = rich.progress.Progress(
            rich.progress.TextColumn("walking"),
            rich.progress.BarColumn(),
            rich.progress.DownloadColumn(binary_units=True),
            rich.progress.TimeRemainingColumn(),
            console=console(aside=True),
            transient=True,
            disable=not shown,
        )
        self._task = self._bar.add_task("walking", total=size)

    def show(self, done: int) -> None:
        """Move to `done` bytes."""
        self._bar.update(self._task, completed=done)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()
