"""Changes after which a hive moves, or processes come and go: the spec before (besides the base) and after, and what is shown.

All other fields: `tests/contract/test_every_field.py`.
"""

from tests.unit.control.planning.desired_fleets import AGENTS, FEDERATED, GROUPS, SHARDED, agents_with, section

CASES = {
    "topology.kind": ({}, {"topology": "flat", "agents": [{"name": one["name"]} for one in AGENTS]}, "spec.topology.kind"),
    "topology.groups.name": (
        {},
        {
            "topology": {"kind": "federated", "groups": [GROUPS[0] | {"name": "west"}, GROUPS[1]]},
            "agents": [one | {"group": one["group"].replace("north", "west")} for one in AGENTS],
        },
        "spec.agents[ada].group",
    ),
    "topology.groups.domain": (
        {},
        {"topology": {"kind": "federated", "groups": [GROUPS[0] | {"domain": ["ferry"]}, GROUPS[1]]}},
        "spec.topology.groups.domain",
    ),
    "topology.broadcastThreshold": ({}, {"topology": FEDERATED | {"broadcastThreshold": 0.7}}, None),
    "topology.domainRouting": ({}, {"topology": FEDERATED | {"domainRouting": False}}, None),
    "topology.shards": (
        SHARDED | {"agents": [{"name": name} for name in "abcd"]},
        {"topology": {"kind": "sharded", "replicas": 2, "shards": 2}, "agents": [{"name": name} for name in "abcd"]},
        "create demo-0",
    ),
    "topology.replicas": (
        SHARDED | {"agents": [{"name": name} for name in "abcd"]},
        {"topology": {"kind": "sharded", "replicas": 1}, "agents": [{"name": name} for name in "abcd"]},
        None,
    ),
    "agents.name": ({}, agents_with(name="eve"), "create eve"),
    "agents.count": (
        {"topology": "flat", "agents": [{"name": "reader-{n}", "count": 2}]},
        {"topology": "flat", "agents": [{"name": "reader-{n}", "count": 3}]},
        "create reader-3",
    ),
    "agents.group": ({}, agents_with(group="south"), "spec.agents[ada].group"),
    "agents.sources": ({}, agents_with(sources=["a.txt"]), "learn ada"),
    "identity.mode": ({}, {"identity": "warn"}, "spec.identity.mode"),
    "identity.encryption": (
        {"identity": "require"},
        {"identity": {"mode": "require", "encryption": True}},
        "spec.identity.encryption",
    ),
    "platform.agentsPerProcess": ({}, section("platform.agentsPerProcess", 2), "create north-0"),
    "agents.resources.cpu": ({}, agents_with(resources={"cpu": 0.5}), "spec.agents[ada].resources.cpu"),
    "agents.resources.memoryMb": ({}, agents_with(resources={"memoryMb": 128}), "spec.agents[ada].resources.memoryMb"),
    "agents.env": ({}, agents_with(env={"MODE": "quick"}), "spec.agents.env.MODE"),
}
