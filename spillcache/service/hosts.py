"""Which names a server answers to: what keeps a web page from reaching a server on loopback by a name of its own.

A browser sends a page's requests to whatever address the page's name resolves to (DNS rebinding), so where no
credentials are asked for, the name must be one of ours, and so must the origin of the page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from spillcache.errors import HostNotAllowed

_LOOPBACK: Final = ("127.0.0.1", "127.0.0.1:*", "localhost", "localhost:*", "[::1]", "[::1]:*")
_ANY_NAME: Final = r"(?:[^\s,:/?#@\[\]]+|\[[0-9a-f:.]+\])"
_ANY_PORT: Final = "[0-9]{1,5}"

#: A scheme and who serves it (RFC 6454, 6.1), so neither a user nor a path. "null" is nobody.
_ORIGIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^\s/?#@]+)")


class Hosts:
    """Loopback, and the names in `allowed`, in which `*` stands for any port or part of a name; alone, for both.

    With `any_host` only Origin is looked at: where the names by which this server is reached are not known.
    """

    def __init__(self, allowed: Sequence[str] = (), *, any_host: bool = False) -> None:
        self._any_host = any_host
        self._ours = re.compile("|".join(map(_pattern, (*_LOOPBACK, *allowed))))

    def check(self, host: str, origin: str | None) -> None:
        """Raises `HostNotAllowed`, which does not repeat the name."""
        if not self._any_host and not self._is_ours(host):
            raise HostNotAllowed("this server is not served under the name in Host")
        page = _ORIGIN.fullmatch(origin) if origin is not None else None
        if origin is not None and (page is None or not self._is_ours(page[1])):
            raise HostNotAllowed("pages of this Origin may not call this server")

    def _is_ours(self, name: str) -> bool:
        return self._ours.fullmatch(name.lower()) is not None


def _pattern(name: str) -> str:
    if name == "*":
        return rf"{_ANY_NAME}(:{_ANY_PORT})?"
    host, colon, port = name.lower().rpartition(":")
    if colon and port == "*":
        return re.escape(host).replace(r"\*", _ANY_NAME) + f":{_ANY_PORT}"
    return re.escape(name.lower()).replace(r"\*", _ANY_NAME)
