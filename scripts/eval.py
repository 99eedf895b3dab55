"""The incident with a real model: how often each way of looking makes it misdiagnose, and what that costs.

``python -m scripts.eval [--json] [--runs N] [--budget BYTES]`` asks the model at EVAL_BASE_URL (any server of OpenAI's
chat completions with tools), named EVAL_MODEL, with EVAL_API_KEY and EVAL_TEMPERATURE if they are set. It is given the
truncated result of the batch of twelve queries, and the tool that reads it, on an embedded server. Without a URL
nothing is asked, and nothing is claimed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scripts.chat import Message, Model, ModelFailedError, function_of
from scripts.verdicts import Verdict, chosen, judged, question
from spillcache import SpillCache, defaults
from spillcache.demo import sample
from spillcache.demo.views import Series, all_series
from spillcache.tool.calls import answer_call
from spillcache.tool.definition import ToolOptions, tool_entry
from spillcache.tool.playbook import playbook
from spillcache.tool.rendering import JSON_WIRE, json_text

_MOST_CALLS = 200  # of one run: three times the pages of the longest walk
_ROLE = "You are an SRE agent. You report what the data says, and only that."
_ORIGIN: dict[str, Any] = {
    "name": sample.TOOL,
    "description": "Runs twelve range queries against Prometheus and returns their results.",
    "inputSchema": {"type": "object", "properties": {}},
}


@dataclass(frozen=True, slots=True)
class Way:
    """A way of looking: what the model is told, and whether it has the tool that reads on."""

    name: str
    told: str
    reads: bool = True


WAYS = (
    Way("preview only", "", reads=False),
    Way(
        "grep first", f"Search the stored result for the series that you need: call {defaults.TOOL_NAME} with pattern."
    ),
    Way("paging", playbook(defaults.TOOL_NAME)),
    Way("compact view", f'{playbook(defaults.TOOL_NAME)}\nIn every call of {defaults.TOOL_NAME} set view: "compact".'),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One way, all runs together. `tokens` is None where the model's server does not report them."""

    way: str
    asked: int
    right: int
    unread: int
    misdiagnosed: int
    unanswered: int
    calls: int
    tokens: int | None
    failed: str | None = None

    @property
    def rate(self) -> float | None:
        """Misdiagnoses of what was asked, in percent; None where a run failed, of which nothing is claimed."""
        return None if self.failed or not self.asked else round(100 * self.misdiagnosed / self.asked, 1)


class Conversation:
    """One run: the model, the tools, and what it cost."""

    def __init__(self, cache: SpillCache, model: Model, way: Way, budget: int) -> None:
        self._cache, self._model, self._way, self._budget = cache, model, way, budget
        self.calls, self.tokens = 0, 0
        self.counted = True

    async def report(self, envelope: str, asked: str) -> str:
        """The model's report. Raises `ModelFailedError`."""
        entries = [_ORIGIN, *([tool_entry(ToolOptions())] if self._way.reads else [])]
        tools = [function_of(entry) for entry in entries]
        origin = {"id": "call_0", "type": "function", "function": {"name": sample.TOOL, "arguments": "{}"}}
        messages: list[Message] = [
            {"role": "system", "content": f"{_ROLE}\n{self._way.told}".strip()},
            {"role": "user", "content": asked},
            {"role": "assistant", "content": None, "tool_calls": [origin]},
            {"role": "tool", "tool_call_id": "call_0", "content": envelope},
        ]
        while True:
            turn = await self._model.turn(messages, tools)
            self.counted = self.counted and turn.tokens is not None
            self.tokens += turn.tokens or 0
            if not turn.calls:
                return turn.text
            messages.append(turn.message)
            for call in turn.calls:
                if self.calls >= _MOST_CALLS:
                    raise ModelFailedError(f"the model did not end within {_MOST_CALLS} calls")
                self.calls += 1
                messages.append(
                    {"role": "tool", "tool_call_id": call.get("id"), "content": await self._answer(call, envelope)}
                )

    async def _answer(self, call: Any, envelope: str) -> str:
        function = call["function"]
        if function.get("name") == sample.TOOL:
            return envelope
        if function.get("name") != defaults.TOOL_NAME or not self._way.reads:
            return "There is no tool of that name."
        arguments = function.get("arguments") or {}  # text by the protocol; some servers send the object
        try:
            arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        except ValueError:
            return "The arguments are not JSON."
        answer = await answer_call(
            self._cache,
            arguments if isinstance(arguments, dict) else {},
            options=ToolOptions(),
            budget=self._budget,
            tenant=defaults.TENANT,
        )
        return str(answer["content"][0]["text"])


async def outcome(cache: SpillCache, model: Model, way: Way, *, runs: int, budget: int) -> Outcome:
    """Run one way so many times, each on a spill of its own."""
    series: Sequence[Series] = chosen(all_series(sample.payload()))
    verdicts, calls, tokens, counted, failed = Counter[Verdict](), 0, 0, True, None
    for _ in range(runs):
        envelope = await cache.put(sample.payload(), tool=sample.TOOL, budget=budget, wire=JSON_WIRE)
        run = Conversation(cache, model, way, budget)
        try:
            verdicts += judged(await run.report(json_text(envelope.as_dict()), question(series)), series)
        except ModelFailedError as error:
            failed = str(error)
        calls, tokens, counted = calls + run.calls, tokens + run.tokens, counted and run.counted
        if failed:  # of a way that failed once nothing is claimed, so more runs would cost and tell nothing
            break
    counts = {name: verdicts[name] for name in ("right", "unread", "misdiagnosed", "unanswered")}
    return Outcome(way.name, verdicts.total(), **counts, calls=calls, tokens=tokens if counted else None, failed=failed)


async def outcomes(model: Model, *, runs: int, budget: int) -> list[Outcome]:
    """All ways, one after the other."""
    async with SpillCache.embedded() as cache, model:
        return [await outcome(cache, model, way, runs=runs, budget=budget) for way in WAYS]


def table(rows: Sequence[Outcome]) -> str:
    """The outcomes for people."""
    lines = [
        "| way | misdiagnosed | right | unread | unanswered | calls | tokens |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        rate = f"{row.rate} %" if row.rate is not None else f"not known: {row.failed}"
        tokens = f"{row.tokens:,}" if row.tokens is not None else "not reported"
        shares = (f"{count}/{row.asked}" for count in (row.right, row.unread, row.unanswered))
        lines.append(f"| {row.way} | {rate} | {' | '.join(shares)} | {row.calls} | {tokens} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 when a model was asked and a run failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=1, help="runs of each way")
    parser.add_argument("--budget", type=int, default=defaults.BUDGET_BYTES, help="bytes of an answer")
    given = parser.parse_args(arguments)
    url, name = os.environ.get("EVAL_BASE_URL", ""), os.environ.get("EVAL_MODEL", "")
    if not url or not name:
        missing = " and ".join(f"EVAL_{what}" for what, value in (("BASE_URL", url), ("MODEL", name)) if not value)
        said = f"{missing} not set: no model was asked, and nothing is claimed."
        print(json.dumps({"asked": False, "reason": said}) if given.json else said)
        return 0
    temperature = os.environ.get("EVAL_TEMPERATURE")
    model = Model(url, name, os.environ.get("EVAL_API_KEY"), float(temperature) if temperature else None)
    rows = asyncio.run(outcomes(model, runs=given.runs, budget=given.budget))
    if given.json:
        print(json.dumps({"asked": True, "model": name, "ways": [asdict(row) | {"rate": row.rate} for row in rows]}))
    else:
        print(f"Model {name}, {given.runs} run(s) of each way, answers of {given.budget:,} bytes.\n\n{table(rows)}")
    return 1 if any(row.failed for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
