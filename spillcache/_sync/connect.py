# Generated from spillcache/_async/connect.py by scripts/unasync.py: edit that.
"""From a URL to a redis-py client that behaves: binary replies, bounded retries, one deadline for each operation."""

from __future__ import annotations

from typing import Any
from urllib.parse import SplitResult, urlsplit

from redis import Redis, RedisCluster, Sentinel
from redis.backoff import ExponentialWithJitterBackoff, NoBackoff
from redis.cluster import ClusterNode
from redis.connection import parse_url
from redis.exceptions import ConnectionError as Unreachable
from redis.exceptions import RedisClusterException, RedisError
from redis.retry import Retry

from spillcache._sync.gate import socket_timeout
from spillcache._sync.store import Client, translate
from spillcache.errors import ArgumentsInvalid, SpillError

#: Two retries within 0.2 s each; redis-py 8's own ten let a hung server hold a caller for about a minute.
_RETRIES = 2
_LOGIN = ("username", "password")


def connect(url: str, *, deadline_s: float) -> Client:
    """A client for `redis://`, `rediss://`, `unix://`, `redis+cluster://` or `redis+sentinel://` (or `rediss+…`).

    Cluster and Sentinel take several hosts, `redis+sentinel://a:26379,b:26379/service/0`. Options go into the query as
    redis-py knows them; Sentinels that want a login of their own get `sentinel_username` and `sentinel_password`.

    Nothing is connected yet, but to a cluster without asyncio, whose client looks for its nodes when it is made. Raises
    `ArgumentsInvalid`, or `StoreUnavailable` when such a cluster cannot be reached.
    """
    options: dict[str, Any] = {
        "protocol": 2,
        "socket_timeout": socket_timeout(deadline_s),
        "socket_connect_timeout": deadline_s,
        # What timed out is not tried again: the deadline is the caller's, not one for each try.
        "retry": Retry(ExponentialWithJitterBackoff(base=0.02, cap=0.2), _RETRIES, supported_errors=(Unreachable,)),
    }
    scheme, plus, kind = urlsplit(url).scheme.partition("+")
    try:
        if not plus and scheme in ("redis", "rediss", "unix"):
            # Introducing ourselves costs a round trip for each connection. Over TLS 1.3 that trip is needed: it takes
            # in the session tickets that follow the handshake, or redis-py finds data on a new connection and drops it.
            silent: dict[str, Any] = {} if scheme == "rediss" else {"driver_info": None}
            return Redis.from_url(url, **silent, **options)
        if scheme in ("redis", "rediss") and kind == "cluster":
            return _cluster(urlsplit(url), scheme, options)
        if scheme in ("redis", "rediss") and kind == "sentinel":
            return _sentinel(urlsplit(url), scheme, options)
    except (ValueError, TypeError) as error:
        raise ArgumentsInvalid(f"the Redis URL is not valid ({type(error).__name__})") from None
    except (RedisError, RedisClusterException) as error:
        failure: SpillError = translate(error)
    else:
        failure = ArgumentsInvalid(
            "the Redis URL must begin with redis://, rediss://, unix://, redis+cluster:// or redis+sentinel://"
        )
    raise failure


def _cluster(url: SplitResult, scheme: str, options: dict[str, Any]) -> RedisCluster:
    nodes = [ClusterNode(host, port) for host, port in _hosts(url, 6379)]
    return RedisCluster(startup_nodes=nodes, **(options | _credentials(url, scheme)))


def _sentinel(url: SplitResult, scheme: str, options: dict[str, Any]) -> Redis:
    service, _, database = url.path.strip("/").partition("/")
    if not service:
        raise ArgumentsInvalid("a Sentinel URL names its service: redis+sentinel://host:26379/service")
    # A sentinel that hangs must not eat the operation's deadline: there are others to ask.
    patience = {"socket_timeout": 0.3, "socket_connect_timeout": 0.3, "retry": Retry(NoBackoff(), 0)}
    known = _credentials(url, scheme)
    theirs = {name: known.pop(f"sentinel_{name}") for name in _LOGIN if f"sentinel_{name}" in known}
    tls = {name: value for name, value in known.items() if name.startswith("ssl")}
    sentinel = Sentinel(_hosts(url, 26379), sentinel_kwargs=patience | tls | theirs, **(options | known))
    client: Redis = sentinel.master_for(service, redis_class=Redis, db=int(database or 0))
    return client


def _credentials(url: SplitResult, scheme: str) -> dict[str, Any]:
    """User, password, TLS and query options, read by redis-py's own parser."""
    userinfo, at, _ = url.netloc.rpartition("@")
    known = dict(parse_url(f"{scheme}://{userinfo}{at}host/0?{url.query}"))
    if known.pop("connection_class", None) is not None:
        known["ssl"] = True
    return {name: value for name, value in known.items() if name not in ("host", "port", "db")}


def _hosts(url: SplitResult, default_port: int) -> list[tuple[str, int]]:
    pairs = [urlsplit(f"//{host}") for host in url.netloc.rpartition("@")[2].split(",")]
    return [(pair.hostname or "localhost", pair.port or default_port) for pair in pairs]
