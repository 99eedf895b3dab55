"""Agents, each a script: what it calls, what it takes for the data, and what it then reports of every series.

None of them lies. Each says of a series what it read: the last value, "Unavailable" where labels, a name or an error
came without values, "no data" where nothing came. The habits differ in where they stop looking.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from spillcache.compact import expand
from spillcache.demo.views import NO_DATA, UNAVAILABLE, Conclusion, Fragment, Series, conclude, preview_of
from tests.agents.host import Host, Seen


@dataclass(frozen=True, slots=True)
class Task:
    """What an agent knows when it begins: the envelope of its tool's result. `series` is what it must report on."""

    envelope: dict[str, Any]
    series: Sequence[Series]

    @property
    def spill_id(self) -> str:
        """The id in the envelope."""
        return str(self.envelope["spill_id"])


@dataclass(frozen=True, slots=True)
class Report:
    """What an agent says of each series, and the bytes that it had for it."""

    conclusions: list[Conclusion]
    fragments: list[Fragment]


Agent = Callable[[Host, Task], Awaitable[Report]]


def reported(task: Task, fragments: list[Fragment]) -> Report:
    """The report that these bytes lead to."""
    return Report(conclude(task.series, fragments), fragments)


def unavailable(task: Task, names: tuple[str, ...]) -> Report:
    """The report of somebody who has the names of queries, or how they begin: no value of theirs, nothing of others."""
    said = [UNAVAILABLE if one.query.startswith(names) else NO_DATA for one in task.series]
    return Report([Conclusion(text, 0, None) for text in said], [])


async def reads_the_preview(host: Host, task: Task) -> Report:
    """Takes the preview for the data set."""
    return reported(task, preview_of(host.received(task.envelope), task.envelope["size_bytes"]))


async def greps_first(host: Host, task: Task) -> Report:
    """Searches for the series by its labels, looks at the labels of each match, and takes them for all there is."""
    host.received(task.envelope)
    seen = await host.call(spill_id=task.spill_id, pattern='"metric":{[^}]*"instance":"node-a[^}]*}')
    return reported(task, [_labels(match) for match in (seen.answer or {})["matches"]])


async def stops_half_way(host: Host, task: Task) -> Report:
    """Reads on until it has had enough, and reports as if that were all."""
    host.received(task.envelope)
    fragments, arguments = list[Fragment](), {"spill_id": task.spill_id}
    while sum(len(fragment.data) for fragment in fragments) < task.envelope["size_bytes"] // 2:
        page = (await host.call(**arguments)).answer or {}
        fragments.append(_fragment(page))
        arguments["cursor"] = page["next_cursor"]
    return reported(task, _joined(fragments))


async def edits_a_cursor(host: Host, task: Task) -> Report:
    """Reads page 1, then makes a cursor of its own to get at the end sooner; what comes is no data, so it says so."""
    host.received(task.envelope)
    page = (await host.call(spill_id=task.spill_id)).answer or {}
    cursor = page["next_cursor"]
    await host.call(spill_id=task.spill_id, cursor=cursor[:20] + ("A" if cursor[20] != "A" else "B") + cursor[21:])
    return reported(task, [_fragment(page)])


async def takes_a_cut_page_for_the_last(host: Host, task: Task) -> Report:
    """Its host cuts; there is no next_cursor in what it is shown, so it believes that it is done."""
    host.received(task.envelope)
    seen = await host.call(spill_id=task.spill_id)
    return reported(task, [Fragment(0, _chunk_in(seen.text))])


async def calls_an_error_unavailable(host: Host, task: Task) -> Report:
    """Mistypes the id, and reports every series Unavailable, because there was an error."""
    host.received(task.envelope)
    seen = await host.call(spill_id=task.spill_id[:-1] + ("a" if task.spill_id[-1] != "a" else "b"))
    return unavailable(task, tuple(one.query for one in task.series) if seen.says == "FAILED" else ())


async def reads_the_table_of_contents(host: Host, task: Task) -> Report:
    """Lists the results, sees names without values, and reports their series Unavailable."""
    host.received(task.envelope)
    seen = await host.call(spill_id=task.spill_id, inventory=True)
    return unavailable(task, tuple(entry["name"].removesuffix("…") for entry in (seen.answer or {})["entries"]))


async def reads_one_result_for_all(host: Host, task: Task) -> Report:
    """Reads the first result to its end, sees COMPLETE beside it, and reports on the rest as well."""
    host.received(task.envelope)
    return reported(task, await _walked(host, {"spill_id": task.spill_id, "result": 1}))


async def reads_a_window_for_all(host: Host, task: Task) -> Report:
    """Asks for everything at once, gets as much as its host takes, and stops there."""
    host.received(task.envelope)
    page = (await host.call(spill_id=task.spill_id, return_full=True)).answer or {}
    return reported(task, [_fragment(page)])


async def follows_the_playbook(host: Host, task: Task) -> Report:
    """Reads each page before the next, until there is no cursor. What its host cuts it asks for again, smaller."""
    host.received(task.envelope)
    return reported(task, await _walked(host, {"spill_id": task.spill_id}))


async def follows_the_playbook_in_short(host: Host, task: Task) -> Report:
    """The same in the compact view, whose pages together say every value."""
    host.received(task.envelope)
    fragments = await _walked(host, {"spill_id": task.spill_id, "view": "compact"})
    return reported(task, [Fragment(0, expand(fragments[0].data.decode()).encode())])


async def finds_the_peak_by_numbers(host: Host, task: Task) -> Report:
    """Lists all series in numbers, picks the one with the greatest value of all, and reads that one alone.

    It says that the others are unread: of those it reports nothing.
    """
    host.received(task.envelope)
    entries: list[dict[str, Any]] = []
    arguments: dict[str, Any] = {"series": True}
    while arguments:
        answer = (await host.call(spill_id=task.spill_id, **arguments)).answer or {}
        entries += answer["entries"]
        arguments = {"cursor": answer["next_cursor"]} if "next_cursor" in answer else {}
    peak = max(entries, key=lambda entry: float(entry.get("max", "-inf")))
    return reported(task, await _walked(host, {"spill_id": task.spill_id, "cursor": peak["cursor"]}))


BAD_HABITS: tuple[Agent, ...] = (
    reads_the_preview,
    greps_first,
    stops_half_way,
    edits_a_cursor,
    takes_a_cut_page_for_the_last,
    calls_an_error_unavailable,
    reads_the_table_of_contents,
    reads_one_result_for_all,
    reads_a_window_for_all,
)


async def _walked(host: Host, arguments: dict[str, Any]) -> list[Fragment]:
    """The bytes of a walk, joined."""
    fragments, most = list[Fragment](), 0
    while True:
        seen = await host.call(**arguments, **({"max_bytes": most} if most else {}))
        if seen.answer is None:  # no status: the host cut it
            most = (most or 7_500) // 2
            continue
        fragments.append(_fragment(seen.answer))
        if "next_cursor" not in seen.answer:
            return _joined(fragments)
        arguments = {"spill_id": arguments["spill_id"], "cursor": seen.answer["next_cursor"]}


def _fragment(page: dict[str, Any]) -> Fragment:
    return Fragment(int(page["position"].split("-")[0]), page["chunk"].encode())


def _joined(fragments: list[Fragment]) -> list[Fragment]:
    return [Fragment(fragments[0].start, b"".join(fragment.data for fragment in fragments))]


def _labels(match: dict[str, Any]) -> Fragment:
    """The labels that a match shows, at their place."""
    (shown,) = re.findall(r'"metric":\{[^}]*\}', match["text"])
    return Fragment(int(match["bytes"].split("-")[0]), shown.encode())


def _chunk_in(text: str) -> bytes:
    """The beginning of a chunk in the beginning of a page, as somebody reads it who does not mind the missing end."""
    begun = text.partition('"chunk":"')[2].rstrip("\\")
    found: str = json.loads(f'"{begun}"')
    return found.encode()


def words(seen: Sequence[Seen]) -> list[str]:
    """What each thing that was shown says of itself."""
    return [one.says for one in seen]
