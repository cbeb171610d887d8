"""Manifests by chance: valid ones, small, and with whatever differs between two of them that a fleet has to cope with."""

from typing import Any

from hypothesis import strategies as st

from hive_mind.control.manifests import HiveManifest
from hive_mind.control.manifests.checking import contradictions

KINDS = ("single", "flat", "federated", "sharded")
GROUPS = ("north", "south", "west")
REDIS = "redis://127.0.0.1:6379"


def manifest_of(spec: dict[str, Any], name: str = "demo") -> HiveManifest:
    """A manifest with this spec."""
    return HiveManifest.model_validate({"apiVersion": "hive-mind/v1", "kind": "Hive", "metadata": {"name": name}, "spec": spec})


def counted(count: int, **spec: Any) -> HiveManifest:
    """A manifest of reader-1, reader-2, ….  A `topology`, a `platform`, … as in a manifest."""
    return manifest_of({"agents": [{"name": "reader-{n}", "count": count}], **spec})


def is_valid(manifest: HiveManifest) -> bool:
    """Whether it does not contradict itself."""
    return not any(True for _ in contradictions(manifest))


@st.composite
def specs(draw: st.DrawFn, kinds: tuple[str, ...] = KINDS) -> dict[str, Any]:
    """A spec, not yet checked."""
    kind = draw(st.sampled_from(kinds))
    names_groups = kind == "federated" and draw(st.booleans())
    spec: dict[str, Any] = {"topology": draw(_topologies(kind)), "agents": draw(_agents(names_groups))}
    spec["platform"] = {
        "kind": draw(st.sampled_from(["local", "local", "local", "inprocess"])),
        "agentsPerProcess": draw(st.sampled_from([1, 1, 2, 3, 50])),
    }
    if url := draw(st.sampled_from(["", "", REDIS, "memory:"])):
        spec["bus"] = url
    spec["promotion"] = {"confidenceMin": draw(st.sampled_from([0.3, 0.5]))}
    spec["retrieval"] = {"deadlineS": draw(st.sampled_from([1.0, 2.0]))}
    return spec


def manifests(kinds: tuple[str, ...] = KINDS) -> st.SearchStrategy[HiveManifest]:
    """Valid ones, all of the same fleet."""
    return specs(kinds).map(manifest_of).filter(is_valid)


@st.composite
def _topologies(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    topology: dict[str, Any] = {"kind": kind}
    if kind == "federated":
        names = draw(st.lists(st.sampled_from(GROUPS), unique=True, max_size=3))
        topology["groups"] = [{"name": name, "domain": draw(st.sampled_from([[], ["pumps"], ["ferry"]]))} for name in names]
        topology["broadcastThreshold"] = draw(st.sampled_from([0.9, 0.7]))
    if kind == "sharded":
        topology["replicas"] = draw(st.integers(1, 3))
        if draw(st.booleans()):
            topology["shards"] = draw(st.integers(1, 5))
    return topology


@st.composite
def _agents(draw: st.DrawFn, names_groups: bool) -> list[dict[str, Any]]:
    names = draw(st.lists(st.sampled_from(("ada", "bob", "cyd", "dan", "eve")), unique=True, max_size=4))
    agents: list[dict[str, Any]] = [{"name": name} for name in names]
    if not agents or draw(st.booleans()):
        agents.insert(draw(st.integers(0, len(agents))), {"name": "reader-{n}", "count": draw(st.integers(1, 5))})
    for agent in agents:
        agent["env"] = draw(st.sampled_from([{}, {}, {}, {"MODE": "quick"}]))
        if names_groups:
            agent["group"] = draw(st.sampled_from(["", *GROUPS]))
    return agents
