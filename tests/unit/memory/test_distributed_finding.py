"""An agent finds what a single memory would find, also while facts are on their way, gone or not answered for."""

import asyncio
import itertools
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind.agents.agent import LearningAgent
from hive_mind.api import requests as api
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.embed.none import NoEmbedder
from hive_mind.errors import InvalidInput
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.memory.gate import PromotionSettings
from hive_mind.model.aggregation import Aggregation
from hive_mind.model.evidence import HiveFact
from hive_mind.model.fact import Sharing
from hive_mind.model.ids import fact_id
from hive_mind.model.query import Query
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runtime.calls import AgentCalls
from hive_mind.store.memory import MemoryStore
from tests.builders import FIRST_US, BagOfWords, Home, found, run, said
from tests.unit.memory.hives import AWAY, OPEN, RED, SharedHome, SmallHive, states, two, warnings_in


@pytest.mark.parametrize(("silent", "why"), [((), "too busy to search in time"), (("bob", "cleo"), "(silent: bob, cleo)")])
async def test_a_partial_answer_says_so_once_and_holds_at_least_what_the_agent_knows_itself(caplog, silent, why):
    home = SharedHome()

    class Silent(SmallHive):
        async def ask(self, probe, **options):
            return replace(await SmallHive().ask(probe, **options), missing=("p1",), silent=silent)

    home.hive = Silent()
    async with home.memory() as memory:
        await memory.store_fact("pump", RED)
        for _ in range(3):
            assert await found(memory, "pump") == [RED]
        assert memory.completeness == (await memory.search_facts("pump")).completeness == 0.75
        assert [line for line in warnings_in(caplog) if "75.0 %" in line and why in line] == warnings_in(caplog)
        assert len(warnings_in(caplog)) == 1


async def test_a_fact_shared_while_the_hive_is_asked_is_not_lost_between_the_two():
    home = SharedHome()
    memories: list[DistributedCognitiveMemory] = []

    class Late(SmallHive):
        async def ask(self, probe, **options):
            gathered = await super().ask(probe, **options)
            self.failure = None
            await memories[0].settle()
            return gathered

    home.hive = Late()
    async with home.memory() as memory:
        memories.append(memory)
        await memory.store_fact("door", "The door is blue.")
        home.hive.before = lambda call: setattr(home.hive, "failure", AWAY if call == "promote" else None)
        await memory.store_fact("pump", RED)
        assert (await states(memory))[RED] is Sharing.PROPOSED
        home.hive.before = lambda _: None
        home.hive.failure = None

        assert (await found(memory, "red pump"))[0] == RED
        assert (await states(memory))[RED] is Sharing.SHARED


async def test_a_fact_taken_back_between_being_found_and_being_fetched_leaves_its_place_to_the_next():
    ada_home, bo_home = two(hive := SmallHive())

    async with ada_home.memory() as ada, bo_home.memory() as bo:
        facts = await ada.store_facts([said(f"Pump number {n} is red.") for n in range(5)], "ines")
        best = (await bo.search_facts("pump red"))[0].fact

        def take_back(call: str) -> None:
            if call == "fetch":
                hive._retract(best.id, "ada")

        hive.before = take_back
        hits = await found(bo, "pump red", 3)
        assert len(hits) == 3
        assert best.content not in hits
        assert len(facts) == 5


async def test_a_fact_that_does_not_arrive_is_asked_for_again_before_it_counts_as_gone():
    ada_home, bo_home = two(hive := SmallHive())
    wanted: list[Sequence[tuple[str, str]]] = []
    honest = hive.fetch

    async def lossy(asked: Sequence[tuple[str, str]]) -> Sequence[HiveFact]:
        wanted.append(asked)
        return (await honest(asked))[1:] if len(wanted) == 1 else await honest(asked)

    async with ada_home.memory() as ada, bo_home.memory() as bo:
        await ada.store_facts([said(f"Pump number {n} is red.") for n in range(5)], "ines")
        before = await found(bo, "pump red", 3)
        hive.fetch = lossy
        assert await found(bo, "pump red", 3) == before
        # With the two that are compared with what is shown.
        assert [len(asked) for asked in wanted] == [3, 3]
        assert (wanted[0][0][0], "") in wanted[1]


async def test_lists_are_newest_first_and_as_long_as_asked_for():
    ada_home, bo_home = two(SmallHive())

    async with ada_home.memory() as ada, bo_home.memory() as bo:
        for n in range(12):
            await (ada, bo)[n % 2].store_fact("pump", f"Pump number {n} is red.")
        await ada.store_fact("pump", "Pump number 1 is red.", source="otto")
        for limit in (1, 5, 12, None):
            assert len(await ada.get_all_facts(limit)) == min(limit or 12, 12)
            assert len({fact.id for fact in await bo.search_by_concept("pump", limit or 99)}) == min(limit or 12, 12)
        own = [fact for fact in await bo.get_all_facts() if fact.content[12] in "13579"]
        assert own == sorted(own, key=lambda fact: -fact.learned_at_us)


async def test_embedding_again_tells_the_hive_the_vectors_it_lacks():
    ada_home, bo_home = two(SmallHive())

    async with ada_home.memory(embedder := BagOfWords()) as ada, bo_home.memory() as bo:
        embedder.failure = AWAY
        await ada.store_fact("pump", RED)
        assert await found(bo, Query("red", method="vector")) == []
        embedder.failure = None
        await ada.reembed()
        assert await found(bo, Query("red", method="vector")) == [RED]


class CutShort(MemoryStore):
    """Writes so often, and then the power fails."""

    writes_left = 1_000

    async def write(self, changes):
        if not self.writes_left:
            raise PowerFailed
        self.writes_left -= 1
        await super().write(changes)


class PowerFailed(Exception):
    pass


# Three to embed, two to share, one to remember that; the last is not cut short.
@pytest.mark.parametrize("writes", range(7))
async def test_the_hive_hears_of_new_vectors_wherever_embedding_again_was_cut_short(writes: int):
    ada_home, bo_home = two(SmallHive())
    ada_home._kept = store = CutShort()
    async with ada_home.memory(embedder := BagOfWords()) as ada:
        embedder.failure = AWAY
        await ada.store_fact("pump", RED)

    with nullcontext() if writes == 6 else pytest.raises(PowerFailed):
        async with ada_home.memory() as ada:
            store.writes_left = writes
            await ada.reembed()

    store.writes_left = 1_000
    async with ada_home.memory() as ada, bo_home.memory() as bo:
        # As a process does that begins.
        if (await ada.get_statistics()).without_vector:
            await ada.reembed()
        assert await found(bo, Query("red", method="vector")) == [RED]
    writes_before = store.writes_left
    async with ada_home.memory():
        assert store.writes_left == writes_before


async def test_the_hive_hears_of_vectors_that_a_command_has_made_of_a_memory_that_rests():
    ada_home, bo_home = two(SmallHive())
    async with ada_home.memory(embedder := BagOfWords()) as ada:
        embedder.failure = AWAY
        await ada.store_fact("pump", RED)
    async with Home.memory(ada_home, BagOfWords()) as alone:
        assert await alone.reembed() == 1
    async with ada_home.memory(), bo_home.memory() as bo:
        assert await found(bo, Query("red", method="vector")) == [RED]


async def test_a_query_by_meaning_alone_is_refused_by_an_agent_without_a_model_also_for_an_identifier_that_words_find():
    ada_home, bo_home = two(SmallHive())

    async with ada_home.memory(BagOfWords()) as ada, bo_home.memory(NoEmbedder()) as bo:
        await ada.store_fact("room", "Region D40 holds a well.")
        for text in ("a well", "D40"):
            with pytest.raises(InvalidInput, match="needs embeddings"):
                await bo.search_facts(Query(text, method="vector"))
            assert await found(bo, text) == ["Region D40 holds a well."]


WORDS = st.lists(st.sampled_from("red blue pump door D40 hall Ines old is the".split()), min_size=2, max_size=6)
DEALT = st.lists(
    st.tuples(WORDS.map(" ".join), st.sampled_from([0.2, 0.8]), st.sampled_from("xyz"), st.integers(0, 2)), max_size=14
)
QUESTIONS = ["the red pump", "D40", "Ines", "tell me about D40", "old door in the hall", "D41", "blue"]


@settings(deadline=None, max_examples=20)
@given(DEALT, st.sampled_from([OPEN, PromotionSettings()]), st.integers(0, 2))
def test_every_agent_finds_what_a_single_memory_over_all_it_may_see_would_find(dealt, gate, asker: int):
    hive = SmallHive()
    if gate is not OPEN:
        # What one shares and another holds back has a confirmation that the hive does not know of.
        dealt = list({text: (text, *rest) for text, *rest in dealt}.values())
    homes = [SharedHome(hive, name, gate=gate) for name in ("ada", "bo", "cy")]

    async def whole() -> None:
        async with homes[0].memory() as a, homes[1].memory() as b, homes[2].memory() as c, Home().memory(BagOfWords()) as single:
            agents = (a, b, c)
            for text, confidence, source, agent in dealt:
                await agents[agent].store_fact("", text, confidence, source=f"{source}{agent}")
            for text, confidence, source, agent in dealt:
                kept = await agents[agent].get_fact(fact_id(text))
                if agent == asker or kept.sharing is Sharing.SHARED:
                    await single.store_fact("", text, confidence, source=f"{source}{agent}")
            for question in QUESTIONS:
                for method in ("hybrid", "keyword", "vector"):
                    query = Query(question, 10, method)
                    theirs, ours = await single.search_facts(query), await agents[asker].search_facts(query)
                    assert [hit.fact.id for hit in ours] == [hit.fact.id for hit in theirs], (question, method)
                    assert [hit.score for hit in ours] == pytest.approx([hit.score for hit in theirs], abs=1e-6)

    run(whole())


async def test_two_questions_to_an_agent_at_once_each_say_how_much_of_the_hive_they_reached():
    hive = Halting()
    home, other = two(hive)

    async with home.memory() as ada, other.memory() as bo:
        await ada.store_fact("pump", RED)
        calls = AgentCalls(LearningAgent("bo", bo, ExtractiveReader()), None, is_kept=False)
        slow = asyncio.create_task(calls.do(api.Ask(question="Which colour has the slow pump?")))
        await hive.halted.wait()
        fast = [await calls.do(api.Ask(question="Which colour has the pump?")), await calls.do(api.Facts())]
        hive.go_on.set()
        replies = [await slow, *fast]

    assert [reply["completeness"] for reply in replies] == [0.5, 1.0, 1.0]
    assert [reply["silent"] for reply in replies[:2]] == [["p1", "p2"], []]


class Halting(SmallHive):
    """Asked for what is slow, half of it stays silent, and it hands facts over only when it may `go_on`."""

    def __init__(self) -> None:
        super().__init__()
        self.is_slow = False
        self.halted, self.go_on = asyncio.Event(), asyncio.Event()

    async def ask(self, probe, **options):
        gathered = await super().ask(probe, **options)
        self.is_slow = "slow" in probe.terms
        return replace(gathered, missing=("p1", "p2"), silent=("p1", "p2")) if self.is_slow else gathered

    async def fetch(self, wanted):
        if self.is_slow and not self.halted.is_set():
            self.halted.set()
            await self.go_on.wait()
        return await super().fetch(wanted)


NOVEL, POET = "The novel Ash was written by Ivo Kern.", "Ivo Kern was born beside the sea."
# Nearly as good an answer: where one is far ahead, nobody looks further.
SOLD = "The novel Ash was sold in nine countries, but not in ours."
HOPPING, NOT_HOPPING = RankingSettings(), RankingSettings(second_hop=False)


async def test_what_is_two_steps_away_is_found_where_a_second_hop_is_allowed():
    ada_home, bo_home = two(hive := SmallHive())

    async with ada_home.memory(ranking=NOT_HOPPING) as ada, bo_home.memory(ranking=HOPPING) as bo:
        await ada.store_facts([said(text, concept="") for text in (NOVEL, SOLD, POET)], "library")
        await bo.store_facts([said(f"A novel of {n} pages.", concept="") for n in range(9)], "shelf")
        query = Query("Where was the author of the novel Ash when she was small?", 3, "keyword")
        hive.calls.clear()

        hits = list(await bo.search_facts(query))

        assert [hit.fact.content for hit in hits] == [NOVEL, SOLD, POET]
        assert hits[2].contributions.others == pytest.approx(hits[2].score, rel=0.1)
        assert hive.calls.count("ask") == 2
        assert POET not in await found(ada, query)


ALERT, MENDED = "CRIT juniper-10 does not answer, opened INC-9037", "A new power brick and juniper-10 is back."


async def test_what_is_called_by_another_identifier_is_found_where_a_second_hop_is_allowed():
    ada_home, bo_home = two(SmallHive())
    more = [said(f"Ivo: Anything on INC-9037 in week {n}?", concept="", speaker="Ivo") for n in range(4)]

    async with ada_home.memory(ranking=NOT_HOPPING) as ada, bo_home.memory(ranking=HOPPING) as bo:
        await ada.store_facts([said(text, concept="") for text in (ALERT, MENDED)], "log")
        await bo.store_facts(more, "room")
        query = Query("What ended INC-9037?", 10, "keyword")

        assert MENDED in await found(bo, query)
        assert MENDED not in await found(ada, query)


def test_where_the_hive_goes_away_before_the_second_hop_the_first_one_counts():
    ada_home, bo_home = two(hive := SmallHive())

    async def whole() -> None:
        async with ada_home.memory(ranking=NOT_HOPPING) as ada, bo_home.memory(ranking=HOPPING) as bo:
            await ada.store_facts([said(text, concept="") for text in (NOVEL, POET)], "library")
            await bo.store_facts([said(text, concept="") for text in (NOVEL, SOLD)], "shelf")
            hive.after = lambda call: setattr(hive, "failure", AWAY if call == "ask" else None)

            result = await bo.search_facts(Query("Who wrote the novel Ash?", 3, "keyword"))

            assert [hit.fact.content for hit in result] == [NOVEL, SOLD]


HALL, PUMP = "The pump keeps the hall dry.", "Every pump came from Bergen."
FEEDING_BACK = RankingSettings(expansion="feedback")


async def test_words_of_the_best_are_asked_for_too_where_that_is_allowed():
    ada_home, bo_home = two(hive := SmallHive())

    async with ada_home.memory() as ada, bo_home.memory(ranking=FEEDING_BACK) as bo:
        await ada.store_facts([said(text, concept="") for text in (HALL, PUMP)], "library")
        query = Query("What keeps the hall dry?", 3, "keyword")
        hive.calls.clear()

        assert [hit.fact.content for hit in await bo.search_facts(query)] == [HALL, PUMP]
        assert hive.calls == ["ask", "fetch", "ask", "fetch"]
        assert await found(ada, query) == [HALL]


async def test_where_the_hive_goes_away_before_it_is_asked_again_the_first_question_counts():
    ada_home, bo_home = two(hive := SmallHive())

    async with ada_home.memory() as ada, bo_home.memory(ranking=FEEDING_BACK) as bo:
        await ada.store_facts([said(text, concept="") for text in (HALL, PUMP)], "library")
        await bo.store_facts([said(HALL, concept="")], "shelf")
        hive.after = lambda call: setattr(hive, "failure", AWAY if call == "ask" else None)

        result = await bo.search_facts(Query("What keeps the hall dry?", 3, "keyword"))

        assert [hit.fact.content for hit in result] == [HALL]
        assert result.completeness == 1.0


async def test_an_aggregation_says_what_did_not_answer_and_counts_what_the_agent_has_itself():
    home = SharedHome()

    class Silent(SmallHive):
        async def tally(self, about="", **wanted):
            return replace(await super().tally(about, **wanted), missing=("p1",), silent=("n4",))

    home.hive = Silent()
    async with home.memory() as memory:
        await memory.store_fact("pump", RED)
        found = await memory.aggregate(Aggregation("list", "pump"))
        assert ([fact.content for fact in found.facts], found.count) == ([RED], 1)
        assert (found.completeness, found.silent) == (0.75, ("n4",))
        home.hive.failure = AWAY
        found = await memory.aggregate(Aggregation("count", "pump"))
        assert (found.count, found.completeness) == (1, 0.0)


@pytest.mark.parametrize("count", [0, 5, 200])
async def test_a_listing_is_one_question_however_many_of_the_newest_facts_are_its_own(count: int):
    hive = SmallHive()
    home, other = two(hive)
    home._clock = itertools.count(2 * FIRST_US)
    async with home.memory() as ada, other.memory() as bo:
        await bo.store_facts([said(f"Valve {number} is open.", "valve") for number in range(30)], "bo")
        await ada.store_facts([said(f"Pump {number} is red.", "pump") for number in range(count)], "ada")
        hive.calls.clear()
        listed = await ada.get_all_facts(10)

    assert hive.calls == ["facts"]
    assert len(listed) == 10
    assert sum(fact.content.startswith("Pump") for fact in listed) == min(count, 10)
