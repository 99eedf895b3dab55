"""Foreign servers whose results are too large, behind the proxy: spilled once, and read back exactly."""

from __future__ import annotations

import json
import os
import subprocess
from base64 import b64decode
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spillcache import defaults
from tests.foreign.grafana import SOURCE, grafana
from tests.foreign.node import CLIENTS, Step, Told, drive
from tests.foreign.payloads import sha256
from tests.foreign.prometheus import QUERIES, STEP_S, Prometheus
from tests.foreign.serving import serving
from tests.foreign.upstreams import commands
from tests.foreign.upstreams.commands import direct, proxied
from tests.servers.caches import keys, metrics
from tests.servers.requirements import requires

every_client = pytest.mark.parametrize("client", CLIENTS, ids="-".join)

_LISTED: Step = ("listTools", {})
"""From here on the client libraries hold every result against its declared outputSchema, and throw if it is not met."""


def read(name: str, **arguments: Any) -> Step:
    """Call a tool and, where its result is truncated, read all of it."""
    return ("callAndWalk", {"name": name, "arguments": arguments})


def text_of(answer: Mapping[str, Any]) -> str:
    """The one text block of a result that came whole."""
    (block,) = answer["result"]["content"]
    text: str = block["text"]
    return text


PAYLOAD = metrics(results=12, points=2_600)
"""About 345 KB in one line."""


@pytest.fixture
def big_file(tmp_path: Path) -> Path:
    """A file with PAYLOAD, in a directory of its own."""
    directory = tmp_path / "files"
    directory.mkdir()
    (directory / "big.json").write_bytes(PAYLOAD)
    return directory / "big.json"


@requires("npm packages")
class TestFilesystem:
    """server-filesystem declares an outputSchema, and sends the text a second time as structuredContent."""

    @every_client
    async def test_a_file_is_spilled_once_and_read_back(
        self, redis_url: str, proxy_settings: dict[str, str], big_file: Path, client: tuple[str, str]
    ) -> None:
        """Text and structuredContent carry the same data: one spill stands for both, and strict clients take it."""
        server = proxied(commands.filesystem(big_file.parent), proxy_settings)
        told = await drive(server, [_LISTED, read("read_text_file", path=str(big_file))], client=client)
        answer = told.answers[1]
        assert answer["envelope"]["completeness"] == "truncated"
        assert answer["sha256"] == sha256(PAYLOAD)
        assert answer["last"]["status"] == "COMPLETE"
        assert len({key.split(b":")[1] for key in keys(redis_url)}) == 1
        assert len(json.dumps(answer["result"])) <= defaults.BUDGET_BYTES

    @every_client
    async def test_a_file_is_read_back_over_http(
        self, proxy_settings: dict[str, str], big_file: Path, tmp_path: Path, client: tuple[str, str]
    ) -> None:
        """The same through the proxy's HTTP front."""
        with serving(
            ["proxy", "--http", "--", *commands.filesystem(big_file.parent)], proxy_settings, tmp_path
        ) as proxy:
            told = await drive({"url": proxy.mcp}, [_LISTED, read("read_text_file", path=str(big_file))], client=client)
        assert told.answers[1]["sha256"] == sha256(PAYLOAD)

    async def test_what_fits_passes_and_errors_stay_errors(
        self, redis_url: str, proxy_settings: dict[str, str], big_file: Path
    ) -> None:
        """A small file is the upstream's own answer; a file that is not there is its own error; nothing is stored."""
        (big_file.parent / "small.txt").write_text("small")
        steps: list[Step] = [
            _LISTED,
            ("callTool", {"name": "read_text_file", "arguments": {"path": str(big_file.parent / "small.txt")}}),
            ("callTool", {"name": "read_text_file", "arguments": {"path": str(big_file.parent / "none.txt")}}),
        ]
        command = commands.filesystem(big_file.parent)
        own, ours = await drive(direct(command), steps), await drive(proxied(command, proxy_settings), steps)
        assert ours.answers[1:] == own.answers[1:]
        assert ours.answers[2]["isError"]
        assert not keys(redis_url)

    async def test_a_picture_passes_whole_or_is_spilled_whole(
        self, proxy_settings: dict[str, str], big_file: Path
    ) -> None:
        """It is no text that could be read in parts. This server sends it twice, and both copies must fit a client."""
        small, large = (os.urandom(size) for size in (200_000, 400_000))
        steps = [_LISTED]
        for name, picture in (("small.png", small), ("large.png", large)):
            big_file.with_name(name).write_bytes(picture)
            steps.append(read("read_media_file", path=str(big_file.with_name(name))))
        told = await drive(proxied(commands.filesystem(big_file.parent), proxy_settings), steps)
        (block,) = told.answers[1]["result"]["content"]
        assert (block["type"], b64decode(block["data"])) == ("image", small)
        assert told.answers[2]["sha256"] == sha256(large)


@requires("npm packages", "Python servers")
class TestGit:
    """mcp-server-git answers in text, of whatever length."""

    @pytest.fixture
    def repository(self, tmp_path: Path) -> Path:
        """A repository with two hundred commits, the last of which is large."""
        directory = tmp_path / "repository"
        stream = [b"blob\nmark :1\ndata 5\nfirst\n"]
        for number in range(200):
            message = f"commit {number}\n\n{'why it was made, at some length. ' * 8}".encode()
            stream.append(
                b"commit refs/heads/main\ncommitter Someone <someone@example.com> %d +0000\n" % (1_700_000_000 + number)
                + b"data %d\n%s\nM 100644 inline file-%d\ndata 5\nline\n\n" % (len(message), message, number)
            )
        big = b"".join(b"line %d of a large file\n" % number for number in range(8_000))
        stream.append(
            b"commit refs/heads/main\ncommitter Someone <someone@example.com> 1700001000 +0000\ndata 5\nlarge\n"
            b"M 100644 inline large\ndata %d\n%s\n" % (len(big), big)
        )
        self._git("init", "--quiet", "--initial-branch=main", str(directory))
        self._git("-C", str(directory), "fast-import", "--quiet", stdin=b"".join(stream))
        self._git("-C", str(directory), "reset", "--quiet", "--hard", "main")
        return directory

    async def test_log_and_diff_are_read_back(self, proxy_settings: dict[str, str], repository: Path) -> None:
        """Both are spilled, and their pages are what the server alone answers."""
        steps = [
            read("git_log", repo_path=str(repository), max_count=200),
            read("git_show", repo_path=str(repository), revision="HEAD"),
            read("git_diff", repo_path=str(repository), target="HEAD~1"),
            read("git_status", repo_path=str(repository)),
        ]
        own = await drive(direct(commands.git()), steps)
        ours = await drive(proxied(commands.git(), proxy_settings), steps)
        for theirs, mine in zip(own.answers[:3], ours.answers[:3], strict=True):
            assert mine["sha256"] == sha256(text_of(theirs).encode())
            assert mine["pages"] > 1
        assert text_of(ours.answers[3]) == text_of(own.answers[3])

    @staticmethod
    def _git(*arguments: str, stdin: bytes = b"") -> None:
        subprocess.run(["git", *arguments], input=stdin, check=True, capture_output=True)


@requires("npm packages", "Python servers", "prometheus")
class TestPrometheus:
    """Two servers that query a real Prometheus: twelve range queries of fifteen minutes at two seconds' step."""

    @pytest.mark.parametrize("client", [CLIENTS[0], CLIENTS[-1]], ids="-".join)
    async def test_prometheus_mcp_server(
        self, proxy_settings: dict[str, str], real_prometheus: Prometheus, client: tuple[str, str]
    ) -> None:
        """Its declared outputSchema would admit an envelope, so it is dropped; the pages are the server's own text."""
        environment = {
            "PROMETHEUS_URL": real_prometheus.url,
            "FASTMCP_CHECK_FOR_UPDATES": "off",  # which asks a registry
            "FASTMCP_SHOW_SERVER_BANNER": "false",
        }
        between = {"start": str(real_prometheus.start), "end": str(real_prometheus.end), "step": f"{STEP_S}s"}
        steps = [_LISTED, *(read("execute_range_query", query=query, **between) for query in QUERIES)]
        own = await drive(direct(commands.prometheus(), environment), steps)
        ours = await drive(proxied(commands.prometheus(), proxy_settings | environment), steps, client=client)
        entries = {entry["name"]: entry for entry in ours.answers[0]["tools"]}
        assert "outputSchema" not in entries["execute_range_query"]
        self._same(own, ours)

    async def test_mcp_grafana(self, proxy_settings: dict[str, str], real_prometheus: Prometheus) -> None:
        """The same through Grafana's server, a Go binary."""
        between = {
            "startTime": _iso(real_prometheus.start),
            "endTime": _iso(real_prometheus.end),
            "stepSeconds": STEP_S,
        }
        steps = [
            _LISTED,
            *(
                read("query_prometheus", datasourceUid=SOURCE, expr=query, queryType="range", **between)
                for query in QUERIES
            ),
        ]
        with grafana(real_prometheus.url) as url:
            environment = {"GRAFANA_URL": url, "GRAFANA_USAGE_STATS": "disabled"}
            own = await drive(direct(commands.grafana(), environment), steps)
            ours = await drive(proxied(commands.grafana(), proxy_settings | environment), steps)
        self._same(own, ours)

    @staticmethod
    def _same(own: Told, ours: Told) -> None:
        for theirs, mine in zip(own.answers[1:], ours.answers[1:], strict=True):
            text = text_of(theirs)
            if "envelope" in mine:
                assert mine["sha256"] == sha256(text.encode())
                assert mine["last"]["status"] == "COMPLETE"
            else:
                assert text_of(mine) == text
        assert sum("envelope" in mine for mine in ours.answers[1:]) >= 4


def _iso(instant: int) -> str:
    return datetime.fromtimestamp(instant, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
