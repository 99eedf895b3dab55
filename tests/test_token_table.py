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
    """So that a run is a check, which says what it found."""
    monkeypatch.setattr("sys.argv", ["token_table", "--json"])
    monkeypatch.setattr(token_table, "MAX_BESIDE", bar)
    assert token_table.main() == code
    said = capsys.readouterr()
    report = json.loads(said.out)
    assert report["samples"][0]["sample"] == "sample"
    assert report["page_of_binary_data"] > 7_500 // 5
    for longest in report["beside_the_chunk_at_its_longest"].values():
        assert 0 < longest["average"] <= longest["most"]
    assert said.err.count("missed: beside the chunk a page") == 2 * code


def walked(tokens: int) -> token_table.Walk:
    """A walk of so many tokens."""
    return token_table.Walk(1, tokens, 1.0, 9, 9, 9)


@pytest.mark.parametrize(
    ("name", "compact", "said"),
    [
        (token_table.BATCH, 50, []),
        (token_table.BATCH, 51, ["the batch in the compact view takes 0.51 × the raw walk; the bar is 0.5 ×"]),
        (token_table.BATCH, None, ["the batch in the compact view has no walk there; the bar is 0.5 ×"]),
        ("another", 99, []),
    ],
)
def test_the_batch_has_to_be_halved_by_the_compact_view(name: str, compact: int | None, said: list[str]) -> None:
    """And one that is not shown in it at all is not halved."""
    part = None if compact is None else compact / 100
    view = None if compact is None else walked(compact)
    row = token_table.Row(name, 9, 9, 1.0, walked(100), walked(100), compact=view, of_raw_walk=part)
    assert token_table.missed([row]) == said
