"""The servers that all other tests stand on do what they are asked to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import redis

from tests.conftest import OwnServer
from tests.servers import leaks, requirements, topologies
from tests.servers.process import NO_RETRY, Admin, ServerProcess
from tests.servers.providers import NoServerError, Provided, provide
from tests.servers.requirements import requires, server_binary
from tests.servers.tls import make_certificates, tls
from tests.servers.waiting import until

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_sessions_server_answers_and_says_its_version(server: Provided, redis_url: str) -> None:
    """A test gets an empty database of a server whose version is known."""
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
    assert server.version.split()[0] in {"Redis", "Valkey"}


def test_a_server_takes_the_configuration_it_is_given(own_server: OwnServer) -> None:
    """Directives reach the server."""
    with own_server({"maxmemory": "8mb", "maxmemory-policy": "allkeys-lru"}).client() as client:
        assert client.config_get("maxmemory*")["maxmemory-policy"] == "allkeys-lru"


def test_a_paused_server_answers_nothing_until_it_is_woken(own_server: OwnServer) -> None:
    """Inside `paused` a command times out; afterwards the same server serves."""
    server = own_server()
    with server.paused(), server.client(timeout_s=0.05) as client, pytest.raises(redis.TimeoutError):
        client.ping()
    with server.client() as client:
        assert client.ping()


def test_a_killed_server_is_gone_and_a_restarted_one_is_empty(own_server: OwnServer) -> None:
    """A crash loses what was stored, and the address stays the same."""
    server = own_server()
    with server.client() as client:
        client.set("k", "v", ex=60)
        server.kill()
        with pytest.raises(redis.ConnectionError):
            client.ping()
    assert not server.running
    server.restart()
    with server.client() as client:
        assert client.dbsize() == 0


def test_a_login_that_the_configuration_demands_is_used(own_server: OwnServer) -> None:
    """A server that lets nobody in without a password can still be asked by the tests."""
    password = os.urandom(12).hex()
    server = own_server({"requirepass": password}, admin=Admin(password=password))
    with server.client() as client:
        assert client.ping()
    with redis.Redis(port=server.port, retry=NO_RETRY) as stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()


def test_users_are_limited_as_configured(own_server: OwnServer) -> None:
    """A user directive with several words arrives whole."""
    server = own_server({"user": ["reader on nopass ~sc:* +get"]})
    with redis.Redis(port=server.port, username="reader", password="x", protocol=2) as reader:  # noqa: S106
        assert reader.get("sc:k") is None
        with pytest.raises(redis.exceptions.NoPermissionError):
            reader.get("other")


def test_a_server_that_cannot_start_says_why() -> None:
    """A wrong directive fails at once, with the server's own words."""
    with pytest.raises(AssertionError, match=r"(?i)no-such-directive"):
        ServerProcess.start(server_binary(), {"no-such-directive": "1"})


def test_a_cluster_serves_every_slot(cluster_url: str, cluster: topologies.Cluster) -> None:
    """Keys of all masters can be written through one URL."""
    with redis.RedisCluster.from_url(cluster_url) as client:
        for number in range(50):
            client.set(f"k{number}", b"v", ex=60)
    for node in cluster.masters:
        with node.client() as client:
            assert client.dbsize() > 0


@requires("server binary")
def test_a_pair_replicates() -> None:
    """What the primary has, the replica has, once WAIT says so."""
    with topologies.pair(server_binary()) as pair:
        with pair.primary.client() as client:
            client.set("k", "v", ex=60)
            assert client.wait(1, 5_000) == 1
        with pair.replica.client() as client:
            assert client.get("k") == b"v"


@requires("server binary")
def test_sentinels_promote_the_replica_of_a_killed_primary() -> None:
    """The three agree on a new primary, and it is the replica."""
    with topologies.sentinels(server_binary()) as running:
        assert topologies.primary_ports(running) == {running.pair.primary.port}
        running.pair.primary.kill()
        until(lambda: topologies.primary_ports(running) == {running.pair.replica.port}, "a new primary")


def test_tls_is_verified_against_the_certificate_made_for_it(own_server: OwnServer, tmp_path: Path) -> None:
    """A client that trusts the authority is served; one that does not hangs up."""
    with tls(own_server(), make_certificates(tmp_path)) as server:
        with redis.Redis.from_url(server.url) as client:
            assert client.ping()
            assert client.set("k", b"x" * 1_000_000, ex=60)
            assert client.get("k") == b"x" * 1_000_000
        with (
            redis.Redis(port=server.port, ssl=True, retry=NO_RETRY) as stranger,
            pytest.raises(redis.ConnectionError),
        ):
            stranger.ping()


def test_tls_for_another_name_is_refused(own_server: OwnServer, tmp_path: Path) -> None:
    """A certificate for a name does not do for the address."""
    certificates = make_certificates(tmp_path, names=["localhost"], addresses=[])
    with tls(own_server(), certificates) as server:
        with (
            redis.Redis.from_url(server.url, retry=NO_RETRY) as by_address,
            pytest.raises(redis.ConnectionError),
        ):
            by_address.ping()
        with redis.Redis.from_url(server.url.replace("127.0.0.1", "localhost")) as by_name:
            assert by_name.ping()


def test_keys_without_ttl_are_found_and_others_are_not(own_server: OwnServer) -> None:
    """The check names exactly the keys that would stay for ever."""
    server = own_server()
    with server.client() as client:
        client.set("mortal", "v", ex=60)
        client.set("immortal", "v")
        assert leaks.immortal_keys(server.url) == [b"immortal"]
        client.delete("immortal")


@pytest.mark.parametrize("fixture", ["redis_url", "own_server", "cluster_url"])
def test_a_test_that_leaves_an_immortal_key_fails(fixture: str, tmp_path: Path) -> None:
    """The automatic check fails the test that leaves one, on whichever server, and no other."""
    body = {
        "redis_url": "client = redis.Redis.from_url(redis_url)",
        "own_server": "client = redis.Redis.from_url(own_server().url)",
        "cluster_url": "client = redis.RedisCluster.from_url(cluster_url)",
    }[fixture]
    (tmp_path / "test_inner.py").write_text(
        "import redis\n"
        f"def test_leaves_one({fixture}):\n    {body}\n    client.set('a', 'v')\n    client.close()\n"
        f"def test_leaves_none({fixture}):\n    {body}\n    client.set('b', 'v', ex=60)\n    client.close()\n"
    )
    ran = _run_pytest(tmp_path)
    assert "2 passed, 1 error" in ran.stdout, ran.stdout + ran.stderr
    assert "keys without a TTL are left: [b'a']" in ran.stdout


@pytest.mark.parametrize("workers", [0, 2])
def test_what_a_machine_lacks_is_counted_as_not_run(workers: int, tmp_path: Path) -> None:
    """Tests that need a missing thing are neither passed nor skipped, and the end of the run says so."""
    (tmp_path / "test_inner.py").write_text(
        "import pytest\n"
        "from tests.servers import requirements\n"
        "requirements.PROBES['moon'] = lambda: 'it is day'\n"
        "requirements.PROBES['sun'] = lambda: None\n"
        "@pytest.mark.parametrize('n', range(3))\n"
        "@requirements.requires('moon')\n"
        "def test_by_night(n): raise AssertionError\n"
        "@requirements.requires('sun')\n"
        "def test_by_day(): pass\n"
        "def test_always(): pass\n"
    )
    ran = _run_pytest(tmp_path, "-n", str(workers))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "did not run: 3 tests need moon (it is day)" in ran.stdout
    assert "2 passed" in ran.stdout
    assert "skipped" not in ran.stdout


def test_an_unknown_requirement_is_an_error() -> None:
    """A misspelt requirement cannot quietly keep a test from running."""
    with pytest.raises(KeyError):
        requirements.missing("no such thing")


def test_a_required_provider_that_is_missing_is_a_failure() -> None:
    """`SPILLCACHE_REQUIRE_PROVIDER` makes another provider's coming first an error that says why."""
    environment = {"SPILLCACHE_REQUIRE_PROVIDER": "url", "SPILLCACHE_TEST_REDIS_URL": "redis://127.0.0.1:1"}
    with pytest.raises(NoServerError, match="url was required"):
        provide(0, environment)
    with pytest.raises(NoServerError, match="url: SPILLCACHE_TEST_REDIS_URL is not set"):
        provide(0, {"SPILLCACHE_TEST_PROVIDER": "url"})


def test_a_configured_url_is_used_with_a_database_for_each_worker(own_server: OwnServer) -> None:
    """Workers that share a server do not empty each other's database."""
    environment = {"SPILLCACHE_TEST_REDIS_URL": own_server().url}
    urls = {provide(worker, environment).url for worker in range(3)}
    assert {url.rpartition("/")[2] for url in urls} == {"0", "1", "2"}


@requires("docker")
def test_a_container_serves() -> None:
    """Where an engine answers, testcontainers gives a server."""
    provided = provide(0, {"SPILLCACHE_TEST_PROVIDER": "docker", "SPILLCACHE_REQUIRE_PROVIDER": "docker"})
    try:
        assert leaks.immortal_keys(provided.url) == []
    finally:
        provided.stop()


def _run_pytest(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "tests.conftest", "-c", str(ROOT / "pyproject.toml")),
            *("--rootdir", str(directory), "-p", "no:cacheprovider", *arguments, str(directory)),
        ],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        check=False,
    )
