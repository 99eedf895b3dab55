"""The table of tokens, counted here by a stand-in: a token for every four characters."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from scripts import token_table
from spillcache import SpillCache
from tests.servers.caches import cache_on, metrics


class Fours(token_table.Tokenizer):
    """Counts without Node."""

    def __init__(self) -> None:
        """Install nothing."""

    def counts(self, texts: Sequence[str]) -> list[int]:
        """A token for every four characters begun."""
        return [-(-len(text) // 4) for text in texts]


@pytest.fixture
def small(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One small sample, on the session's server."""
    monkeypatch.setattr(token_table, "Tokenizer", Fours)
    monkeypatch.setattr(token_table, "payloads", lambda _least: {"sample": metrics(points=300).decode()})
    monkeypatch.setattr(SpillCache, "embedded", lambda: cache_on(redis_url))


@pytest.mark.usefixtures("small")
async def test_a_row_adds_up_a_whole_walk() -> None:
    """More tokens than the payload by what is around the chunks, in each rendering."""
    (row,) = await token_table.table(7_500)
    assert row.size_bytes == len(metrics(points=300))
    for walk in (row.json, row.raw):
        around = walk.tokens - row.tokens
        assert 0 < around <= walk.pages * 200
        assert walk.beside_most < walk.beside_last < walk.page_most
    assert row.raw.tokens < row.json.tokens
    assert row.compact is None


@pytest.mark.usefixtures("small")
async def test_time_series_have_a_row_in_the_compact_view(monkeypatch: pytest.MonkeyPatch) -> None:
    """A walk there, and what part of the raw one it is."""
    samples = [[1796040099.122 + 6 * number, f"0.{number}"] for number in range(600)]
    text = json.dumps({"data": {"result": [{"metric": {"cpu": "0"}, "values": samples}]}})
    monkeypatch.setattr(token_table, "payloads", lambda _least: {"sample": text})
    (row,) = await token_table.table(7_500)
    assert row.compact is not None
    assert row.of_raw_walk == round(row.compact.tokens / row.json.tokens, 2) < 0.5
    assert "| sample |" in token_table.compact_markdown([row])


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("bar", "code"), [(80, 0), (10, 1)])
def test_a_page_that_is_too_dear_fails_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], bar: int, code: int
) -> None:
    """So that a run is a check."""
    monkeypatch.setattr("sys.argv", ["token_table", "--json"])
    monkeypatch.setattr(token_table, "MAX_BESIDE", bar)
    assert token_table.main() == code
    assert json.loads(capsys.readouterr().out)["samples"][0]["sample"] == "sample"
