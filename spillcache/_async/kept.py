"""Connections kept at hand for the one command of a page.

redis-py's `execute_command` takes 20 µs of its own on each command (pool book-keeping, a poll for stale data, retries,
metrics), half of what a page costs beside the server's answer. A page's HMGET is idempotent, so it goes over a kept
connection as it is; whatever goes wrong there, it is sent again the ordinary way, which knows what to do.
"""

from __future__ import annotations

import os
from typing import Any, TypeGuard

from hiredis import pack_command
from redis.asyncio import Redis
from redis.exceptions import ResponseError

_pack: Any = pack_command  # its stub says that a command has one word


class KeptConnections:
    """Connections taken from a client's pool once and reused; as many as there are commands at the same time."""

    def __init__(self, client: Redis) -> None:
        self._pool: Any = client.connection_pool
        self._idle: list[Any] = []
        self._pid = os.getpid()

    async def execute(self, *command: str) -> Any:
        """Send a command once and return its reply. Raises redis-py's errors."""
        if self._pid != os.getpid():  # a forked child must not read its parent's replies
            self._idle, self._pid = [], os.getpid()
        try:
            connection = self._idle.pop()
        except IndexError:  # asked first, another thread could take the last one in between
            connection = await self._pool.get_connection()
        try:
            await connection.send_packed_command([_pack(command)], check_health=False)
            reply = await connection.read_response(disable_decoding=True)
        except ResponseError:  # the server's own answer: nothing else is on its way
            await self._pool.release(connection)
            raise
        except BaseException:
            # A signal's exception may come between sending and reading; that reply must not answer the next command.
            await connection.disconnect()
            await self._pool.release(connection)
            raise
        self._idle.append(connection)
        return reply

    async def aclose(self) -> None:
        """Give the connections back."""
        while self._idle:
            await self._pool.release(self._idle.pop())


def may_keep(client: object, places: int) -> TypeGuard[Redis]:
    """Whether a client's connections may be kept out of its pool.

    Not on a cluster, where the node differs from spill to spill; not where credentials are renewed on idle connections;
    not where the pool is so small that those left in it might not do for everything else.
    """
    if not isinstance(client, Redis):
        return False
    options = client.get_connection_kwargs()
    return options.get("credential_provider") is None and client.connection_pool.max_connections >= 2 * places
