"""`spillcache demo`, as whoever types it sees it."""

from __future__ import annotations

from tests.cli.commands import Program
from tests.servers.requirements import requires

pytestmark = requires("server binary")


def test_the_demo_tells_in_prose(unconfigured: Program) -> None:
    """The log of the proxy that it starts does not stand among its sentences."""
    ran = unconfigured("demo")
    assert ran.code == 0
    said = ran.err.splitlines()
    assert said
    assert all(line.startswith("• ") for line in said)
