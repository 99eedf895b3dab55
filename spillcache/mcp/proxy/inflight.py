"""Which requests a stdio server has not answered yet, so that none waits for ever on an answer that went astray.

On a pipe nothing but the id tells whose an answer is. One that bears the id of no request that was ever made was meant
for one of those that wait, and nobody knows for which: they all fail.
"""

from __future__ import annotations

from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from spillcache.errors import SpillError
from spillcache.mcp.proxy.failures import error_data, not_mine


class InFlight:
    """The requests under way on one connection. Their ids are numbers that only grow: the dispatcher's."""

    def __init__(self) -> None:
        self._waiting: set[RequestId] = set()
        self._latest = 0

    def sent(self, message: JSONRPCMessage) -> None:
        """A message is about to go to the server."""
        if isinstance(message, JSONRPCRequest):
            self._waiting.add(message.id)
            self._latest = max(self._latest, message.id) if isinstance(message.id, int) else self._latest
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            given_up = cancelled_request_id_from_params(message.params)
            if given_up is not None:
                self._waiting.discard(given_up)

    def received(self, found: SessionMessage) -> list[SessionMessage]:
        """What to hand on for a message of the server: itself, or failures in place of an answer to nobody."""
        message = found.message
        if not isinstance(message, JSONRPCResponse | JSONRPCError):
            return [found]
        request_id = None if message.id is None else coerce_request_id(message.id)
        if request_id in self._waiting:
            self._waiting.discard(request_id)
            return [found]
        if isinstance(request_id, int) and 0 < request_id <= self._latest:  # given up meanwhile, or answered twice
            return []
        if request_id is None and isinstance(message, JSONRPCError):
            return self._unattributed(message.error)
        return self.failed(not_mine())

    def failed(self, error: SpillError) -> list[SessionMessage]:
        """This error for all that wait."""
        return self._all(error_data(error))

    def _unattributed(self, error: ErrorData) -> list[SessionMessage]:
        """An error for a request that the server could not read; other codes without an id answer notifications."""
        if error.code not in (PARSE_ERROR, INVALID_REQUEST):
            return []
        return self._all(error) if len(self._waiting) == 1 else self.failed(not_mine())

    def _all(self, error: ErrorData) -> list[SessionMessage]:
        waiting, self._waiting = self._waiting, set()
        return [SessionMessage(JSONRPCError(jsonrpc="2.0", id=one, error=error)) for one in sorted(waiting, key=str)]
