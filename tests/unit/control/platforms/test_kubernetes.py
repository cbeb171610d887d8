import json
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import msgspec
import pytest
import yaml

from hive_mind.bus.address import SCHEMES, BusScheme
from hive_mind.control.platforms import kubernetes
from hive_mind.errors import ManifestError
from hive_mind.runtime.workers.config import SourceConfig, WorkerConfig
from tests.unit.control.cloud import FOLDER, IMAGE, configs_of, fleet, source_of

Object = dict[str, Any]

EXAMPLES = sorted((Path(__file__).parents[4] / "manifests").glob("*.yaml"))
# The oldest that keeps claims as we ask for it, and the newest whose schemas are published.
VERSIONS = ("1.27", kubernetes_validate.latest_version())


def rendered(manifest: Mapping[str, Any], learned: Mapping[str, tuple[SourceConfig, ...]] | None = None) -> dict[str, str]:
    source = source_of(manifest)
    return kubernetes.render(source, configs_of(source, learned))


@cache
def rendered_example(name: str) -> dict[str, str]:
    """One of `MANIFESTS`, which nobody changes."""
    return rendered(MANIFESTS[name])


def objects(files: Mapping[str, str], kind: str = "") -> list[Object]:
    texts = [text for name, text in sorted(files.items()) if name != "kustomization.yaml"]
    return [one for text in texts for one in parsed(text) if not kind or one["kind"] == kind]


@cache
def parsed(text: str) -> tuple[Object, ...]:
    return tuple(yaml.load_all(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


def pods(files: Mapping[str, str]) -> list[Object]:
    return [one["spec"]["template"] for one in objects(files, "StatefulSet")]


def config_in(one: Object) -> WorkerConfig:
    return msgspec.json.decode(one["data"]["worker.json"], type=WorkerConfig)


SECRETIVE = fleet(
    agents=[
        {
            "name": "ada",
            "prompt": "${file:prompts/ada.md}",
            "sources": ["notes/*.md"],
            "env": {"API": "${env:ADA_API}", "LANG": "C"},
        },
        {"name": "ben", "resources": {"cpu": 0.5, "memoryMb": 512}},
    ],
    llm={"model": "openai:gpt-5-mini", "key": "${env:OPENAI_KEY}"},
    embedding={"kind": "openai", "key": "${file:/run/secrets/embed}"},
)
MANIFESTS = {
    "sharded": fleet(),
    "several agents a process": fleet(platform={"kind": "kubernetes", "image": IMAGE, "agentsPerProcess": 2}),
    "ephemeral": fleet(platform={"kind": "kubernetes", "image": IMAGE, "storage": "ephemeral", "namespace": "hives"}),
    "scaled": fleet(platform={"kind": "kubernetes", "image": IMAGE, "autoscaling": True}),
    "federated": fleet(topology="federated", agents=[{"name": "a", "group": "n"}, {"name": "b", "group": "s"}]),
    "single": fleet(topology="single", bus="", agents=[{"name": "lone-{n}", "count": 2}]),
    "one process": fleet(platform={"kind": "kubernetes", "image": IMAGE, "agentsPerProcess": 9}),
    "references": SECRETIVE,
    "service bus": fleet(bus="servicebus://works.servicebus.windows.net/hive-events"),
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_runs_on_kubernetes_once_it_names_an_image_and_a_bus(example):
    manifest = yaml.safe_load(example.read_text("utf-8"))
    manifest["spec"]["platform"] = {**manifest["spec"].get("platform", {}), "kind": "kubernetes", "image": IMAGE}
    if manifest["spec"]["topology"] != "single":
        manifest["spec"]["bus"] = "rediss://redis.example.com:6380"

    for one in objects(rendered(manifest)):
        kubernetes_validate.validate(one, VERSIONS[-1], strict=True)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", MANIFESTS)
def test_every_object_is_valid_by_the_published_schemas(name, version):
    for one in objects(rendered_example(name)):
        if one["kind"] not in {"Kustomization", "ScaledObject"}:
            kubernetes_validate.validate(one, version, strict=True)


def test_the_schemas_would_tell_a_wrong_key():
    wrong = deepcopy(objects(rendered(fleet()), "StatefulSet")[0])
    wrong["spec"]["template"]["spec"]["containers"][0]["imagePullPolice"] = "Always"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[-1], strict=True)


def test_each_process_is_one_pod_with_a_disk_of_its_own_that_outlives_it():
    sets = objects(rendered(fleet()), "StatefulSet")

    assert [one["metadata"]["name"] for one in sets] == ["works-agent-1", "works-agent-2", "works-agent-3"]
    for one in sets:
        assert one["spec"]["replicas"] == 1
        assert one["spec"]["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}
        assert one["spec"]["volumeClaimTemplates"][0]["spec"]["accessModes"] == ["ReadWriteOnce"]
    assert len({json.dumps(one["spec"]["selector"]) for one in sets}) == 3


def test_a_worker_is_told_where_its_folders_are_in_the_container():
    for one in objects(rendered(fleet()), "ConfigMap"):
        config = config_in(one)
        assert (config.home, config.run, config.seen.port) == ("/var/lib/hive-mind", "/run/hive-mind", 8080)
    for pod in pods(rendered(fleet())):
        container = pod["spec"]["containers"][0]
        mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
        assert {"/var/lib/hive-mind", "/run/hive-mind", "/etc/hive-mind", "/tmp"} <= mounted  # noqa: S108 - a path in the pod
        assert container["args"] == ["agent", "--config", "/etc/hive-mind/worker.json"]
        assert {"name": "HIVE_MIND_HTTP_HOST", "value": "0.0.0.0"} in container["env"]  # noqa: S104 - of the pod


def test_secrets_are_references_and_their_values_are_in_no_file(monkeypatch):
    for name in ("REDIS_PASSWORD", "OPENAI_KEY", "ADA_API"):
        monkeypatch.setenv(name, f"hunter2-{name}")
    files = rendered(SECRETIVE)

    assert "hunter2" not in "".join(files.values())
    assert objects(files, "Secret") == []
    ada, ben = (
        {v["name"]: v["valueFrom"]["secretKeyRef"] for v in pod["spec"]["containers"][0]["env"] if "valueFrom" in v}
        for pod in pods(files)
    )
    assert ada["API"] == {"name": "works-secrets", "key": "ADA_API"}
    assert ada["HIVE_MIND_WORKER_TOKEN"] == {"name": "works-secrets", "key": "WORKER_TOKEN"}
    assert {"OPENAI_KEY", "REDIS_PASSWORD"} <= set(ada)
    assert {"ADA_API", "API"} & set(ben) == set(), "a process sees the secrets of its own agents only"


def test_files_that_are_referred_to_are_mounted_from_a_secret_and_not_read(monkeypatch):
    monkeypatch.setattr(Path, "open", None)
    files = rendered(SECRETIVE)
    ada = next(pod["spec"] for pod in pods(files) if "works-ada" in json.dumps(pod))
    config = next(config_in(one) for one in objects(files, "ConfigMap") if one["metadata"]["name"] == "works-ada")
    mounted = next(volume["secret"] for volume in ada["volumes"] if volume["name"] == "files")

    names = [item["path"] for item in mounted["items"]]
    assert mounted["secretName"] == "works-files"
    prompt = config.agents[0].prompt.removeprefix("${file:/etc/hive-mind-files/").removesuffix("}")
    assert prompt in names
    assert prompt.endswith("-ada.md")
    assert f"--from-file={prompt}=prompts/ada.md" in files["kustomization.yaml"]
    assert "=/run/secrets/embed" in files["kustomization.yaml"]


def test_sources_are_looked_for_in_the_image_where_the_manifest_has_them_and_others_are_refused():
    files = rendered(SECRETIVE, {"ada": (SourceConfig(str(FOLDER / "notes/pump.md"), "0" * 64),)})
    config = next(config_in(one) for one in objects(files, "ConfigMap") if one["metadata"]["name"] == "works-ada")
    assert config.agents[0].sources == (SourceConfig("/sources/notes/pump.md", "0" * 64),)
    assert "/sources" in files["kustomization.yaml"]
    with pytest.raises(ManifestError, match="not below the folder"):
        rendered(SECRETIVE, {"ada": (SourceConfig("/etc/passwd", "0" * 64),)})


@pytest.mark.parametrize("name", MANIFESTS)
def test_no_pod_may_do_more_than_it_must(name):
    files = rendered_example(name)
    accounts = objects(files, "ServiceAccount")
    assert [one["automountServiceAccountToken"] for one in accounts] == [False]
    for pod in pods(files):
        spec, container = pod["spec"], pod["spec"]["containers"][0]
        assert spec["serviceAccountName"] == accounts[0]["metadata"]["name"]
        assert spec["automountServiceAccountToken"] is False
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] > 0
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "privileged": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"cpu", "memory"} <= set(container["resources"]["requests"])
        assert "memory" in container["resources"]["limits"]


@pytest.mark.parametrize("name", MANIFESTS)
def test_selectors_find_the_pods_they_mean_and_every_mount_its_volume(name):
    files = rendered_example(name)
    # Which is the same each time.
    assert rendered(MANIFESTS[name]) == files
    service, policy, budget = (objects(files, kind)[0]["spec"] for kind in ("Service", "NetworkPolicy", "PodDisruptionBudget"))
    for one in objects(files, "StatefulSet"):
        labels = one["spec"]["template"]["metadata"]["labels"].items()
        selectors = [service["selector"], policy["podSelector"]["matchLabels"], budget["selector"]["matchLabels"]]
        assert all(set(selector.items()) <= set(labels) for selector in (*selectors, one["spec"]["selector"]["matchLabels"]))
        assert one["spec"]["serviceName"] == objects(files, "Service")[0]["metadata"]["name"]
        pod = one["spec"]["template"]["spec"]
        claims = [claim["metadata"]["name"] for claim in one["spec"].get("volumeClaimTemplates", ())]
        volumes = [volume["name"] for volume in pod["volumes"]] + claims
        assert sorted(volumes) == sorted(mount["name"] for mount in pod["containers"][0]["volumeMounts"])
        assert {"app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by"} <= set(
            one["metadata"]["labels"]
        )


def test_probes_ask_whether_it_lives_and_whether_it_is_ready_and_it_has_longer_to_stop_than_to_finish():
    (pod, *_) = pods(rendered(fleet(platform={"kind": "kubernetes", "image": IMAGE, "stopTimeoutS": 90})))
    assert pod["spec"]["terminationGracePeriodSeconds"] > 90
    container = pod["spec"]["containers"][0]
    asked = {name: container[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert asked["livenessProbe"] == asked["startupProbe"] == {"path": "/healthz", "port": "http"}
    assert asked["readinessProbe"] == {"path": "/readyz", "port": "http"}
    assert container["ports"] == [{"name": "http", "containerPort": 8080, "protocol": "TCP"}]


def ports_out(manifest: Mapping[str, Any]) -> list[Any]:
    policy = objects(rendered(manifest), "NetworkPolicy")[0]["spec"]
    assert sorted(policy["policyTypes"]) == ["Egress", "Ingress"]
    names, world = policy["egress"]
    assert {port["port"] for port in names["ports"]} == {53}
    assert "169.254.169.254/32" in world["to"][0]["ipBlock"]["except"]
    return [port["port"] for port in world["ports"]] if "ports" in world else ["any"]


def test_pods_reach_names_and_their_bus_as_it_is_registered_and_nothing_calls_them_unasked(monkeypatch):
    monkeypatch.setitem(SCHEMES, "pigeon", BusScheme("pigeon://loft", (7000, 7001), encrypted="pigeons"))
    assert ports_out(fleet(bus="pigeons://loft.example.com")) == [7000, 7001]
    assert ports_out(fleet(bus="pigeons://loft.example.com:7777")) == [7001, 7777]
    assert ports_out(fleet()) == [6380]
    assert ports_out(fleet(bus="rediss://redis.example.com")) == [6379]
    assert ports_out(fleet(bus="servicebus://works.servicebus.windows.net/hive-events")) == [443, 5671]
    assert ports_out(fleet(bus="${env:BUS_URL}")) == ["any"]
    assert ports_out(fleet(llm={"model": "openai:gpt-5-mini", "key": "${env:KEY}"})) == [443, 6380]
    assert ports_out(fleet(observability={"trace": "http://otel.example.com:4318"})) == [4318, 6380]

    callers = objects(rendered(fleet()), "NetworkPolicy")[0]["spec"]["ingress"]
    assert callers == [
        {
            "from": [{"podSelector": {"matchLabels": {"hive-mind.io/client": "works"}}}],
            "ports": [{"protocol": "TCP", "port": "http"}],
        }
    ]


def test_a_changed_setting_changes_the_pods_and_an_unchanged_one_does_not():
    before, same, after = (pods(rendered(fleet(gossip={"fanout": n}))) for n in (2, 2, 3))
    assert before == same
    assert all(old["metadata"]["annotations"] != new["metadata"]["annotations"] for old, new in zip(before, after, strict=True))


def test_another_agent_leaves_the_others_objects_as_they_were():
    three, four = (rendered(fleet(topology="single", bus="", agents=[{"name": "lone-{n}", "count": n}])) for n in (3, 4))
    assert {name: text for name, text in four.items() if name in three and name != "kustomization.yaml"} == {
        name: text for name, text in three.items() if name != "kustomization.yaml"
    }
    assert set(four) - set(three) == {"process-works-lone-4.yaml"}


def test_resources_of_agents_add_up_in_their_process():
    manifest = fleet(
        agents=[{"name": "a-{n}", "count": 2, "resources": {"cpu": 0.25, "memoryMb": 512}}],
        platform={"kind": "kubernetes", "image": IMAGE, "agentsPerProcess": 2},
    )
    resources = pods(rendered(manifest))[0]["spec"]["containers"][0]["resources"]

    assert (resources["limits"], resources["limits"]["cpu"]) == (resources["requests"], "500m")
    assert int(resources["limits"]["memory"].removesuffix("Mi")) >= 1024


def test_a_scaler_lets_each_process_be_there_once_or_not_at_all():
    files = rendered_example("scaled")
    scalers, sets = objects(files, "ScaledObject"), objects(files, "StatefulSet")

    assert [one["spec"]["scaleTargetRef"]["name"] for one in scalers] == [one["metadata"]["name"] for one in sets]
    for one in scalers:
        assert one["apiVersion"] == "keda.sh/v1alpha1"
        assert (one["spec"]["minReplicaCount"], one["spec"]["maxReplicaCount"]) == (0, 1)
        trigger = one["spec"]["triggers"][0]
        assert trigger["type"] == "cron"
        # All values of a trigger are texts, and these four are what KEDA requires of a clock.
        assert set(trigger["metadata"]) == {"timezone", "start", "end", "desiredReplicas"}
        assert all(isinstance(value, str) for value in trigger["metadata"].values())
    # Who applies the objects again must not undo what the scaler did.
    assert all("replicas" not in one["spec"] for one in sets)
    assert objects(rendered(fleet()), "ScaledObject") == []


def test_long_names_stay_within_what_a_pod_may_be_called():
    manifest = fleet(agents=[{"name": "a" * 52}, {"name": "a" * 51 + "b"}]) | {"metadata": {"name": "f" * 52}}
    names = [one["metadata"]["name"] for one in objects(rendered(manifest), "StatefulSet")]
    assert len(set(names)) == 2
    assert max(map(len, names)) <= 52


def test_everything_is_in_the_namespace_and_in_the_kustomization():
    files = rendered_example("ephemeral")
    kustomization = yaml.safe_load(files["kustomization.yaml"])
    assert {one["metadata"]["namespace"] for one in objects(files)} == {"hives"}
    assert kustomization["namespace"] == "hives"
    assert kustomization["resources"] == sorted(set(files) - {"kustomization.yaml"})


def refused(manifest: Mapping[str, Any]) -> list[str]:
    source = source_of(manifest)
    with pytest.raises(ManifestError) as caught:
        kubernetes.render(source, configs_of(source))
    assert all(problem.line > 0 for problem in caught.value.problems)
    return [f"{problem.path}: {problem.message}" for problem in caught.value.problems]


def test_labels_of_the_manifest_become_annotations_of_objects_and_restart_nobody():
    plain, labelled = (rendered(fleet() | {"metadata": {"name": "works", "labels": said}}) for said in ({}, {"owner": "Ines R."}))
    assert all(one["metadata"]["annotations"] == {"hive-mind.io/owner": "Ines R."} for one in objects(labelled))
    assert pods(plain) == pods(labelled)
    assert "metadata.labels" in refused(fleet() | {"metadata": {"name": "works", "labels": {"my owner": "Ines"}}})[0]
    # What no container can do is told with its place, too.
    mixed = fleet(agents=[{"name": "ada", "env": {"HEADER": "Bearer ${env:TOKEN}"}}, {"name": "ben"}])
    assert "one ${env:…}" in refused(mixed)[0]
