"""The evaluation, against a server of chat completions that plays scripted models."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from scripts import eval as evaluation
from scripts.chat import Model
from scripts.verdicts import chosen, judged, question
from spillcache import SpillCache
from spillcache.demo import sample
from spillcache.demo.views import all_series
from tests.servers.caches import cache_on

SERIES = chosen(all_series(sample.payload()))
Script = Callable[[dict[str, Any]], Any]


@contextmanager
def playing(script: Script, heard: list[dict[str, Any]]) -> Iterator[str]:
    """A server whose every answer is what the script says to a request; its URL. Requests and keys are noted."""

    class Completions(BaseHTTPRequestHandler):
        """Answers POST."""

        def do_POST(self) -> None:
            """Play the next line."""
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            heard.append({"path": self.path, "key": self.headers["Authorization"], **asked})
            answer = script(asked)
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(200 if answer else 503)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Completions)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def says(text: str) -> dict[str, Any]:
    """A completion in words."""
    return {
        "choices": [{"message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 1},
    }


def calls(**arguments: Any) -> dict[str, Any]:
    """A completion that calls the reading tool."""
    function = {"name": "search_query_spill", "arguments": json.dumps(arguments)}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": function}],
    }
    return {"choices": [{"message": message}], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}


def reports(state: str, last: bool = False) -> str:
    """A report that says the same of each series; `last` adds the true values."""
    entries = (
        {"id": number, "state": state} | ({"last": one.last} if last else {}) for number, one in enumerate(SERIES, 1)
    )
    return f"Here it is:\n```json\n{json.dumps({'report': list(entries)})}\n```"


def a_model_as_told(asked: dict[str, Any]) -> dict[str, Any]:
    """Does what it was told to: concludes from a preview or a search, or walks to COMPLETE and then knows."""
    told, answer = asked["messages"][0]["content"], json.loads(asked["messages"][-1]["content"])
    spill_id = json.loads(asked["messages"][3]["content"])["spill_id"]
    if len(asked["tools"]) == 1:
        return says(reports("no data"))
    if "with pattern" in told:
        return says(reports("Unavailable")) if "matches" in answer else calls(spill_id=spill_id, pattern='"metric"')
    if answer.get("status") == "COMPLETE":
        return says(reports("value", last=True))
    cursor = answer.get("next_cursor", "")
    return calls(
        spill_id=spill_id, cursor=cursor, **({"view": "compact"} if "compact" in told.rpartition("\n")[2] else {})
    )


@pytest.fixture
def on_the_session_server(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No server of its own."""
    monkeypatch.setattr(SpillCache, "embedded", lambda: cache_on(redis_url))


@pytest.mark.usefixtures("on_the_session_server")
def test_each_way_is_judged_by_what_it_makes_a_model_say(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Preview and search misdiagnose everything, walks nothing; calls and tokens are counted; the key is sent."""
    heard: list[dict[str, Any]] = []
    with playing(a_model_as_told, heard) as url:
        for name, value in (("BASE_URL", url), ("MODEL", "scripted"), ("API_KEY", "k")):
            monkeypatch.setenv(f"EVAL_{name}", value)
        assert evaluation.main(["--json", "--budget", "48000"]) == 0
        ways = {way["way"]: way for way in json.loads(capsys.readouterr().out)["ways"]}
    assert [ways[name]["rate"] for name in ways] == [100.0, 100.0, 0.0, 0.0]
    assert [ways[name]["right"] for name in ways] == [0, 0, len(SERIES), len(SERIES)]
    assert ways["preview only"]["calls"] == 0
    assert 0 < ways["compact view"]["calls"] < ways["paging"]["calls"]
    assert sum(way["tokens"] for way in ways.values()) == 10 * len(heard)
    assert {(one["path"], one["key"], one["model"]) for one in heard} == {
        ("/v1/chat/completions", "Bearer k", "scripted")
    }


@pytest.mark.usefixtures("on_the_session_server")
@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"not JSON",
        {"choices": []},
        {"choices": [{"message": 5}]},
        {"choices": [{"message": {"tool_calls": [5]}}]},
        {"choices": [{"message": {"tool_calls": [{"id": "c"}]}}]},
    ],
)
async def test_a_model_that_fails_is_claimed_nothing_of(answer: Any) -> None:
    """No rate, and the reason; the table says so in words."""
    with playing(lambda _: answer, []) as url:
        async with SpillCache.embedded() as cache, Model(url, "scripted", None) as model:
            row = await evaluation.outcome(cache, model, evaluation.WAYS[0], runs=1, budget=7_500)
    assert (row.rate, row.asked, row.failed is None) == (None, 0, False)
    assert "not known" in evaluation.table([row])


@pytest.mark.usefixtures("on_the_session_server")
@pytest.mark.parametrize(("given", "sent"), [("", [None]), ("0", [0.0]), ("0.7", [0.7])])
def test_a_temperature_is_sent_where_it_is_set(monkeypatch: pytest.MonkeyPatch, given: str, sent: list[Any]) -> None:
    """Some models refuse any; 0 is one."""
    heard: list[dict[str, Any]] = []
    monkeypatch.setattr(evaluation, "WAYS", evaluation.WAYS[:1])
    with playing(a_model_as_told, heard) as url:
        for name, value in (("BASE_URL", url), ("MODEL", "scripted"), ("TEMPERATURE", given)):
            monkeypatch.setenv(f"EVAL_{name}", value)
        assert evaluation.main(["--json"]) == 0
    assert [one.get("temperature") for one in heard] == sent
    assert all(("temperature" in one) == bool(given) for one in heard)


@pytest.mark.usefixtures("on_the_session_server")
async def test_tokens_that_are_not_reported_are_not_made_up() -> None:
    """And a tool that there is not, or arguments that are no JSON, are told to the model."""
    bare = {"choices": [{"message": {"role": "assistant", "content": reports("unread")}}]}
    odd = calls()
    odd["choices"][0]["message"]["tool_calls"] += [
        {"id": "d", "function": {"name": "search_query_spill", "arguments": "{"}},
        {"id": "e", "function": {"name": "rm"}},
        {"id": "f", "function": {"name": sample.TOOL}},
        {"id": "g", "function": {"name": "search_query_spill", "arguments": {"spill_id": "?"}}},
    ]
    heard: list[dict[str, Any]] = []
    with playing(lambda asked: bare if len(asked["messages"]) > 4 else odd, heard) as url:
        async with SpillCache.embedded() as cache, Model(url, "scripted", None) as model:
            row = await evaluation.outcome(cache, model, evaluation.WAYS[2], runs=1, budget=7_500)
    assert (row.unread, row.misdiagnosed, row.calls, row.tokens) == (len(SERIES), 0, 5, None)
    assert "not reported" in evaluation.table([row])
    told = [message["content"] for message in heard[-1]["messages"][-5:]]
    assert '"code":"arguments_invalid"' in told[0]
    assert told[1:3] == ["The arguments are not JSON.", "There is no tool of that name."]
    assert '"completeness":"truncated"' in told[3]
    assert '"code":"spill_id_malformed"' in told[4]


@pytest.mark.usefixtures("on_the_session_server")
async def test_a_model_that_never_ends_is_broken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many calls, and nothing is claimed."""
    monkeypatch.setattr(evaluation, "_MOST_CALLS", 3)
    with playing(lambda _: calls(), []) as url:
        async with SpillCache.embedded() as cache, Model(url, "scripted", None) as model:
            row = await evaluation.outcome(cache, model, evaluation.WAYS[2], runs=1, budget=7_500)
    assert (row.calls, row.rate) == (3, None)


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_without_a_url_nothing_is_asked_and_nothing_claimed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    """It says so, and that is no failure."""
    monkeypatch.delenv("EVAL_BASE_URL", raising=False)
    monkeypatch.setenv("EVAL_MODEL", "scripted")
    assert evaluation.main(flags) == 0
    assert "EVAL_BASE_URL not set: no model was asked, and nothing is claimed." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("entry", "verdict"),
    [
        ({"state": "value", "last": SERIES[0].last}, "right"),
        ({"state": "value", "last": "0"}, "misdiagnosed"),
        ({"state": "value"}, "misdiagnosed"),
        ({"state": "Unavailable"}, "misdiagnosed"),
        ({"state": "no data"}, "misdiagnosed"),
        ({"state": "unread"}, "unread"),
    ],
)
def test_a_verdict_on_one_series(entry: dict[str, str], verdict: str) -> None:
    """Only what was read may be judged; what is said to be unread is no misdiagnosis."""
    found = judged(json.dumps({"report": [{"id": 1, **entry}]}), SERIES)
    assert found == {verdict: 1, "unanswered": len(SERIES) - 1}
    assert judged("I could not do it.", SERIES) == {"unanswered": len(SERIES)}


def test_every_query_is_asked_about() -> None:
    """One series of each, with its labels, because names alone are not unique."""
    asked = question(SERIES)
    assert len({one.query for one in SERIES}) == 12
    assert all(json.dumps(one.labels) in asked for one in SERIES)
