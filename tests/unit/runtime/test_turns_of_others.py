"""What reads all facts of a hive is cut into pieces, or done beside the event loop: heartbeats, health checks and others go on.

Counted is the work done in the loop between two turns of somebody else, never time.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from hive_mind.agents.agent import LearningAgent
from hive_mind.api import requests as api
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.hive.effects import Promotion
from hive_mind.hive.query import listing
from hive_mind.hive.trust import contradiction
from hive_mind.model.content import Candidate
from hive_mind.model.evidence import Statement
from hive_mind.runtime.calls import AgentCalls
from tests.builders import Home
from tests.contract.fleets import Members, plan_of

FACTS = 300
# Signatures, or comparisons of two statements: some milliseconds.
AT_ONCE = 64


class Turns:
    """Somebody else in the loop, who counts the calls of a function that were made there since the last turn."""

    def __init__(self, patch: pytest.MonkeyPatch, module: Any, name: str) -> None:
        self.calls = self.longest = self.since = 0
        loop_thread, real = threading.get_ident(), getattr(module, name)

        def counting(*words: Any) -> Any:
            self.calls += 1
            self.since += threading.get_ident() == loop_thread
            return real(*words)

        patch.setattr(module, name, counting)

    async def go_on(self) -> None:
        while True:
            self.longest, self.since = max(self.longest, self.since), 0
            await asyncio.sleep(0)

    async def during(self, work: Awaitable[Any]) -> Any:
        others = asyncio.create_task(self.go_on())
        try:
            outcome = await work
            self.longest = max(self.longest, self.since)
            return outcome
        finally:
            others.cancel()


@asynccontextmanager
async def flat_hive() -> AsyncIterator[Members]:
    members = Members(plan_of("flat", 2))
    await members.begin()
    try:
        yield members
    finally:
        await members.close()


def piece(number: int) -> Candidate:
    return Candidate(said(number), f"hall {number // 2}", 0.9)


def said(number: int) -> str:
    return f"The pump in hall {number // 2} weighs {number} tons."


@pytest.mark.parametrize("are_own", [True, False])
async def test_pairs_of_a_whole_hive_are_sought_while_others_go_on(are_own: bool, monkeypatch: pytest.MonkeyPatch):
    """Own facts that the hive has not are signed beside the loop, those of others in pieces."""
    async with flat_hive() as members:
        agent = members.memory("ada")
        if are_own:
            await agent.local.store_facts([piece(number) for number in range(FACTS)], "list", held_back="home")
        else:
            await members.hosted[members.plan.node_of("ben")].runner.promote(
                [Promotion(Statement(said(number), f"hall {number // 2}"), "ben", "list", 0.9) for number in range(FACTS)]
            )
        contradiction.signed.cache_clear()
        turns = Turns(monkeypatch, contradiction, "_packed")
        facts = await turns.during(agent.disputable_facts())

        assert (len(facts), facts.completeness) == (FACTS, 1.0)
        assert turns.calls >= FACTS
        assert turns.longest <= AT_ONCE


async def test_pairs_of_an_agent_alone_are_compared_beside_the_loop(monkeypatch: pytest.MonkeyPatch):
    async with Home().memory() as memory:
        await memory.store_facts([piece(number) for number in range(FACTS)], "list")
        calls = AgentCalls(LearningAgent("ada", memory, ExtractiveReader()), None, is_kept=False)
        turns = Turns(monkeypatch, contradiction, "_may")

        assert (await turns.during(calls.do(api.Conflicts())))["count"] == FACTS // 2
        assert turns.calls >= FACTS // 2
        assert turns.longest == 0


async def test_a_list_of_many_pages_lets_others_go_on_after_each(monkeypatch: pytest.MonkeyPatch):
    """However many there are: one within the other they once reached the depth at which a node stopped for good."""
    monkeypatch.setattr(listing, "FACTS_MAX", 1)
    async with flat_hive() as members:
        runner = members.hosted[members.plan.node_of("ben")].runner
        await runner.promote([Promotion(Statement(said(number)), "ben", "list", 0.9) for number in range(FACTS)])
        turns = Turns(monkeypatch, listing, "page")
        listed = await turns.during(runner.facts())

        assert (len(listed.facts), listed.completeness, runner.failure) == (FACTS, 1.0, None)
        assert turns.longest <= 2
