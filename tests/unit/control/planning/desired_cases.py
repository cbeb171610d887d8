"""A change of each field of a manifest: the spec before (besides the base) and after, and the path that a plan shows."""

from tests.unit.control.planning.desired_fleets import AGENTS, FEDERATED, GROUPS, OPENAI, SHARDED, agents_with, section

RUNS = agents_with(worker='{"id": "a"}')


RULE = {"id": "no_pumps", "condition": "'pump' in result.text", "action": "retry"}
OTHER_RULE = {
    "id": "pumps",
    "condition": "'pumps' in result.text",
    "action": "escalate",
    "priority": 7,
    "description": "pumps are ours",
    "feedback": "leave out the pumps",
    "mode": "shadow",
    "rollout": 0.5,
    "on": "fact",
    "metadata": {"by": "ann"},
}

# What is changed, by field: the spec before (besides the base) and after, and the path that the plan shows.
JUDGING_MODEL = {
    "model": "scripted:two",
    "threshold": 0.8,
    "callsPerMinute": 9,
    "unattended": "hold",
    "audit": 0.5,
    "weights": "learned",
    "degrade": True,
    "functions": {"own": "json:loads"},
}
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
    "agents.domain": ({}, agents_with(domain="boats"), "spec.agents[ada].domain"),
    "agents.group": ({}, agents_with(group="south"), "spec.agents[ada].group"),
    "agents.prompt": ({}, agents_with(prompt="Be brief."), "spec.agents[ada].prompt"),
    "agents.model": ({}, agents_with(model="openai:gpt-5-mini"), "spec.agents[ada].model"),
    "agents.sources": ({}, agents_with(sources=["a.txt"]), "learn ada"),
    "agents.worker": (RUNS, agents_with(worker='{"id": "b"}'), "spec.agents[ada].worker"),
    "agents.tools": (RUNS, agents_with(worker='{"id": "a"}', tools=["recall"]), "spec.agents[ada].tools"),
    **{
        f"agents.limits.{field}": (RUNS, agents_with(worker='{"id": "a"}', limits={field: 7}), "spec.agents[ada].limits")
        for field in ("turns", "tokens", "usd", "seconds")
    },
    **{
        f"agents.triggers.{field}": (
            agents_with(worker='{"id": "a"}', triggers=[former]),
            agents_with(worker='{"id": "a"}', triggers=[trigger]),
            "spec.agents[ada].triggers",
        )
        for field, (former, trigger) in {
            "everyS": ({"everyS": 30}, {"everyS": 60}),
            "cron": ({"cron": "0 8 * * *"}, {"cron": "0 7 * * *"}),
            "hook": ({"hook": "mail"}, {"hook": "news"}),
            "inputs": ({"hook": "mail"}, {"hook": "mail", "inputs": {"about": "pumps"}}),
            "events": ({"events": "https://y.example/events"}, {"events": "https://x.example/events"}),
            "token": ({"events": "https://x.example/events"}, {"events": "https://x.example/events", "token": "${env:TOKEN}"}),
        }.items()
    },
    "identity.mode": ({}, {"identity": "warn"}, "spec.identity.mode"),
    "identity.encryption": (
        {"identity": "require"},
        {"identity": {"mode": "require", "encryption": True}},
        "spec.identity.encryption",
    ),
    "agents.resources.cpu": ({}, agents_with(resources={"cpu": 0.5}), "spec.agents[ada].resources.cpu"),
    "agents.resources.memoryMb": ({}, agents_with(resources={"memoryMb": 128}), "spec.agents[ada].resources.memoryMb"),
    "agents.resources.sleepAfterS": ({}, agents_with(resources={"sleepAfterS": 9}), "spec.agents[ada].resources.sleepAfterS"),
    "agents.env": ({}, agents_with(env={"MODE": "quick"}), "spec.agents.env.MODE"),
    "bus.url": ({}, {"bus": {"url": "redis://127.0.0.1:7000"}}, None),
    "bus.searches": ({}, section("bus.searches", "redis://127.0.0.1:7000"), None),
    "bus.credential": ({}, section("bus.credential", "${env:KEY}"), None),
    "bus.searchesCredential": ({}, section("bus.searchesCredential", "${env:KEY}"), None),
    "store": ({}, {"store": "memory"}, None),
    "answering": ({}, {"answering": "careful"}, None),
    "embedding.kind": ({}, {"embedding": {"kind": "openai"}}, None),
    "embedding.model": (OPENAI, section("embedding.model", "other", **OPENAI), None),
    "embedding.url": (OPENAI, section("embedding.url", "https://embed.example.com", **OPENAI), None),
    "embedding.key": (OPENAI, section("embedding.key", "${env:KEY}", **OPENAI), None),
    "embedding.index": ({}, section("embedding.index", "exact"), None),
    "llm.model": ({}, section("llm.model", "openai:gpt-5-mini"), None),
    "llm.url": ({}, section("llm.url", "https://llm.example.com"), None),
    "llm.key": ({}, section("llm.key", "${env:KEY}"), None),
    "llm.timeoutS": ({}, section("llm.timeoutS", 300), None),
    "llm.tries": ({}, section("llm.tries", 1), None),
    "llm.tokenBudget": ({}, section("llm.tokenBudget", 7), None),
    "gossip.periodS": ({}, section("gossip.periodS", 5.0), None),
    "gossip.fanout": ({}, section("gossip.fanout", 3), None),
    "gossip.beatS": ({}, section("gossip.beatS", 0.5), None),
    "gossip.suspectAfterS": ({}, section("gossip.suspectAfterS", 9.0), None),
    "lifecycle.forget": ({}, section("lifecycle.forget", True), None),
    "lifecycle.ttlHours": ({}, section("lifecycle.ttlHours", 12.0), None),
    "lifecycle.decayPerHour": ({}, section("lifecycle.decayPerHour", 0.5), None),
    "lifecycle.gcPeriodS": ({}, section("lifecycle.gcPeriodS", 9.0), None),
    "promotion.confidenceMin": ({}, section("promotion.confidenceMin", 0.5), None),
    "promotion.wordsMin": ({}, section("promotion.wordsMin", 3), None),
    "promotion.lettersShareMin": ({}, section("promotion.lettersShareMin", 0.25), None),
    "promotion.holdBackSecrets": ({}, section("promotion.holdBackSecrets", False), None),
    "promotion.holdBackPersonal": ({}, section("promotion.holdBackPersonal", False), None),
    "promotion.holdBackInstructions": ({}, section("promotion.holdBackInstructions", False), None),
    "promotion.allowInstructions": ({}, section("promotion.allowInstructions", ["new-role"]), None),
    "promotion.open": ({}, section("promotion.open", True), None),
    **{
        f"mcp.{field}": (
            {"mcp": [{"name": "tickets", "command": ["tickets-mcp"]}]},
            {"mcp": [{"name": "tickets", "command": ["tickets-mcp"]} | change]},
            "spec.mcp",
        )
        for field, change in {
            "name": {"name": "letters"},
            "command": {"command": ["letters-mcp"]},
            "url": {"command": [], "url": "http://127.0.0.1:1/mcp"},
            "env": {"env": {"TOKEN": "${credential:tickets}"}},
            "idempotent": {"idempotent": ["get_*"]},
        }.items()
    },
    "queen.agent": ({}, {"queen": {"agent": "ben"}}, None),
    "notify.url": ({}, {"notify": {"url": "https://hook.example"}}, None),
    **{
        f"notify.{field}": ({"notify": {"command": ["tell"]}}, {"notify": {"command": ["tell"], field: value}}, None)
        for field, value in {"command": ["tell", "them"], "link": "https://hive.example", "hours": 5.0}.items()
    },
    **{
        f"health.{field}": ({"health": {"agent": "ada"}}, {"health": {"agent": "ada", field: value}}, None)
        for field, value in {"agent": "ben", "everyS": 60.0, "warn": 2, "degraded": 7, "critical": 30, "stallMin": 9.0}.items()
    },
    "judge.facts": ({}, section("judge.facts", "people"), None),
    "judge.desk": ({"judge": {"facts": "rules"}}, {"judge": {"facts": "rules", "desk": "ben"}}, None),
    **{
        f"judge.{field}": (
            {"judge": {"facts": "model", "model": "scripted:one"}},
            {"judge": {"facts": "model", "model": "scripted:one"} | {field: value}},
            None,
        )
        for field, value in JUDGING_MODEL.items()
    },
    **{
        f"rules.{field}": (
            {"judge": {"facts": "rules"}, "rules": [RULE]},
            {"judge": {"facts": "rules"}, "rules": [RULE | {field: value}]},
            "spec.rules",
        )
        for field, value in OTHER_RULE.items()
    },
    "trust.moderators": ({}, section("trust.moderators", ["ada"]), None),
    "trust.halfLifeDays": ({}, section("trust.halfLifeDays", 7.0), None),
    "trust.quotaPerAgent": ({}, section("trust.quotaPerAgent", 500), None),
    "trust.quarantineBelow": ({}, section("trust.quarantineBelow", 0.25), None),
    "retrieval.semanticWeight": ({}, section("retrieval.semanticWeight", 0.25), None),
    "retrieval.evidenceStrength": ({}, section("retrieval.evidenceStrength", 0.25), None),
    "retrieval.depth": ({}, section("retrieval.depth", 50), None),
    "retrieval.fusion": ({}, section("retrieval.fusion", "rrf"), None),
    "retrieval.rrfK": ({}, section("retrieval.rrfK", 9), None),
    "retrieval.secondHop": ({}, section("retrieval.secondHop", False), None),
    "retrieval.expansion": ({}, section("retrieval.expansion", "feedback"), None),
    "retrieval.rerank": ({}, section("retrieval.rerank", 20), None),
    "retrieval.rerankModel": ({}, section("retrieval.rerankModel", "./model"), None),
    "retrieval.rerankWeight": ({}, section("retrieval.rerankWeight", 0.5), None),
    "retrieval.neighbourWeight": ({}, section("retrieval.neighbourWeight", 0.25), None),
    "retrieval.deadlineS": ({}, section("retrieval.deadlineS", 5.0), None),
    "observability.log": ({}, section("observability.log", "json"), None),
    "observability.metrics": ({}, section("observability.metrics", False), None),
    "observability.trace": ({}, section("observability.trace", "console"), None),
    "platform.agentsPerProcess": ({}, section("platform.agentsPerProcess", 2), "create north-0"),
}
# Fields that no process is told, and who looks at them instead.
ELSEWHERE = {
    "apiVersion": "there is one",
    "kind": "there is one",
    "metadata.name": "another fleet",
    "metadata.labels": "words of the user's own",
    "spec.ruleFiles": "become rules when the manifest is read",
    "spec.retrieval.config": "becomes the other fields of its section when the manifest is read",
    "spec.platform.kind": "chooses the platform",
    "spec.platform.stopTimeoutS": "is the controller's; see below",
    "spec.platform.image": "rendered",
    "spec.platform.namespace": "rendered",
    "spec.platform.storage": "rendered",
    "spec.platform.storageGb": "rendered",
    "spec.platform.keys": "rendered",
    "spec.platform.autoscaling": "rendered",
}
