"""The conformance suite of the protocol's makers, for both eras of the protocol."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.foreign.conformance import SUITES, conformance, expected_failures
from tests.foreign.serving import Served, serving
from tests.foreign.upstreams.commands import diagnostic
from tests.servers.requirements import requires

pytestmark = [requires("npm packages"), pytest.mark.usefixtures("redis_url")]

every_suite = pytest.mark.parametrize("era", SUITES)


@every_suite
async def test_serve_conforms(served: Served, home: Path, era: str) -> None:
    """Every check passes that does not ask for what `serve` does not announce."""
    found = await conformance(era, served.mcp, home)
    assert found.passed
    assert found.failed == expected_failures("serve", era)


@every_suite
async def test_the_proxy_conforms(proxy_settings: dict[str, str], home: Path, era: str) -> None:
    """In front of a server that has all that the suite calls by name, both what is passed on and our own HTTP front."""
    with serving(["proxy", "--http", "--", *diagnostic()], proxy_settings, home) as proxy:
        found = await conformance(era, proxy.mcp, home)
    assert found.passed
    assert found.failed == expected_failures("proxy", era)
