"""A hive as one object that is called and answers: agents confirm each other, disagree, and a moderator has the last word."""

import random
import time

from hive_mind import HiveSettings, InMemoryHiveGraph
from hive_mind.hive.effects import Now
from hive_mind.hive.policy.node_policy import PolicySettings

hive = InMemoryHiveGraph(
    clock=lambda: Now(time.time_ns() // 1_000_000, time.monotonic_ns() // 1_000_000),
    chance=random.Random(7),
    settings=HiveSettings(standing=PolicySettings(moderators=("mo",))),
)
for agent in ("ada", "bert", "mo"):
    hive.register_agent(agent, domain="network")

port = hive.promote_fact("ada", "The gateway listens on port 8443.", "gateway", 0.9, source="runbook.md")
port = hive.confirm_fact(port.id, "bert", source="a look at the gateway")
print(f"{port.content} {port.status}, {port.confirmations} confirmation, by {[one.agent for one in port.provenance]}")

rival = hive.promote_fact("bert", "The gateway listens on port 9443.", "gateway", 0.5, source="an old note")
for fact in hive.query_facts("Which port does the gateway listen on?"):
    print(f"{fact.status}: {fact.content}")

held = hive.get_statistics()
print(f"{held.facts} facts, {held.confirmed} confirmed; newest: {hive.list_facts(1)[0].content}")

print(f"trust in bert: {hive.update_trust('bert', 0.4, by='mo')}")
print([f"{agent.name}: {agent.trust}" for agent in hive.agents().values()])
print(f"taken back: {hive.retract_fact(rival.id, by='mo')}; left: {len(hive.query_facts('gateway'))}")
