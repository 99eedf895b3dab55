"""The global options of one run of the command line. Light: `--help` must not wait for numpy and redis."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Session:
    """The global options, None where one was not given."""

    redis_url: str | None
    keyring_file: Path | None
    tenant: str | None
    prefix: str | None

    def for_tenant(self, name: str) -> Session:
        """The same options for another tenant."""
        return replace(self, tenant=name)

    def command(self, *words: str) -> str:
        """A command line to type next, with this run's global options. A URL with a password in it is left out."""
        secret = self.redis_url is not None and any(mark in self.redis_url for mark in ("@", "password"))
        url = None if secret else self.redis_url
        options = {"redis-url": url, "keyring-file": self.keyring_file, "tenant": self.tenant, "prefix": self.prefix}
        given = [word for name, value in options.items() if value is not None for word in (f"--{name}", str(value))]
        return shlex.join(["spillcache", *given, *words])
