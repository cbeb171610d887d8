"""Facts of an agent that runs, looked up and taken back where it runs."""

import asyncio

from hive_mind.cli.facts.fact_ids import fact_called
from hive_mind.cli.fleet.running_facts import RunningFact, RunningFacts


class Agent:
    """Knows two facts."""

    def __init__(self):
        self.calls = []

    async def call(self, what, **fields):
        self.calls.append((what, fields))
        if what == "retract":
            return {"fact_id": fields["fact_id"], "sharing": "retracted"}
        held = [("ab12cd" + "0" * 26, "The pump is red."), ("ff12cd" + "0" * 26, "The door is open.")]
        return {"facts": [{"fact_id": id_, "content": content, "sharing": "shared"} for id_, content in held]}


def test_a_fact_is_found_by_the_beginning_of_its_id_and_taken_back_by_all_of_it():
    facts = RunningFacts(agent := Agent())

    fact = asyncio.run(fact_called(facts, "ff12cd"))

    assert fact == RunningFact("ff12cd" + "0" * 26, "The door is open.", "shared")
    assert asyncio.run(facts.retract(fact)).sharing == "retracted"
    assert agent.calls == [("facts", {"limit": 0}), ("retract", {"fact_id": fact.id})]
