"""What documents print does what they say, as it is printed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from spillcache import PublicKeys
from spillcache.errors import StoreUnavailable
from spillcache.http.problems import problem_of
from tests.cli.commands import clean_environment

ROOT = Path(__file__).resolve().parents[1]
ENVELOPE = '{"completeness":"truncated","spill_id":"aaaa","preview":"{\\"completeness\\":\\"failed\\"}"}'


def block(document: str, containing: str) -> str:
    """The one block of code that contains those words, without prompts."""
    text = (ROOT / document).read_text(encoding="utf-8")
    (found,) = (one for one in re.findall(r"```\w*\n(.*?)```", text, re.DOTALL) if containing in one)
    return re.sub(r"^\$ ", "", found, flags=re.MULTILINE)


def typed(script: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """Run it in a shell that has none of our settings, where installing is done already."""
    installed = f'spillcache() {{ "{sys.executable}" -m spillcache.cli "$@"; }}\npip() {{ :; }}\n'
    script = re.sub(r"^python3 -m venv .*\n", "", script, flags=re.MULTILINE)
    return subprocess.run(
        ["bash", "-e", "-c", installed + script], cwd=directory, env=clean_environment(directory / "state"),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_public_keys_are_made_as_the_page_on_evidence_prints_it(tmp_path: Path) -> None:
    """In a fresh shell, from the ring that was just made, and no embedded server's ring is touched."""
    ran = typed(block("docs/evidence.md", "spillcache keys public"), tmp_path)
    assert ran.returncode == 0, ran.stderr
    PublicKeys.from_file(tmp_path / "public.json")
    assert not (tmp_path / "state").exists()


def worker(directory: Path, answer: str | None, *, status: str = "201", code: int = 0) -> tuple[int, str]:
    """The worker of the page on adoption, whose curl got that answer: its exit code, and what the agent is told."""
    (directory / "answer").write_text(ENVELOPE)  # an earlier call's
    (directory / "result.json").write_text("[1, 2]")
    sent = directory / "sent"
    writes = f"cp {sent} answer; " if answer is not None else ""
    sent.write_text(answer or "")
    stubs = f"curl() {{ {writes}printf %s {status}; return {code}; }}\nopenssl() {{ echo digest; }}\n"
    ran = typed(stubs + block("docs/adoption.md", "/v1/spills?tool=export"), directory)
    return ran.returncode, ran.stdout


def test_a_worker_hands_the_envelope_on(tmp_path: Path) -> None:
    """As it came, and with success."""
    assert worker(tmp_path, ENVELOPE) == (0, ENVELOPE)


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        pytest.param(None, "000", 7, id="nobody there"),
        pytest.param("", "503", 0, id="no words"),
        pytest.param("<h1>Bad gateway</h1>", "502", 0, id="a gateway's words"),
        pytest.param("<h1>Please log in</h1>", "302", 0, id="a redirect"),
        pytest.param(ENVELOPE[:-9], "201", 18, id="half an envelope"),
        pytest.param(ENVELOPE, "201", 18, id="an envelope that may go on"),
        pytest.param('{"completeness":"failed","mess', "503", 18, id="half an error"),
    ],
)
def test_a_worker_that_could_not_store_says_failed(tmp_path: Path, answer: str | None, status: str, code: int) -> None:
    """Its own words, where what came says nothing of the kind; never an earlier envelope, nor success."""
    ended, told = worker(tmp_path, answer, status=status, code=code)
    said = json.loads(told)
    assert (ended, said["completeness"]) == (1, "failed")
    assert "not empty data" in said["message"]
    assert "spill_id" not in said


def test_a_worker_hands_our_error_on(tmp_path: Path) -> None:
    """It says by itself that the call failed, why, and what to do."""
    problem = problem_of(StoreUnavailable("Redis cannot be reached"), writing=True)
    ended, told = worker(tmp_path, json.dumps(problem, separators=(",", ":")), status="503")
    assert (ended, json.loads(told)) == (1, problem)
