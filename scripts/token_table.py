"""What reading a spill costs in tokens: whole walks in both renderings, and in the compact view, against the payload.

``python -m scripts.token_table [--json] [--budget BYTES]`` walks the samples of tests/data through the tool, on an
embedded server, and counts the text of every answer as the model gets it with npm's gpt-tokenizer (o200k_base), which
it installs into ``.foreign/`` at the version below. It fails where a bar is missed, and says which.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import string
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import zstandard

from scripts.foreign import FOREIGN
from spillcache import SpillCache, defaults
from spillcache.cursor import MAX_CHARACTERS
from spillcache.demo import sample
from spillcache.errors import ArgumentsInvalid
from spillcache.page import Page, View
from spillcache.tool.calls import answer_call
from spillcache.tool.definition import ToolOptions, tool_entry
from spillcache.tool.rendering import json_text, raw_text

TOKENIZER = "4.0.0"
MAX_BESIDE = 80  # tokens of a page beside its chunk, after page 1
#: Tokens of the batch in the compact view, as a part of those of the raw walk, at most.
MAX_OF_RAW_WALK = 0.5
BATCH = "batch of twelve PromQL queries"
DATA = Path(__file__).resolve().parent.parent / "tests" / "data"

_COUNT = """
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
let text = '';
for await (const part of process.stdin) text += part;
console.log(JSON.stringify(JSON.parse(text).map((one) => encode(one, { disallowedSpecial: new Set() }).length)));
"""

#: What stands for cursors and for binary data: the same in every run.
CHANCE = random.Random(0)  # noqa: S311
Rendering = Literal["json", "raw"]
#: The rendering that the compact view is measured in: the default.
COMPACT: Rendering = "json"


@dataclass(frozen=True, slots=True)
class Walk:
    """Tokens of a whole walk, how many more that is than the payload in percent, and its dearest page.

    `beside` is what pages have beside their chunk: at most, from page 2 to the last but one; and the last, which has a
    receipt and no cursor.
    """

    pages: int
    tokens: int
    over_percent: float
    beside_most: int
    beside_last: int
    page_most: int


@dataclass(frozen=True, slots=True)
class Row:
    """One sample: its bytes and tokens as they are, a walk in each rendering, and one in the compact view.

    That one is None where there are no series; `of_raw_walk` are its tokens as a part of those of the raw walk.
    """

    sample: str
    size_bytes: int
    tokens: int
    bytes_per_token: float
    json: Walk
    raw: Walk
    compact: Walk | None
    of_raw_walk: float | None


class Tokenizer:
    """gpt-tokenizer, run by Node."""

    def __init__(self) -> None:
        self._home = FOREIGN / "tokenizer"
        self._home.mkdir(parents=True, exist_ok=True)
        if not (self._home / "node_modules" / "gpt-tokenizer").exists():
            options = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
            subprocess.run(["npm", "install", *options, f"gpt-tokenizer@{TOKENIZER}"], cwd=self._home, check=True)

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        command = ["node", "--input-type=module", "-e", _COUNT]
        ran = subprocess.run(command, cwd=self._home, input=json.dumps(texts).encode(), capture_output=True, check=True)
        found: list[int] = json.loads(ran.stdout)
        return found


def payloads(least: int) -> Mapping[str, str]:
    """The samples of more than `least` bytes, by name."""
    found = {BATCH: sample.payload()}
    for path in sorted(DATA.iterdir()):
        raw = path.read_bytes()
        found[path.name.removesuffix(".zst")] = zstandard.decompress(raw) if path.suffix == ".zst" else raw
    return {name: raw.decode() for name, raw in found.items() if len(raw) > least}


async def walk_pages(
    cache: SpillCache, spill_id: str, rendering: Rendering, budget: int, view: View = "raw"
) -> list[dict[str, str]]:
    """The texts of a whole walk, and what they have beside the chunk."""
    options, cursor = ToolOptions(rendering=rendering), ""
    pages: list[dict[str, str]] = []
    while not pages or cursor:
        arguments = {"spill_id": spill_id, "cursor": cursor} | ({"view": view} if view != "raw" else {})
        page = await cache.page(spill_id, cursor=cursor, view=view, budget=budget, wire=options.wire)
        result = await answer_call(cache, arguments, options=options, budget=budget, tenant=defaults.TENANT)
        text = result["content"][0]["text"]
        bare = page.as_dict() | {"chunk": ""}
        pages.append({"text": text, "beside": raw_text(bare) if rendering == "raw" else json_text(bare)})
        cursor = page.next_cursor or ""
    return pages


def summed(tokenizer: Tokenizer, pages: Sequence[Mapping[str, str]], payload_tokens: int) -> Walk:
    """Count a walk."""
    texts = tokenizer.counts([page["text"] for page in pages])
    beside = tokenizer.counts([page["beside"] for page in pages])
    return Walk(
        pages=len(pages),
        tokens=sum(texts),
        over_percent=round(100 * (sum(texts) / payload_tokens - 1), 1),
        beside_most=max(beside[1:-1], default=0),
        beside_last=beside[-1],
        page_most=max(texts),
    )


async def compact_walk(
    tokenizer: Tokenizer, cache: SpillCache, spill_id: str, budget: int, payload_tokens: int
) -> Walk | None:
    """A walk of the compact view; None for a payload without series."""
    try:
        return summed(tokenizer, await walk_pages(cache, spill_id, COMPACT, budget, "compact"), payload_tokens)
    except ArgumentsInvalid:
        return None


async def table(budget: int) -> list[Row]:
    """A row for each sample."""
    tokenizer, rows = Tokenizer(), []
    async with SpillCache.embedded() as cache:
        for name, payload in payloads(budget).items():
            (tokens,) = tokenizer.counts([payload])
            spill_id = (await cache.put(payload)).spill_id
            walks = {
                rendering: summed(tokenizer, await walk_pages(cache, spill_id, rendering, budget), tokens)
                for rendering in ("json", "raw")
            }
            compact = await compact_walk(tokenizer, cache, spill_id, budget, tokens)
            part = round(compact.tokens / walks[COMPACT].tokens, 2) if compact else None
            size = len(payload.encode())
            rows.append(Row(name, size, tokens, round(size / tokens, 2), **walks, compact=compact, of_raw_walk=part))
    return rows


def beside_longest(tokenizer: Tokenizer) -> dict[str, dict[str, int]]:
    """Tokens beside the chunk of a page in one of thousands of results, of hundreds of megabytes, by rendering.

    Cursors are random, and so is what they cost: the average and the most of two hundred.
    """
    characters = string.ascii_letters + string.digits + "-_"
    pages = [
        Page(
            spill_id="",
            start=987_654_321,
            end=987_660_432,
            size=999_999_999,
            chunk_kind="json_part",
            chunk="",
            status="PARTIAL",
            next_cursor="".join(CHANCE.choices(characters, k=MAX_CHARACTERS)),
            results=(4_321, 4_321),
            results_total=9_876,
        ).as_dict()
        for _ in range(200)
    ]
    counted = {"json": tokenizer.counts([json_text(page) for page in pages])}
    counted["raw"] = tokenizer.counts([raw_text(page) for page in pages])
    return {name: {"average": round(sum(each) / len(each)), "most": max(each)} for name, each in counted.items()}


async def binary_page(tokenizer: Tokenizer, budget: int) -> int:
    """Tokens of a page of binary data that does not repeat, which is sent as base64."""
    async with SpillCache.embedded() as cache:
        spill_id = (await cache.put(CHANCE.randbytes(3 * budget))).spill_id
        (_, second, *_) = await walk_pages(cache, spill_id, "json", budget)
    return tokenizer.counts([second["text"]])[0]


def missed(rows: Sequence[Row]) -> list[str]:
    """The bars that are missed, in words. What should be in the compact view and is not, misses its bar too."""
    said = [
        f"beside the chunk a page ({rendering}) has {tokens} tokens; the bar is {MAX_BESIDE}"
        for rendering, tokens in most(rows, "beside_most").items()
        if tokens > MAX_BESIDE
    ]
    for row in rows:
        if row.sample == BATCH and (row.of_raw_walk is None or row.of_raw_walk > MAX_OF_RAW_WALK):
            part = "has no walk there" if row.of_raw_walk is None else f"takes {row.of_raw_walk} × the raw walk"
            said.append(f"the batch in the compact view {part}; the bar is {MAX_OF_RAW_WALK} ×")
    return said


def markdown(rows: Sequence[Row]) -> str:
    """The table for the docs."""
    lines = [
        "| sample | bytes | tokens | bytes per token | json: pages | tokens | more | raw: pages | tokens | more |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        walks = (f"{walk.pages} | {walk.tokens:,} | {walk.over_percent:+.1f} %" for walk in (row.json, row.raw))
        lines.append(
            f"| {row.sample} | {row.size_bytes:,} | {row.tokens:,} | {row.bytes_per_token} | {' | '.join(walks)} |"
        )
    return "\n".join(lines)


def compact_markdown(rows: Sequence[Row]) -> str:
    """The table of the compact view for the docs."""
    lines = [
        "| sample | raw view: pages | tokens | compact view: pages | tokens | of the raw walk |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        if row.compact is not None:
            raw, compact = row.json, row.compact
            lines.append(
                f"| {row.sample} | {raw.pages} | {raw.tokens:,} | {compact.pages} | {compact.tokens:,} "
                f"| {row.of_raw_walk} × |"
            )
    return "\n".join(lines)


def most(rows: Sequence[Row], figure: str) -> dict[str, int]:
    """The largest of a figure, by rendering."""
    return {rendering: max(getattr(getattr(row, rendering), figure) for row in rows) for rendering in ("json", "raw")}


def main() -> int:
    """Print the table; 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--budget", type=int, default=defaults.BUDGET_BYTES)
    asked = parser.parse_args()
    rows = asyncio.run(table(asked.budget))
    tokenizer = Tokenizer()
    (entry,) = tokenizer.counts([json.dumps(tool_entry(ToolOptions()), separators=(",", ":"))])
    report: dict[str, Any] = {
        "tokenizer": f"gpt-tokenizer {TOKENIZER}, o200k_base",
        "budget_bytes": asked.budget,
        "beside_the_chunk": most(rows, "beside_most"),
        "beside_the_last_chunk": most(rows, "beside_last"),
        "beside_the_chunk_at_its_longest": beside_longest(tokenizer),
        "dearest_page": most(rows, "page_most"),
        "page_of_binary_data": asyncio.run(binary_page(tokenizer, asked.budget)),
        "entry_in_tools_list": entry,
    }
    if asked.json:
        print(json.dumps(report | {"samples": [asdict(row) for row in rows]}, indent=2))
    else:
        print(
            markdown(rows),
            "",
            compact_markdown(rows),
            "",
            *(f"- {name.replace('_', ' ')}: {said}" for name, said in report.items()),
            sep="\n",
        )
    misses = missed(rows)
    for one in misses:
        print(f"missed: {one}", file=sys.stderr)
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
