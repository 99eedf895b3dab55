"""The manifests keep the promises of the deployment guide, and speak of settings that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from spillcache import defaults
from spillcache.errors import CODES
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


def _named(kind: str, name: str) -> Any:
    """The one object of that kind and name."""
    (found,) = (found for _, found in _objects(kind) if found["metadata"]["name"] == name)
    return found


def _templates(kind: str = "Deployment") -> list[Any]:
    return [found["spec"]["template"] for _, found in _objects(kind)]


def _chosen(selector: dict[str, str], labels: dict[str, str]) -> bool:
    return selector.items() <= labels.items()


def test_every_file_is_applied_or_waits_in_the_kustomization() -> None:
    """What not everybody has a use for stands there behind a #, and says so in its first lines."""
    kustomization = DEPLOY / "kubernetes" / "kustomization.yaml"
    listed = set(yaml.safe_load(kustomization.read_text(encoding="utf-8"))["resources"])
    for file in FILES:
        if file.name not in listed | {"kustomization.yaml"}:
            assert f"  # - {file.name} #" in kustomization.read_text(encoding="utf-8")
            assert "kustomization.yaml" in file.read_text(encoding="utf-8").partition("apiVersion")[0]


def test_one_line_sets_our_image_everywhere() -> None:
    """Manifests call it by the name that the kustomization replaces."""
    kustomization = yaml.safe_load((DEPLOY / "kubernetes" / "kustomization.yaml").read_text(encoding="utf-8"))
    (image,) = kustomization["images"]
    ours = [one["image"] for _, pod in _pods() for one in pod["containers"] if one["name"] == "spillcache"]
    assert ours == [image["name"]] * 2


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


def test_a_server_on_loopback_is_probed_from_inside() -> None:
    """The kubelet does not reach it there; and what is not ready still gets its calls, which are answered FAILED."""
    (pod,) = (pod for name, pod in _pods() if name == "proxy-sidecar.yaml")
    (server,) = pod["initContainers"]
    assert "127.0.0.1" in " ".join(pod["containers"][0]["args"])
    assert all("exec" in server[f"{kind}Probe"] for kind in ("startup", "liveness"))
    assert "readinessProbe" not in server


def test_every_container_says_what_it_takes() -> None:
    """Without requests a node is filled beyond what it has; without a limit of memory one pod takes its neighbours'."""
    for _, pod in _pods():
        for container in [*pod["containers"], *pod.get("initContainers", [])]:
            assert set(container["resources"]["requests"]) == {"cpu", "memory"}
            assert "memory" in container["resources"]["limits"]


def test_agents_find_every_face_and_a_drain_leaves_one() -> None:
    """A Service by the name of each deployment, on port 80, and a budget for its pods."""
    for _, found in _objects("Deployment"):
        name, labels = found["metadata"]["name"], found["spec"]["template"]["metadata"]["labels"]
        service, budget = _named("Service", name)["spec"], _named("PodDisruptionBudget", name)["spec"]
        assert _chosen(service["selector"], labels)
        assert service["ports"] == [{"name": "http", "port": 80, "targetPort": "http"}]
        assert _chosen(budget["selector"]["matchLabels"], labels)
        assert 1 <= budget["minAvailable"] < found["spec"]["replicas"]


def test_metrics_of_every_face_are_for_the_scraper_alone() -> None:
    """Replicas and proxies: what one policy shuts, what the monitor scrapes; calls come from anywhere."""
    policy = _named("NetworkPolicy", "faces")["spec"]
    calls, scrapes = policy["ingress"]
    assert calls == {"ports": [{"port": "http"}]}
    assert (list(scrapes), scrapes["ports"]) == (["from", "ports"], [{"port": "metrics"}])
    scraped = _named("PodMonitor", "spillcache")["spec"]["selector"]["matchLabels"]
    for template in _templates():
        labels = template["metadata"]["labels"]
        assert _chosen(policy["podSelector"]["matchLabels"], labels)
        assert _chosen(scraped, labels)
        assert {"http", "metrics"} == {port["name"] for port in template["spec"]["containers"][0]["ports"]}


def test_who_stores_spills_may_reach_the_store() -> None:
    """Replicas and proxies bear the label that the policy lets in."""
    policy = _named("NetworkPolicy", "valkey")
    let_in = policy["spec"]["ingress"][0]["from"][0]["podSelector"]["matchLabels"]
    assert all(_chosen(let_in, template["metadata"]["labels"]) for template in _templates())


def test_no_probe_asks_redis_and_no_service_is_sticky() -> None:
    """Liveness is the process's own; any replica serves any page."""
    for template in _templates():
        for container in template["spec"]["containers"]:
            assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
            assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert all(found["spec"].get("sessionAffinity", "None") == "None" for _, found in _objects("Service"))


def test_the_store_never_evicts() -> None:
    """It refuses instead, which every face can say."""
    ((store,),) = (template["spec"]["containers"] for template in _templates("StatefulSet"))
    assert store["args"][store["args"].index("--maxmemory-policy") + 1] == "noeviction"


def test_the_store_is_restarted_late() -> None:
    """That loses every spill: it must have been silent for a minute, on its own protocol."""
    ((store,),) = (template["spec"]["containers"] for template in _templates("StatefulSet"))
    probe = store["livenessProbe"]
    assert probe["exec"]["command"] == ["valkey-cli", "ping"]
    assert probe["periodSeconds"] * probe["failureThreshold"] >= 60


def test_an_alert_watches_every_code_of_the_store() -> None:
    """The query is the one that operations.md gives; what it matches are the codes that faces count."""
    (rule,) = _objects("PrometheusRule")
    alerts = {one["alert"]: one["expr"] for one in rule[1]["spec"]["groups"][0]["rules"]}
    assert alerts["SpillcacheStoreFails"] in (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    (pattern,) = re.findall(r'code=~"([^"]+)"', alerts["SpillcacheStoreFails"])
    assert {code for code in CODES if re.fullmatch(pattern, code)} == {"store_unavailable", "store_busy", "store_full"}
