"""The page of hatches is what its script makes."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts import sessions
from spillcache.demo import sample
from spillcache.tool.rendering import JSON_WIRE
from tests.servers.caches import sync_cache_on

PAGE = (Path(__file__).parents[1] / "docs" / "hatches.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("hatch", sessions.HATCHES, ids=lambda hatch: hatch.title)
def test_every_hatch_is_shown_on_every_face_in_its_own_words(hatch: sessions.Hatch) -> None:
    """Whoever changes the words in the script runs it again."""
    section = PAGE.partition(f"## {hatch.title}\n")[2].partition("\n## ")[0]
    assert hatch.about in section
    for face in ("Library", "MCP", "REST", "Command line"):
        assert section.count(f"**{face}**") == 1
    assert f"await cache.{hatch.verb}(" in section
    assert "Traceback" not in section
    assert '"FAILED"' not in section


@pytest.mark.parametrize("hatch", sessions.HATCHES, ids=lambda hatch: hatch.title)
def test_the_answers_shown_have_the_fields_that_answers_have(redis_url: str, hatch: sessions.Hatch) -> None:
    """In their order, on every face that answers with JSON: whoever adds a field runs the script again."""
    section = PAGE.partition(f"## {hatch.title}\n")[2].partition("\n## ")[0]
    shown = [json.loads(block) for block in re.findall(r"```json\n(\{\n.*?\n\})\n```", section, re.DOTALL)]
    with sync_cache_on(redis_url) as cache:
        spill_id = cache.put(sample.payload(), tool=sample.TOOL, wire=JSON_WIRE).spill_id
        answer = getattr(cache, hatch.verb)(spill_id, **hatch.asks).as_dict()
    assert len(shown) == 3
    assert {fields(one) for one in shown} == {fields(answer)}
    assert steady(shown[0]) == steady(json.loads(sessions._shortened(answer)))


def test_its_input_is_what_the_page_says_how_to_get() -> None:
    """By the line that is printed, with what the package brings; and the next one stores it."""
    save, put = re.findall(r"^\$ (.*batch\.json.*)$", PAGE, re.MULTILINE)
    program, option, code, into, file = shlex.split(save)
    assert (program, option, into, file) == ("python3", "-c", ">", "batch.json")
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert ran.stdout == sample.payload()
    assert put == f"spillcache put batch.json --tool {sample.TOOL}"


def test_the_page_begins_as_the_script_begins_it() -> None:
    """Whoever changes these words runs it again, too."""
    before, _, after = sessions._HEAD.partition("{stored}")
    head = PAGE.partition("\n## ")[0]
    assert head.startswith(before.format(size=len(sample.payload())))
    assert head.endswith(after.format(size=len(sample.payload())).rstrip("\n") + "\n")


def steady(value: Any) -> Any:
    """What is the same in every run: an answer without its cursors and proofs."""
    if isinstance(value, dict):
        signed = {"cursor", "next_cursor", "receipt", "range_receipt"}
        return {name: steady(one) for name, one in value.items() if name not in signed}
    return [steady(one) for one in value] if isinstance(value, list) else value


def fields(answer: dict[str, Any]) -> str:
    """The names in an answer, and those in the first entry of each of its lists."""
    return json.dumps(
        {
            name: list(value[0]) if isinstance(value, list) and value and isinstance(value[0], dict) else None
            for name, value in answer.items()
        }
    )


def test_what_is_left_out_of_an_answer_is_marked() -> None:
    """Long texts and lists are shortened, and say by how much."""
    shown = json.loads(sessions._shortened({"text": "x" * 300, "list": [1, 2, 3], "in": {"short": "y"}}))
    assert shown["text"].endswith("⟨60 more characters⟩")
    assert shown["list"] == [1, 2, "⟨1 more⟩"]
    assert shown["in"] == {"short": "y"}
    lines = list(sessions._few([f"line {number}" for number in range(40)] + ["z" * 250]))
    assert (lines[0], lines[7]) == ("line 0", "⟨27 more lines⟩")
    assert lines[-1].endswith("⟨50 more characters⟩")
