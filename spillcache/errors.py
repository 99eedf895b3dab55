"""Everything that can go wrong, as one tree and one table.

```
SpillError                      every error of this package
├── SpillIdMalformed            spill_id_malformed         what was given is not a spill id (a typo, a shortened id)
├── SpillGone                   there is nothing to read any more
│   ├── SpillNotFound           spill_not_found            no such spill for this tenant
│   ├── SpillExpired            spill_expired              its lease ran out
│   ├── SpillLost               spill_lost                 evicted, deleted or failed over before its time
│   └── SpillCorrupt            spill_corrupt              bytes came back that fail their digest
├── CursorError                 the cursor cannot be honoured
│   ├── CursorMalformed         cursor_malformed           not a cursor of ours at all
│   ├── CursorRejected          cursor_rejected            altered, or made for another spill or tenant
│   ├── CursorKeyUnknown        cursor_key_unknown         signed with a key this replica does not hold
│   └── CursorVersionUnsupported cursor_version_unsupported made by a newer release
├── ManifestVersionUnsupported  manifest_version_unsupported the spill was written by a newer release
├── ReceiptRejected             receipt_rejected           not a receipt of ours
├── RequestError                what was asked for cannot be had
│   ├── ResultNotFound          result_not_found           no result of that name (carries the nearest names)
│   ├── ResultAmbiguous         result_ambiguous           several results of that name (carries their indices)
│   ├── ArgumentsInvalid        arguments_invalid          arguments that contradict each other or make no sense
│   ├── BudgetTooSmall          budget_too_small           carries the smallest budget that works
│   └── PatternInvalid          pattern_invalid            a search pattern that cannot be run
├── PayloadTooLarge             payload_too_large          over the largest payload this deployment stores
├── QuotaExceeded               quota_exceeded             the tenant's share is used up
├── Unauthorized                unauthorized               no valid credentials
├── IssuerUnavailable           issuer_unavailable         whose credentials they are cannot be found out just now
├── HostNotAllowed              host_not_allowed           a host or origin that this server does not answer to
├── StoreError                  Redis cannot serve us
│   ├── StoreUnavailable        store_unavailable          down, unreachable, failing over, read-only or too slow
│   │   └── SlotMoved                                      the cluster moved the spill's slot during a write
│   ├── StoreBusy               store_busy                 all places are taken; come back
│   ├── StoreFull               store_full                 out of memory and not allowed to evict
│   └── ServerUnsupported       server_unsupported         too old, or a client that cannot carry bytes
├── UpstreamUnavailable         upstream_unavailable       the server behind the proxy cannot be reached
├── UpstreamInvalid             upstream_invalid           it answered with what is no result of a tool
├── ShuttingDown                shutting_down              the process ends before the answer is ready
└── KeyringInvalid              keyring_invalid            no usable signing key: the process must not start
```

Messages never hold payload bytes, keys, cursors or full spill ids: they end up in logs and in models.
`next_step` is addressed to the agent that made the call, because on MCP that is who reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

_RERUN = "Run the original tool again; this is not empty data."
_RESTART = (
    "Start over: call with only spill_id, then pass each next_cursor back exactly as it came. "
    "Until then report the retrieval as FAILED, not as empty data."
)
_RETRY = "Call again with the same arguments in a few seconds. This is a FAILED retrieval, not empty data."
_OPERATOR = "Tell the operator; a retry will not help. This is a FAILED retrieval, not empty data."


class SpillError(Exception):
    """Root of all errors raised by spillcache.

    `code` is stable and machine readable, `http_status` is what the HTTP face answers, `retryable` says whether the
    same call may succeed later, `next_step` tells the agent what to do now.
    """

    code: ClassVar[str] = "spill_error"
    http_status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False
    default_next_step: ClassVar[str] = _OPERATOR

    def __init__(self, message: str, *, next_step: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step if next_step is not None else self.default_next_step

    def as_dict(self) -> dict[str, Any]:
        """The answer every face gives: `status`, `code`, `message`, `next_step`, in that order."""
        return {"status": "FAILED", "code": self.code, "message": self.message, "next_step": self.next_step}


class SpillIdMalformed(SpillError):
    """What was given is not a spill id: mistyped or shortened. Says nothing about any spill."""

    code = "spill_id_malformed"
    http_status = 400
    default_next_step = (
        "Copy spill_id again, exactly as the truncated result gave it (26 characters). "
        "The spill itself may be fine; this is not empty data."
    )


class SpillGone(SpillError):
    """There is nothing (whole) to read under this id any more."""

    http_status = 410
    default_next_step = _RERUN


class SpillNotFound(SpillGone):
    """No spill with this id for this tenant: expired, deleted, or somebody else's. The three are told alike."""

    code = "spill_not_found"
    http_status = 404


class SpillExpired(SpillGone):
    """The lease ran out: nobody read on for longer than the TTL."""

    code = "spill_expired"


class SpillLost(SpillGone):
    """Gone before its time: evicted, deleted by somebody, or lost in a failover."""

    code = "spill_lost"


class SpillCorrupt(SpillGone):
    """A stored field came back with bytes that fail their digest or length. Nothing of it is served."""

    code = "spill_corrupt"
    http_status = 502


class CursorError(SpillError):
    """The cursor cannot be honoured; nothing in it was believed."""

    http_status = 400
    default_next_step = _RESTART


class CursorMalformed(CursorError):
    """Not a cursor of ours: a placeholder, a shortened or re-encoded one."""

    code = "cursor_malformed"


class CursorRejected(CursorError):
    """The signature does not fit: altered, or made for another spill or tenant."""

    code = "cursor_rejected"


class CursorKeyUnknown(CursorError):
    """Signed with a key that is not in this process's key ring."""

    code = "cursor_key_unknown"


class CursorVersionUnsupported(CursorError):
    """Made by a release whose cursor format this one does not read."""

    code = "cursor_version_unsupported"


class ManifestVersionUnsupported(SpillError):
    """Written by a release whose manifest or frame format this one does not read."""

    code = "manifest_version_unsupported"
    http_status = 501
    retryable = True
    default_next_step = (
        "Call again: during a rollout another replica may read it. If it fails again, run the original tool again. "
        "This is not empty data."
    )


class ReceiptRejected(SpillError):
    """Not a receipt that this key ring vouches for."""

    code = "receipt_rejected"
    http_status = 400
    default_next_step = "Treat the retrieval it claims as unproven."


class RequestError(SpillError):
    """What was asked for cannot be had; the spill itself is fine."""

    http_status = 400


class ResultNotFound(RequestError):
    """No result of that name or index. `nearest` holds up to five similar names.

    They are the payload's words: in the answer they have a field of their own, and are not in the exception's text.
    """

    code = "result_not_found"
    http_status = 404
    default_next_step = (
        "Call with inventory: true for all results, or with only spill_id to read everything. "
        "A result that was not found is not an empty result."
    )

    def __init__(self, message: str, *, nearest: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.nearest = tuple(nearest)

    def as_dict(self) -> dict[str, Any]:
        """The answer, with `nearest` before the next step where there are such names."""
        answer = super().as_dict()
        if self.nearest:
            next_step = answer.pop("next_step")
            answer |= {"nearest": list(self.nearest), "next_step": next_step}
        return answer


class ResultAmbiguous(RequestError):
    """Several results bear that name. `indices` holds their numbers, counted from 1."""

    code = "result_ambiguous"
    http_status = 409

    def __init__(self, message: str, *, indices: Sequence[int], next_step: str) -> None:
        super().__init__(message, next_step=next_step)
        self.indices = tuple(indices)


class ArgumentsInvalid(RequestError):
    """Arguments that contradict each other or are out of range."""

    code = "arguments_invalid"
    default_next_step = "Correct the arguments as the message says and call again."


class BudgetTooSmall(RequestError):
    """`minimum` is the smallest budget, in bytes, that works for this call."""

    code = "budget_too_small"

    def __init__(self, message: str, *, minimum: int) -> None:
        super().__init__(message, next_step=f"Call again with a budget (max_bytes) of at least {minimum}.")
        self.minimum = minimum


class PatternInvalid(RequestError):
    """A search pattern that is not valid or not supported; nothing was searched."""

    code = "pattern_invalid"
    default_next_step = "Correct the pattern and call again. Nothing was searched, so this is not 'no match'."


class PayloadTooLarge(SpillError):
    """Larger than this deployment stores. Nothing was stored."""

    code = "payload_too_large"
    http_status = 413
    default_next_step = "Narrow the query (fewer series, shorter range, larger step) and run the tool again."


class QuotaExceeded(SpillError):
    """The tenant's share of the store is used up. Nothing was stored."""

    code = "quota_exceeded"
    http_status = 429
    retryable = True
    default_next_step = "Narrow the query, or run the tool again later."


class Unauthorized(SpillError):
    """No valid credentials came with the call."""

    code = "unauthorized"
    http_status = 401


class IssuerUnavailable(SpillError):
    """Who issues the credentials does not answer, so it is not known whether they are good."""

    code = "issuer_unavailable"
    http_status = 503
    retryable = True
    default_next_step = "Call again in a few seconds. This is a FAILED call, not empty data."


class HostNotAllowed(SpillError):
    """The request names a host or origin that is not ours: it may be a strange page's."""

    code = "host_not_allowed"
    http_status = 403
    default_next_step = (
        "Tell the operator: SPILLCACHE_ALLOWED_HOSTS lists the names that are served beside loopback. "
        "This is a FAILED call, not empty data."
    )


class StoreError(SpillError):
    """Redis cannot serve us right now, or at all."""

    http_status = 503
    retryable = True
    default_next_step = _RETRY


class StoreUnavailable(StoreError):
    """Down, unreachable, failing over, read-only, refusing our credentials, or slower than the deadline."""

    code = "store_unavailable"


class SlotMoved(StoreUnavailable):
    """The cluster moved the spill's slot in the middle of a write; a fresh attempt may succeed."""


class StoreBusy(StoreError):
    """No place became free within the deadline."""

    code = "store_busy"
    http_status = 429


class StoreFull(StoreError):
    """Redis is out of memory and may not evict. Nothing was stored."""

    code = "store_full"
    http_status = 507
    default_next_step = "Narrow the query so that the result fits, or run the tool again later."


class ServerUnsupported(StoreError):
    """The server is too old, lacks a command or a permission, or the client cannot carry bytes."""

    code = "server_unsupported"
    http_status = 501
    retryable = False
    default_next_step = _OPERATOR


class UpstreamUnavailable(SpillError):
    """The MCP server behind the proxy is down, starting, or was lost in the middle of the call."""

    code = "upstream_unavailable"
    http_status = 502
    retryable = True
    default_next_step = (
        "Call again in a few seconds: the server of this tool is being reconnected. "
        "This is a FAILED call, not an empty result."
    )


class UpstreamInvalid(SpillError):
    """The MCP server behind the proxy answered with something that is not made as the protocol says."""

    code = "upstream_invalid"
    http_status = 502
    default_next_step = (
        "Tell the operator: the server of this tool breaks the protocol, and a retry will most likely not help. "
        "This is a FAILED call, not an empty result."
    )


class ShuttingDown(SpillError):
    """The process ends before the answer is ready. Another replica may serve the same call."""

    code = "shutting_down"
    http_status = 503
    retryable = True
    default_next_step = _RETRY


class KeyringInvalid(SpillError):
    """No usable signing key. A process must refuse to start rather than make a key that other replicas lack."""

    code = "keyring_invalid"
    default_next_step = (
        "Point SPILLCACHE_KEYRING_FILE at the ring file that the other processes use; "
        "only if there is none yet: `spillcache keys new -o keyring.json`."
    )


def _with_code(root: type[SpillError]) -> list[type[SpillError]]:
    own = [root] if "code" in vars(root) and root is not SpillError else []
    return [*own, *(found for child in root.__subclasses__() for found in _with_code(child))]


#: Every code and its class: the one table from which each face takes status, retryability and next step.
CODES: dict[str, type[SpillError]] = {found.code: found for found in _with_code(SpillError)}
