"""Which names a server answers to: what keeps a web page from reaching a server on loopback by a name of its own.

A browser sends a page's requests to whatever address the page's name resolves to (DNS rebinding), so where no
credentials are asked for, the name must be one of ours, and so must the origin of the page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from spillcache.errors import Unauthorized

_LOOPBACK: Final = ("127.0.0.1", "127.0.0.1:*", "localhost", "localhost:*", "[::1]", "[::1]:*")


class HostNotAllowed(Unauthorized):
    """The request names a host or origin that is not ours."""

    http_status = 403
    default_next_step = "Tell the operator: SPILLCACHE_ALLOWED_HOSTS lists the names that are served beside loopback."


class Hosts:
    """Loopback, and the names in `allowed`, in which `*` stands for any port or part of a name."""

    def __init__(self, allowed: Sequence[str] = ()) -> None:
        patterns = (re.escape(name.lower()).replace(r"\*", ".*") for name in (*_LOOPBACK, *allowed))
        self._ours = re.compile("|".join(patterns))

    def check(self, host: str, origin: str | None) -> None:
        """Raises `HostNotAllowed`, which does not repeat the name."""
        if not self._is_ours(host):
            raise HostNotAllowed("this server is not served under the name in Host")
        if origin is not None and not self._is_ours(urlsplit(origin).netloc):
            raise HostNotAllowed("pages of this Origin may not call this server")

    def _is_ours(self, name: str) -> bool:
        return self._ours.fullmatch(name.lower()) is not None
