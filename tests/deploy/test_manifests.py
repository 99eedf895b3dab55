"""The manifests keep the promises of the deployment guide, and speak of settings that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from spillcache import defaults
from spillcache.wiring.settings import PREFIX, Settings

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
FILES = sorted((DEPLOY / "kubernetes").glob("*.yaml"))


def _objects(kind: str) -> Iterator[tuple[str, Any]]:
    for file in FILES:
        for found in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            if found["kind"] == kind:
                yield file.name, found


def _pods() -> list[tuple[str, Any]]:
    kinds = ("Deployment", "StatefulSet")
    return [(name, found["spec"]["template"]["spec"]) for kind in kinds for name, found in _objects(kind)]


def test_every_file_is_applied_or_says_how() -> None:
    """What the kustomization leaves out, its own first lines or the guide tell how to apply."""
    listed = set(
        yaml.safe_load((DEPLOY / "kubernetes" / "kustomization.yaml").read_text(encoding="utf-8"))["resources"]
    )
    for file in FILES:
        if file.name not in listed | {"kustomization.yaml"}:
            assert "kubectl apply" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "pod"), _pods(), ids=lambda value: value if isinstance(value, str) else "")
def test_pods_run_locked_down(name: str, pod: Any) -> None:
    """A numeric user that is not root, a read-only root file system, no capability, no service account."""
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    for container in [*pod["containers"], *pod.get("initContainers", [])]:
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"] is True
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize("name", ["serve.yaml", "proxy-sidecar.yaml"])
def test_a_service_sets_nothing_of_ours(name: str) -> None:
    """Kubernetes would give pods SPILLCACHE_PORT for the Service of that name, and it is no port's number."""
    pods = [pod for file, pod in _pods() if file == name]
    assert [pod["enableServiceLinks"] for pod in pods] == [False]


def test_every_variable_is_a_setting() -> None:
    """A misspelt one would be ignored, and its default used."""
    texts = [file.read_text(encoding="utf-8") for file in FILES] + [(DEPLOY / "Dockerfile").read_text(encoding="utf-8")]
    named = {match for text in texts for match in re.findall(rf"{PREFIX}(\w+)", text)}
    assert named
    assert {name.lower() for name in named} <= set(Settings.model_fields)


def test_a_pod_outlives_its_drain() -> None:
    """The grace period is longer than the drain and the requests after it."""
    for _, pod in _pods():
        for container in pod["containers"]:
            values = {one["name"]: one.get("value") for one in container.get("env", [])}
            if f"{PREFIX}KEYRING_FILE" in values:
                drain = float(values.get(f"{PREFIX}DRAIN_S") or defaults.DRAIN_S)
                assert pod["terminationGracePeriodSeconds"] > drain + defaults.GRACE_S


def test_what_the_proxy_passes_calls_to_ends_after_it() -> None:
    """A native sidecar is ended when all others are: draining needs it."""
    (pod,) = (pod for name, pod in _pods() if name == "proxy-sidecar.yaml")
    assert [one["restartPolicy"] for one in pod["initContainers"]] == ["Always"]
    assert [one["name"] for one in pod["containers"]] == ["spillcache"]


def test_who_stores_spills_may_reach_the_store() -> None:
    """Replicas and proxies bear the label that the policy lets in."""
    (policy,) = (found for _, found in _objects("NetworkPolicy") if found["metadata"]["name"] == "valkey")
    let_in = policy["spec"]["ingress"][0]["from"][0]["podSelector"]["matchLabels"].items()
    for _, found in _objects("Deployment"):
        assert let_in <= found["spec"]["template"]["metadata"]["labels"].items()


def test_no_probe_asks_redis_and_no_service_is_sticky() -> None:
    """Liveness is the process's own; any replica serves any page."""
    for _, pod in _pods():
        for container in pod["containers"]:
            if "livenessProbe" in container:
                assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert all(found["spec"].get("sessionAffinity", "None") == "None" for _, found in _objects("Service"))


def test_the_store_never_evicts() -> None:
    """It refuses instead, which every face can say."""
    (store,) = _objects("StatefulSet")
    arguments = store[1]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert arguments[arguments.index("--maxmemory-policy") + 1] == "noeviction"
