"""How a serving process ends: nobody who asked in time goes without an answer, and nothing keeps it for ever."""

from __future__ import annotations

import signal
import socket
import threading
from urllib.parse import urlsplit

import httpx
import pytest

from spillcache.sync import SpillCache
from tests.servers.caches import KEYRING, keys, metrics
from tests.servers.proxy import Command, Fate, Proxy, proxy
from tests.servers.waiting import until
from tests.service.conftest import Serve
from tests.service.process import InThread, Service

CALLERS = 4


def _stored(redis_url: str) -> str:
    with SpillCache.from_url(redis_url, keyring=KEYRING) as cache:
        return cache.put(metrics()).spill_id


class Caller:
    """Asks for page 1 again and again over a kept connection, until told that the process is leaving."""

    def __init__(self, service: Service, spill_id: str, leaving: threading.Event) -> None:
        self.statuses: list[int] = []
        self.closing = 0
        self.errors: list[str] = []
        self._address = f"{service.url}/v1/spills/{spill_id}/pages"
        self._leaving = leaving
        self.thread = threading.Thread(target=self._ask, daemon=True)
        self.thread.start()

    def _ask(self) -> None:
        with httpx.Client(timeout=30) as client:
            while not self._leaving.is_set():
                try:
                    answer = client.get(self._address)
                except httpx.HTTPError as error:
                    self.errors.append(type(error).__name__)
                    return
                self.statuses.append(answer.status_code)
                self.closing += answer.headers.get("connection") == "close"


def test_under_load_nobody_goes_without_an_answer(serve: Serve, redis_url: str) -> None:
    """After SIGTERM requests are answered, each with the wish to close, until callers have seen that it is leaving."""
    service = serve(redis_url, DRAIN_S="60")
    leaving = threading.Event()
    callers = [Caller(service, _stored(redis_url), leaving) for _ in range(CALLERS)]
    until(lambda: all(len(caller.statuses) > 20 for caller in callers), "all are being served")
    service.signal()
    until(lambda: all(caller.closing > 5 for caller in callers), "all were asked to close, and came back")
    until(lambda: httpx.get(service.url + "/readyz").status_code == 503, "it says that it is leaving")
    leaving.set()
    for caller in callers:
        caller.thread.join(30)
    assert [caller.errors for caller in callers] == [[]] * CALLERS
    assert {status for caller in callers for status in caller.statuses} == {200}
    service.signal()  # nobody is left to drain for
    assert service.wait() == 0
    assert [event["event"] for name in ("draining", "stopped") for event in service.events(name)] == [
        "draining",
        "stopped",
    ]


def test_a_second_signal_ends_it_at_once(serve: Serve, redis_url: str) -> None:
    """However long the drain would be, and although somebody is still sending."""
    service = serve(redis_url, DRAIN_S="3600", GRACE_S="3600")
    with _half_an_upload(service):
        service.signal()
        until(lambda: bool(service.events("draining")), "it drains")
        service.signal()
        assert service.wait() == 0
    assert keys(redis_url) == []


def test_who_never_finishes_does_not_keep_it(serve: Serve, redis_url: str) -> None:
    """An upload that stalls: when the grace is over it is broken off. Ctrl-C ends it as SIGTERM does."""
    service = serve(redis_url, GRACE_S="1")
    with _half_an_upload(service):
        service.signal(signal.SIGINT)
        assert service.wait() == 0
    assert keys(redis_url) == []
    with pytest.raises(httpx.ConnectError):
        httpx.get(service.url + "/healthz")


def _half_an_upload(service: Service) -> socket.socket:
    """A connection on which half of a payload has been sent, of which the process has seen the beginning."""
    connection = _connected(service)
    connection.sendall(
        b"POST /v1/spills HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"
    )
    assert connection.recv(4_096).startswith(b"HTTP/1.1 100")
    connection.sendall(b"half of it")
    return connection


def _connected(service: Service) -> socket.socket:
    address = urlsplit(service.url)
    return socket.create_connection((address.hostname, address.port), timeout=30)


def _hold_publishing(between: Proxy) -> None:
    """Hold the transaction that makes a spill readable, and all after it, until released."""

    def rule(command: Command) -> Fate:
        return Fate.HOLD if command.name == "HLEN" else Fate.FORWARD

    between.watch(rule)


def test_a_write_in_progress_is_finished(serve: Serve, redis_url: str) -> None:
    """SIGTERM in the middle of it: the upload is answered, and its spill is there for others."""
    with proxy(redis_url) as between:
        service = serve(between.url, WAIT_REPLICAS="0")
        _hold_publishing(between)
        payload = metrics()
        upload = InThread(lambda: httpx.post(service.url + "/v1/spills", content=payload, timeout=30))
        until(lambda: "HLEN" in between.names, "it is about to publish")
        service.signal()
        until(lambda: bool(service.events("draining")), "it drains")
        between.release()
        created = upload.wait()
        assert service.wait() == 0
    assert created.status_code == 201
    with SpillCache.from_url(redis_url, keyring=KEYRING) as cache:
        assert cache.fetch(created.json()["spill_id"]) == payload
    assert len(keys(redis_url)) == 1


def test_a_write_that_cannot_be_finished_leaves_nothing_for_ever(serve: Serve, redis_url: str) -> None:
    """Redis does not answer and the grace is over: a typed error, nothing that could be taken for success, exit 0."""
    with proxy(redis_url) as between:
        service = serve(between.url, GRACE_S="0")
        _hold_publishing(between)
        upload = InThread(lambda: httpx.post(service.url + "/v1/spills", content=metrics(), timeout=30))
        until(lambda: "HLEN" in between.names, "it is about to publish")
        service.signal()
        assert service.wait() == 0
        failed = upload.wait()
        between.release()
    assert (failed.status_code, failed.json()["code"]) == (503, "shutting_down")
    assert "FAILED" in failed.json()["next_step"]
