"""docs/hatches.md: one real session of each hatch on each face, on the batch of twelve queries.

``python -m scripts.sessions > docs/hatches.md`` starts a server of its own and `spillcache serve`, stores the batch and
makes every call for real. Long texts and lists are shortened for the page, between ⟨ and ⟩; nothing else is touched.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import shlex
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from spillcache import Keyring, SpillCache, defaults
from spillcache.demo import sample
from spillcache.demo.fleet import Fleet
from spillcache.keyring import MIN_KEY_BYTES, format_ring
from spillcache.wiring.environment import environment_without_settings
from spillcache.wiring.opening import private_server, write_private

_LONGEST_TEXT, _LONGEST_LIST, _LONGEST_LINE, _MOST_LINES = 240, 2, 200, 14


@dataclass(frozen=True, slots=True)
class Hatch:
    """A hatch, in words, and the same question on each face."""

    title: str
    about: str
    verb: str
    asks: Mapping[str, Any]
    tool: Mapping[str, Any]
    path: str
    query: Mapping[str, Any]
    command: tuple[str, ...]


_LABEL = '"mode":"idle"'
HATCHES = (
    Hatch(
        "Pattern search",
        "For one narrow question: where does this text stand? RE2, linear in time, over all bytes that are stored. "
        "Each match says what it matched (`in`: a `key`, a `label`, a `value`, or `text` where it is not JSON) and has "
        "a cursor of the page that holds it. `status` is always `PARTIAL`. Here is the incident itself: labels match, "
        "and no value was shown. The answer says so, and gives the first cursor of the result to read. No match is "
        "said with what was searched, and a pattern that cannot be is `FAILED` with `pattern_invalid`, never no match.",
        "grep",
        {"pattern": _LABEL, "literal": True, "max_matches": 2, "context": 40},
        {"pattern": _LABEL, "literal": True, "max_matches": 2, "context": 40},
        "matches",
        {"pattern": _LABEL, "literal": "true", "max_matches": 2, "context": 40},
        ("grep", _LABEL, "-F", "-m", "2", "-C", "40"),
    ),
    Hatch(
        "Full read",
        "For a program, or a host that takes much at once: one large page, up to the smallest of "
        "`SPILLCACHE_FULL_BYTES`, `SPILLCACHE_MAX_PAGE_BYTES` and what the client is known to take. `PARTIAL` unless "
        "that was everything, and then it goes on like any page. The tool's entry names the cap in "
        '`_meta["anthropic/maxResultSizeChars"]`, for hosts that look there.',
        "full",
        {"cap": 40_000},
        {"return_full": True, "max_bytes": 40_000},
        "full",
        {"max_bytes": 40_000},
        ("full", "--cap", "40000"),
    ),
    Hatch(
        "Series in numbers",
        "To find what to read: of each time series its labels, count, first and last time, min, max, last and how many "
        "are NaN, computed from the bytes when they were stored and spelled as they are there. Derived, and a table of "
        "contents: `status` is `PARTIAL`, `series_status` speaks of the list itself. Judge by the values.",
        "series",
        {"result": 1, "budget": 2_500},
        {"series": True, "result": 1, "max_bytes": 2_500},
        "series",
        {"result": 1, "max_bytes": 2_500},
        ("series", "--result", "1"),
    ),
    Hatch(
        "Compact view",
        "For models that read everything: time series with their labels once and then every value, number text "
        "verbatim, what else there is as it stands. No value is left out, so its last page says `COMPLETE` with the "
        "view named. It has no receipt, which would be of bytes; its `range_receipt` says that the compact view was "
        "served. Page 1 has a `legend`, and where a page begins inside a series, `inside` names it.",
        "page",
        {"view": "compact", "budget": 2_500},
        {"view": "compact", "max_bytes": 2_500},
        "pages",
        {"view": "compact", "max_bytes": 2_500},
        ("page", "--view", "compact", "--budget", "2500"),
    ),
)

_HEAD = """\
# Hatches

Paging reads everything, and is what to do. These are other ways in, for one narrow question each. None of them can be
taken for the data: every answer says `PARTIAL` (or `FAILED`), what was searched or shown, and how to read on; a full
read and a compact walk say `COMPLETE` only when they were everything.

| to | library | tool | REST | command line |
|---|---|---|---|---|
| find a text | `grep` | `pattern` | `…/matches` | `spillcache grep` |
| get much at once | `full` | `return_full: true` | `…/full` | `spillcache full` |
| find which series to read | `series` | `series: true` | `…/series` | `spillcache series` |
| read series in fewer tokens | `page`, `walk` with `view="compact"` | `view: "compact"` | `…/pages?view=compact` | \
`spillcache page`, `walk --view compact` |

On every face the words are the same: one place makes them. On the command line the exit code is the status: 0 COMPLETE,
3 PARTIAL, 1 FAILED; a search that found nothing is PARTIAL too, and exits with 4. The tool refuses what contradicts
itself, such as `pattern` with `cursor`, and says what to call instead.

What follows was really run (`python -m scripts.sessions`), on the batch of twelve queries that `make demo` replays:
{size:,} bytes. It comes with the package, and this stores it, so that you can do the same. ⟨…⟩ is what this page leaves
out; an answer has it.

{stored}"""

_SAVE = "import sys; from spillcache.demo import sample; sys.stdout.buffer.write(sample.payload())"
_PUT = ("put", "batch.json", "--tool", sample.TOOL)


async def document() -> str:
    """The page."""
    with tempfile.TemporaryDirectory() as directory, private_server() as server:
        ring = Path(directory) / "keyring.json"
        write_private(ring, format_ring({"docs": secrets.token_bytes(MIN_KEY_BYTES)}, "docs"))
        environment = environment_without_settings() | {
            "SPILLCACHE_REDIS_URL": server.url,
            "SPILLCACHE_KEYRING_FILE": str(ring),
            "SPILLCACHE_LOG_FORMAT": "json",
        }
        spill_id, storing = await asyncio.to_thread(_stored, environment, Path(directory))
        async with SpillCache.from_url(server.url, keyring=Keyring.from_file(ring)) as cache:
            with Fleet(("docs",), environment) as fleet:
                faces = _Faces(cache, fleet.take_turn().url, environment, spill_id)
                parts = [_HEAD.format(size=len(sample.payload()), stored=_block("", "console", storing))]
                for hatch in HATCHES:
                    parts += [f"## {hatch.title}\n\n{hatch.about}\n", *[part async for part in faces.sessions(hatch)]]
    return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class _Faces:
    cache: SpillCache
    mcp_url: str
    environment: Mapping[str, str]
    spill_id: str

    async def sessions(self, hatch: Hatch) -> AsyncIterator[str]:
        """The question on each face, as Markdown."""
        words = ", ".join(f"{name}={_spelled(value)}" for name, value in hatch.asks.items())
        answer = await getattr(self.cache, hatch.verb)(self.spill_id, **hatch.asks)
        yield _block("Library", "python", f"answer = await cache.{hatch.verb}(spill_id, {words})\nanswer.as_dict()")
        yield _block("", "json", _shortened(answer.as_dict()))
        arguments = {"spill_id": self.spill_id, **hatch.tool}
        yield _block("MCP", "json", json.dumps({"name": defaults.TOOL_NAME, "arguments": arguments}))
        yield _block("", "json", _shortened(json.loads(await self._called(arguments))))
        path = f"/v1/spills/{self.spill_id}/{hatch.path}?{urlencode(hatch.query)}"
        async with httpx2.AsyncClient(base_url=self.mcp_url.removesuffix("/mcp")) as client:
            response = await client.get(path)
        yield _block("REST", "http", f"GET {path}")
        yield _block("", "json", _shortened(response.json()))
        verb, *options = hatch.command
        typed = (verb, self.spill_id, *options)
        yield _block("Command line", "console", await asyncio.to_thread(_typed, typed, self.environment))

    async def _called(self, arguments: dict[str, Any]) -> str:
        async with (
            httpx2.AsyncClient() as http,
            Client(streamable_http_client(self.mcp_url, http_client=http)) as client,
        ):
            result = await client.call_tool(defaults.TOOL_NAME, arguments)
        return "".join(block.text for block in result.content if isinstance(block, TextContent))


def _stored(environment: Mapping[str, str], directory: Path) -> tuple[str, str]:
    """Make a file of the batch, and store it: the spill id, and the session. Raises `ValueError` where it failed."""
    save = [sys.executable, "-c", _SAVE]
    with (directory / _PUT[1]).open("wb") as file:
        subprocess.run(save, env=dict(environment), stdout=file, check=True)
    answered = _typed(_PUT, environment, directory)
    found = re.search(r"^spill id +(\w{26})$", answered, re.MULTILINE)
    if found is None:
        raise ValueError(answered)
    return found[1], f"$ {shlex.join(['python3', *save[1:]])} > {_PUT[1]}\n{answered}"


def _typed(words: tuple[str, ...], environment: Mapping[str, str], directory: Path | None = None) -> str:
    """A command, what it printed, and its exit code."""
    ran = subprocess.run(
        [sys.executable, "-m", "spillcache.cli", *words],
        env=dict(environment), cwd=directory, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = [
        f"$ {shlex.join(['spillcache', *words])}",
        *_few(ran.stdout.splitlines()),
        *_few(ran.stderr.splitlines()),
        "$ echo $?",
        str(ran.returncode),
    ]
    return "\n".join(lines)


def _spelled(value: object) -> str:
    """As the formatter wants it: in double quotes, unless there are some inside."""
    return json.dumps(value) if isinstance(value, str) and '"' not in value else repr(value)


def _block(face: str, language: str, text: str) -> str:
    title = f"**{face}**\n\n" if face else ""
    return f"{title}```{language}\n{text}\n```\n"


def _shortened(answer: Mapping[str, Any]) -> str:
    """An answer, a field on a line."""
    fields = (
        f"  {json.dumps(name)}: {json.dumps(_short(value), ensure_ascii=False)}" for name, value in answer.items()
    )
    return "{\n" + ",\n".join(fields) + "\n}"


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return f"{value[:_LONGEST_TEXT]}⟨{len(value) - _LONGEST_TEXT:,} more characters⟩"
    if isinstance(value, dict):
        return {name: _short(one) for name, one in value.items()}
    if isinstance(value, list):
        more = [f"⟨{len(value) - _LONGEST_LIST} more⟩"] if len(value) > _LONGEST_LIST else []
        return [*map(_short, value[:_LONGEST_LIST]), *more]
    return value


def _few(lines: list[str]) -> Iterator[str]:
    """The first lines and the last ones, which say how it ended."""
    most = _MOST_LINES // 2
    for number, line in enumerate(lines):
        if most <= number < len(lines) - most:
            if number == most:
                yield f"⟨{len(lines) - 2 * most} more lines⟩"
            continue
        more = len(line) - _LONGEST_LINE
        yield f"{line[:_LONGEST_LINE]}⟨{more:,} more characters⟩" if more > 0 else line


if __name__ == "__main__":
    print(asyncio.run(document()))
