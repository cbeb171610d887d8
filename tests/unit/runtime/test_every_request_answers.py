"""Every request of the register, asked of an agent while another member of its hive is dead, hangs or is slow: by virtual time.

Until the others believe it dead a command takes one deadline longer at most, and from then on hardly longer than when all live;
so it is with a few facts and with many, and nothing stays unanswered. A request without a row fails.
"""

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from hive_mind.agents.agent import LearningAgent
from hive_mind.api import requests as api
from hive_mind.api.requests import REQUESTS
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.hive.effects import (
    Ask,
    Effect,
    Event,
    Fetch,
    Held,
    Listed,
    Listing,
    Promote,
    Promotion,
    Retract,
    Retracted,
    SearchLocal,
    Send,
    Tallied,
    Tally,
    Write,
)
from hive_mind.hive.query import Latencies
from hive_mind.hive.topology.federated import Federated
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.memory.gate import PromotionSettings
from hive_mind.model.evidence import HiveFact
from hive_mind.model.gathered import Gathered, Probe
from hive_mind.model.ids import fact_id
from hive_mind.runtime.calls import AgentCalls
from tests.builders import Home
from tests.hives import MODERATOR, Hive, flat, settings, sharded
from tests.sampled import usually

DEADLINE_MS = 2_000
STEP_MS = 5
# Ten deadlines: whatever takes longer waits for ever.
UNANSWERED_MS = 10 * DEADLINE_MS
HERE, AWAY = "n0", "n1"
OWN, OTHERS = "The valve of pump {} is open.", "Pump {} is red."


class Town(Hive):
    """A hive in which some nodes take their time."""

    def __init__(self, *args: Any) -> None:
        self.slow_ms: dict[str, int] = {}
        self._late: list[tuple[int, str, Effect]] = []
        super().__init__(*args)

    def perform_one(self, name: str, effect: Effect) -> None:
        if name in self.slow_ms and isinstance(effect, SearchLocal | Send):
            self._late.append((self.clock.mono_ms + self.slow_ms[name], name, effect))
        else:
            super().perform_one(name, effect)

    def pass_time(self) -> None:
        self.wait(STEP_MS, STEP_MS)
        due = [one for one in self._late if one[0] <= self.clock.mono_ms]
        self._late = [one for one in self._late if one[0] > self.clock.mono_ms]
        for _, name, effect in due:
            super().perform_one(name, effect)
        self.deliver()


class Door:
    """See `memory.base.Hive`: asks a node, and lets virtual time pass until it has answered."""

    def __init__(self, town: Town) -> None:
        self.town, self.waited_ms, self.asked = town, 0, 0

    def _answered(self, make: Callable[[str], Event]) -> Any:
        self.asked += 1
        outcome, since = self.town.request(HERE, make), self.town.clock.mono_ms
        while outcome is None:
            assert self.town.clock.mono_ms - since < UNANSWERED_MS, "nobody answers"
            self.town.pass_time()
            outcome = self.town.answer()
        self.waited_ms += self.town.clock.mono_ms - since
        return outcome

    async def promote(self, promotions: Sequence[Promotion]) -> Sequence[Held]:
        return self._answered(lambda request: Promote(request, promotions))  # type: ignore[no-any-return]

    async def retract(self, fact_ids: Sequence[str], by: str, why: str = "retracted") -> Sequence[Retracted]:
        return self._answered(lambda request: Retract(request, fact_ids, by, why))  # type: ignore[no-any-return]

    async def write(self, entries: Sequence[tuple[str, str]], by: str) -> Sequence[str]:
        return self._answered(lambda request: Write(request, entries, by))  # type: ignore[no-any-return]

    async def ask(self, probe: Probe, *, confidence_min: float = 0.0, domains: tuple[str, ...] = ()) -> Gathered:
        return self._answered(lambda request: Ask(request, probe, DEADLINE_MS, confidence_min, domains))  # type: ignore[no-any-return]

    async def fetch(self, wanted: Sequence[tuple[str, str]]) -> Sequence[HiveFact]:
        return self._answered(lambda request: Fetch(request, wanted, DEADLINE_MS))  # type: ignore[no-any-return]

    async def facts(self, *, concept: str = "", prefix: str = "", limit: int | None = None) -> Listed:
        return self._answered(lambda request: Listing(request, limit or 1 << 31, DEADLINE_MS, concept, prefix))  # type: ignore[no-any-return]

    async def tally(self, about: str = "", *, with_wording: bool = False) -> Tallied:
        return self._answered(lambda request: Tally(request, DEADLINE_MS, about, with_wording))  # type: ignore[no-any-return]


class Row(NamedTuple):
    """The fields of a request, given ids of an own fact, of another agent's, and of an episode of the source "book"."""

    fields: Callable[[str, str, str], Mapping[str, Any]] = lambda *_: {}


class Local(NamedTuple):
    """Of a request that is no question to other members: why."""

    why: str


ERASURE = "subject/2/" + 32 * "3"
RUNS = Local("runs are kept by the agent's own process")
AT_ITS_NODE = Local("its own node knows it")
ON_THE_BUS = Local("the bus knows it")

ROWS: Mapping[str, Row | Local] = {
    "aggregate": Row(lambda *_: {"kind": "latest", "concept": "pump", "limit": 50}),
    "ask": Row(lambda *_: {"question": "Which pump is red?"}),
    "conflicts": Row(),
    "correct": Row(lambda own, *_: {"fact_id": own, "content": "The valve of pump 0 is shut."}),
    "dead_letters": ON_THE_BUS,
    "decide": RUNS,
    "drop": ON_THE_BUS,
    "embed_ahead": Row(lambda *_: {"contents": [{"text": "The boiler is new.", "source": "diary"}]}),
    "erase": Row(lambda *_: {"erasures": [ERASURE]}),
    "erased": Row(lambda *_: {"erasures": [ERASURE]}),
    "evidence": Row(lambda _, other, __: {"fact_id": other}),
    "export": Row(),
    "facts": Row(lambda *_: {"limit": 20}),
    "held_back": Row(),
    "hook": RUNS,
    "inbox": RUNS,
    "learn": Row(lambda *_: {"text": " ".join(f"Tank {number} holds {number} litres." for number in range(60)), "source": "log"}),
    "learn_files": Local("it is `learn` for each file"),
    "members": AT_ITS_NODE,
    "named": Row(lambda _, other, __: {"fact_id": other[:8]}),
    "note": Row(lambda *_: {"source": "log"}),
    "queen_told": RUNS,
    "quarantine": Row(lambda _, other, __: {"fact_id": other, "good": True}),
    "quarantined": Row(lambda *_: {"limit": 50}),
    "rate": Row(lambda *_: {"to": "bo", "good": True}),
    "reconsider": Row(lambda own, *_: {"fact_id": own}),
    "replace": Row(lambda _, __, episode: {"source": "book", "episodes": [episode]}),
    "replay": ON_THE_BUS,
    "retract": Row(lambda own, *_: {"fact_id": own}),
    "rule": AT_ITS_NODE,
    "rules": Row(),
    "run": RUNS,
    "run_cancelled": RUNS,
    "run_resumed": RUNS,
    "run_shown": RUNS,
    "run_told": RUNS,
    "runs": RUNS,
    "search": Row(lambda *_: {"query": "red pump"}),
    "sleep": Row(),
    "sources": Row(),
    "stats": AT_ITS_NODE,
    "store": Row(lambda *_: {"content": "The boiler is new.", "concept": "boiler"}),
    "tell": AT_ITS_NODE,
    "told": AT_ITS_NODE,
    "tools": RUNS,
    "trust": Row(lambda *_: {"to": "bo", "trust": 1.5}),
    "why": Row(lambda _, other, __: {"fact_id": other}),
    "why_not": Row(lambda _, other, __: {"question": "Which pump is red?", "text": other[:8]}),
    "withdraw": Row(lambda *_: {"source": "diary"}),
    "would_erase": Local("it looks at its own record"),
}


def test_every_request_of_the_register_has_a_row() -> None:
    assert ROWS.keys() == REQUESTS.keys()


TOPOLOGIES = {
    "flat": lambda: flat("n0", "n1", "n2", "n3"),
    "federated": lambda: Federated({"north": ("n0", "n2"), "south": ("n1", "n3")}),
    "sharded": lambda: sharded(6, 3, 16),
}
HEALTHY, DEAD, HANGS, SLOW = "healthy", "dead", "hangs", "slow"


async def waited(topology: str, condition: str, facts: int, *, is_suspected: bool = False) -> dict[str, tuple[int, int]]:
    """By request: the virtual milliseconds that it took, and how many questions it put to the hive."""
    town = Town(TOPOLOGIES[topology](), settings())
    node, names, taken = town.nodes[HERE], [name for name in town.nodes if name != HERE], dict[str, tuple[int, int]]()
    others = [OTHERS.format(number) for number in range(facts)]
    for number, content in enumerate(others):
        town.say(names[number % len(names)], content, agent=f"of {names[number % len(names)]}")
    town.wait(5_000)
    door = Door(town)
    # The network of a hung process takes what is sent to it, and that of a dead one does not: nobody hears the difference.
    town.down = {AWAY} if condition == DEAD else set()
    town.is_lost = lambda sender, to, _: condition == HANGS and AWAY in (sender, to)
    town.slow_ms = {AWAY: 150} if condition == SLOW else {}
    async with DistributedCognitiveMemory(Home().memory(), door, agent=MODERATOR, gate=PromotionSettings(is_open=True)) as memory:
        member = SimpleNamespace(member=SimpleNamespace(node=node), runner=door, silent=lambda: ())
        calls = AgentCalls(LearningAgent(MODERATOR, memory, ExtractiveReader()), member, is_kept=True)  # type: ignore[arg-type]
        episode = (await calls.do(api.Learn(text="The first chapter is about pumps.", source="book")))["episode"]
        for number, (name, row) in enumerate(ROWS.items()):
            if isinstance(row, Local):
                continue
            own = await memory.store_fact("valve", OWN.format(number), source="diary")
            quarantined = [(f"quarantine/{fact_id(content)}", "true") for content in others[:20]] if name == "quarantined" else []
            await door.write(quarantined, MODERATOR)
            # As if nobody had been asked yet, or as after some beats that did not come.
            node.questions.latencies = Latencies(node.settings.scatter)
            node.questions.latencies.suspects = frozenset({AWAY} if is_suspected else ())
            before = door.waited_ms, door.asked
            reply = await calls.answer(name, **row.fields(own.id, fact_id(others[number % 4]), episode))
            taken[name] = door.waited_ms - before[0], door.asked - before[1]
            assert reply is not None
    return taken


FEW, MANY = 15, 60


@pytest.mark.parametrize("topology", usually(TOPOLOGIES, "sharded"))
async def test_with_a_member_dead_hung_or_slow_every_request_is_answered_in_a_deadline_more_at_most(topology: str) -> None:
    few, healthy = await waited(topology, HEALTHY, FEW), await waited(topology, HEALTHY, MANY)
    assert {name: count for name, (_, count) in healthy.items() if count > few[name][1]} == {}, "a question for each fact"

    for condition in (DEAD, HANGS, SLOW):
        found = await waited(topology, condition, MANY)
        assert {name: ms for name, (ms, _) in found.items() if ms > healthy[name][0] + DEADLINE_MS} == {}, condition
    for condition in (DEAD, HANGS):
        found = await waited(topology, condition, MANY, is_suspected=True)
        assert {name: ms for name, (ms, _) in found.items() if ms > 1.2 * healthy[name][0] + 50} == {}, condition
