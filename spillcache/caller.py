"""The caller: who makes a request of a server of ours, as its edge has found out.

Authentication and request ids belong to the edge that carries requests in; faces only read what it found. It travels in
the ASGI scope, and a face without such an edge (stdio) makes its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from spillcache import defaults

SCOPE_KEY: Final = "spillcache.caller"


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose request it is, and its id. `client` is what the platform says of the agent's host, "" when it says nothing.

    `subject` tells apart the holders of different credentials of one tenant; it is a digest, never the credential.
    """

    tenant: str = defaults.TENANT
    request_id: str = ""
    client: str = ""
    subject: str = ""


def caller_of(scope: Mapping[str, Any]) -> Caller:
    """The caller of an ASGI request. Raises `KeyError` for one that came past the edge, which is a bug."""
    found: Caller = scope[SCOPE_KEY]
    return found
