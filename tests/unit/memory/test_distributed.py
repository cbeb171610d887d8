"""An agent's memory with a hive behind it: shared once, found by all, taken back everywhere, and nothing lost on the way."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.memory.promotion import PromotionSettings
from hive_mind.model.evidence import HiveFact
from hive_mind.model.fact import KEPT_HOME, Sharing
from hive_mind.model.ids import fact_id
from hive_mind.model.query import Query
from tests.builders import BagOfWords, Home, found, run, said
from tests.unit.memory.hives import AWAY, OPEN, SharedHome, SmallHive

RED, BLUE = "The pump is red.", "The pump is blue."


def two(hive: SmallHive) -> tuple[SharedHome, SharedHome]:
    return SharedHome(hive, "ada"), SharedHome(hive, "bo")


async def states(memory: DistributedCognitiveMemory) -> dict[str, Sharing]:
    return {fact.content: fact.sharing for fact in await memory.local_get_all_facts()}


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_what_one_agent_learns_another_recalls_and_what_it_takes_back_nobody_sees_any_more():
    ada_home, bo_home = two(hive := SmallHive())

    async def whole() -> None:
        async with ada_home.memory() as ada, bo_home.memory() as bo:
            kept = await ada.store_fact("pump", RED, 0.9, source="ines", said_at="2023-05")

            (hit,) = await bo.search_facts("what colour has the pump?")
            assert (hit.fact.id, hit.fact.content, hit.fact.sources) == (kept.id, RED, ("ines",))
            assert (hit.fact.concept, hit.fact.confidence, hit.fact.said_at) == ("pump", 0.9, "2023-05")
            assert await bo.get_all_facts() == await bo.search_by_concept("PUMP") == [hit.fact] == [await bo.get_fact(kept.id)]
            assert await bo.local_get_all_facts() == await bo.local_search_facts("pump") == []
            assert (kept.sharing, kept.offered, hit.fact.sharing) == (Sharing.SHARED, ("ines",), Sharing.SHARED)

            await ada.retract_fact(kept.id)
            assert await found(bo, "pump") == await bo.get_all_facts() == []
            assert await bo.get_fact(kept.id) is None
            assert hive.contents == set()

    run(whole())


def test_what_two_agents_learned_is_one_fact_and_stays_while_one_of_them_vouches_for_it():
    ada_home, bo_home = two(SmallHive())

    async def whole() -> None:
        async with ada_home.memory() as ada, bo_home.memory() as bo:
            await ada.store_fact("pump", RED, source="ines")
            kept = await bo.store_fact("pump", RED, source="otto")
            (hit,) = await ada.search_facts("pump")
            assert hit.components.confirmations == pytest.approx(0.2)
            assert len(await ada.get_all_facts()) == 1

            await bo.retract_fact(kept.id)
            assert await found(bo, Query("pump", with_superseded=True)) == await bo.get_all_facts() == []
            assert await found(ada, "pump") == [RED]

    run(whole())


def test_a_superseded_fact_leaves_the_hive_and_comes_back_when_the_newer_one_is_taken_back():
    home = SharedHome()

    async def whole() -> None:
        async with home.memory() as memory:
            old = await memory.store_fact("pump", RED)
            new = await memory.supersede(old.id, said(BLUE), "otto")
            assert home.hive.contents == {BLUE}
            assert "retract:superseded" in home.hive.calls
            assert set(await found(memory, Query("pump", with_superseded=True))) == {RED, BLUE}

            await memory.retract_fact(new.id)
            assert home.hive.contents == {RED}
            assert (await memory.get_fact(old.id)).sharing is Sharing.SHARED

    run(whole())


def test_each_source_of_a_fact_is_told_to_the_hive_once():
    home = SharedHome()

    async def whole() -> None:
        async with home.memory() as memory:
            for source in ("ines", "otto", "ines", "otto"):
                fact = await memory.store_fact("pump", RED, source=source)

            assert home.hive.roots(RED) == {"ines", "otto"} == set(fact.offered)
            assert home.hive.calls.count("promote") == 2

    run(whole())


def test_what_the_gate_holds_back_is_found_at_home_only_and_says_why():
    ada_home, bo_home = two(hive := SmallHive())

    async def whole() -> None:
        async with ada_home.memory() as ada, bo_home.memory() as bo:
            kept = await ada.store_fact("mail", "The e-mail of Ines is ines@example.org")
            assert kept.held_back == "its text holds an e-mail address"
            assert await found(ada, "e-mail of Ines") == [kept.content]
            assert await ada.search_by_concept("mail") == [kept]
            assert await found(bo, "e-mail of Ines") == []
        async with ada_home.memory() as ada:
            assert (await ada.get_fact(kept.id)).held_back == kept.held_back
            assert "promote" not in hive.calls

    run(whole())


def test_more_evidence_opens_the_gate():
    home = SharedHome()

    async def whole() -> None:
        async with home.memory() as memory:
            doubtful = await memory.store_fact("pump", RED, 0.1, source="ines")
            assert "below" in doubtful.held_back

            sure = await memory.store_fact("pump", RED, 0.9, source="otto")
            assert (sure.held_back, sure.sharing) == ("", Sharing.SHARED)
            assert home.hive.roots(RED) == {"ines", "otto"}

    run(whole())


def test_what_is_stored_for_the_agent_alone_never_leaves_until_it_is_stored_for_all():
    home = SharedHome(gate=OPEN)

    async def whole() -> None:
        async with home.memory() as memory:
            kept = await memory.local_store_fact("pump", RED)
            await memory.store_fact("door", "The door is blue.")
            await memory.settle()
            assert kept.held_back == KEPT_HOME
        async with home.memory() as memory:
            assert await found(memory, "pump", 1) == [RED]
            assert home.hive.contents == {"The door is blue."}

            await memory.store_fact("pump", RED)
            assert RED in home.hive.contents

    run(whole())


def test_while_the_hive_is_away_facts_are_kept_and_told_with_the_next_write(caplog):
    home = SharedHome()

    async def whole() -> None:
        async with home.memory() as memory:
            home.hive.failure = AWAY
            for text in (RED, BLUE):
                await memory.store_fact("pump", text)
            assert await states(memory) == {RED: Sharing.PROPOSED, BLUE: Sharing.PROPOSED}
            assert len([line for line in warnings_in(caplog) if "told" in line]) == 1
            assert set(await found(memory, "pump")) == {RED, BLUE}
            assert memory.completeness == 0.0

            home.hive.failure = None
            await memory.store_fact("door", "The door is green.")
            assert home.hive.contents == {RED, BLUE, "The door is green."}
            assert set((await states(memory)).values()) == {Sharing.SHARED}
            assert len(await found(memory, "the pump and the door")) == 3
            assert memory.completeness == 1.0

    run(whole())


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", ["promote", "retract"])
def test_what_a_kill_interrupts_is_done_on_waking_and_nothing_is_there_twice(moment: str, step: str):
    home = SharedHome()

    def kill(call: str) -> None:
        if call == step:
            setattr(home.hive, moment, lambda _: None)
            raise Killed

    async def whole() -> None:
        memory = home.memory()
        if step == "promote":
            setattr(home.hive, moment, kill)
            with pytest.raises(Killed):
                await memory.store_fact("pump", RED)
        else:
            old = await memory.store_fact("pump", RED)
            setattr(home.hive, moment, kill)
            with pytest.raises(Killed):
                await memory.supersede(old.id, said(BLUE), "otto")
        await memory.close()

        expected = RED if step == "promote" else BLUE
        async with home.memory() as again:
            assert home.hive.contents == {expected}
            assert await states(again) == {expected: Sharing.SHARED}
            assert await found(again, "pump") == [expected]
            calls = len(home.hive.calls)
            await again.settle()
            assert len(home.hive.calls) == calls, "there is nothing left to tell"

    run(whole())


@pytest.mark.parametrize("step", range(12))
def test_a_store_that_fails_between_two_steps_leaves_what_waking_completes(step: int):
    home = SharedHome()

    async def whole() -> None:
        memory = home.memory()
        first = await memory.store_fact("pump", RED)
        write, left = home.stores[-1].write, [step]

        async def failing(changes) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            await write(changes)

        home.stores[-1].write = failing
        try:
            await memory.supersede(first.id, said(BLUE), "otto")
            await memory.retract_fact(first.id)
            await memory.store_fact("pump", RED, source="zoe")
        except Killed:
            pass
        home.stores[-1].write = write
        async with home.memory() as again:
            current = {fact.content for fact in await again.local_get_all_facts()}
            assert home.hive.contents == current == set(await found(again, "pump"))
            assert all(set(fact.sources) == home.hive.roots(fact.content) for fact in await again.local_get_all_facts())
            assert {fact.sharing for fact in await again.local_get_all_facts()} == {Sharing.SHARED}

    run(whole())


def test_a_retraction_the_hive_did_not_hear_of_is_told_on_waking_also_when_somebody_else_says_it_again():
    home = SharedHome()

    async def whole() -> None:
        async with home.memory() as memory:
            red = await memory.store_fact("pump", RED, source="ines")
            blue = await memory.store_fact("pump", BLUE, source="ines")
            home.hive.failure = AWAY
            await memory.retract_fact(red.id)
            await memory.retract_fact(blue.id)
            await memory.store_fact("pump", BLUE, source="otto")
            assert home.hive.contents == {RED, BLUE}
        home.hive.failure = None
        async with home.memory() as memory:
            assert home.hive.contents == {BLUE}
            assert home.hive.roots(BLUE) == {"otto"}
            assert await found(memory, "pump") == [BLUE]

    run(whole())


def test_a_write_given_up_while_the_hive_is_told_is_told_with_the_next_one():
    home = SharedHome()

    class Slow(SmallHive):
        async def promote(self, promotions):
            await gate.wait()
            return await super().promote(promotions)

    async def whole() -> None:
        async with home.memory() as memory:
            task = asyncio.create_task(memory.store_fact("pump", RED))
            for _ in range(30):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert hive.contents == set()

            gate.set()
            await memory.store_fact("pump", BLUE)
            assert hive.contents == {RED, BLUE}

    gate = asyncio.Event()
    home.hive = hive = Slow()
    run(whole())


def test_what_the_hive_refuses_stays_home_with_its_reason_and_is_offered_again_on_waking():
    home = SharedHome()

    async def whole() -> None:
        async with home.memory() as memory:
            home.hive.refusal = "its agent has shared too much today"
            kept = await memory.store_fact("pump", RED)
            assert (kept.sharing, kept.held_back, kept.offered) == (Sharing.PRIVATE, home.hive.refusal, ())
            assert await found(memory, "pump") == [RED]
        home.hive.refusal = ""
        async with home.memory() as memory:
            assert (await memory.get_fact(kept.id)).sharing is Sharing.SHARED

    run(whole())


def test_a_fact_is_held_until_a_node_that_others_ask_has_it():
    home = SharedHome()
    home.hive.reaches_others = False

    async def whole() -> None:
        async with home.memory() as memory:
            red, blue = await memory.store_facts([said(RED), said(BLUE)], "ines")
            assert red.sharing is blue.sharing is Sharing.HELD
            assert sorted(await found(memory, "pump")) == [BLUE, RED], "each once, though the hive has it too"
            await memory.store_fact("pump", RED, source="otto")
            assert (await memory.search_facts("red pump"))[0].components.confirmations == pytest.approx(0.2)

            await memory.on_shared([red.id, "0" * 32])
            assert await states(memory) == {RED: Sharing.SHARED, BLUE: Sharing.HELD}
            home.hive.reaches_others = True
            await memory.settle()
            assert await states(memory) == {RED: Sharing.SHARED, BLUE: Sharing.SHARED}

    run(whole())


def test_a_receipt_that_is_quicker_than_the_disk_is_not_lost():
    home = SharedHome()
    home.hive.reaches_others = False

    async def whole() -> None:
        async with home.memory() as memory:
            promote, told = home.hive.promote, []

            async def promote_and_hear(promotions):
                held = await promote(promotions)
                told.append(asyncio.ensure_future(memory.on_shared([fact_id(RED)])))
                await asyncio.wait(told)
                return held

            home.hive.promote = promote_and_hear
            await memory.store_fact("pump", RED)
            await asyncio.gather(*told)

            assert await states(memory) == {RED: Sharing.SHARED}

    run(whole())


def test_a_partial_answer_says_so_once_and_holds_at_least_what_the_agent_knows_itself(caplog):
    home = SharedHome()

    class Silent(SmallHive):
        async def ask(self, probe, **options):
            nothing = await SmallHive().ask(probe, **options)
            return replace(nothing, missing=("p1",))

    async def whole() -> None:
        async with home.memory() as memory:
            await memory.store_fact("pump", RED)
            for _ in range(3):
                assert await found(memory, "pump") == [RED]
            assert memory.completeness == memory.last_gathered.completeness == 0.75
            assert [line for line in warnings_in(caplog) if "75.0 %" in line] == warnings_in(caplog)
            assert len(warnings_in(caplog)) == 1

    home.hive = Silent()
    run(whole())


def test_a_fact_shared_while_the_hive_is_asked_is_not_lost_between_the_two():
    home = SharedHome()
    memories: list[DistributedCognitiveMemory] = []

    class Late(SmallHive):
        async def ask(self, probe, **options):
            gathered = await super().ask(probe, **options)
            self.failure = None
            await memories[0].settle()
            return gathered

    async def whole() -> None:
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

    home.hive = Late()
    run(whole())


def test_a_fact_taken_back_between_being_found_and_being_fetched_leaves_its_place_to_the_next():
    ada_home, bo_home = two(hive := SmallHive())

    async def whole() -> None:
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

    run(whole())


def test_a_fact_that_does_not_arrive_is_asked_for_again_before_it_counts_as_gone():
    ada_home, bo_home = two(hive := SmallHive())
    wanted: list[Sequence[tuple[str, str]]] = []
    honest = hive.fetch

    async def lossy(asked: Sequence[tuple[str, str]]) -> Sequence[HiveFact]:
        wanted.append(asked)
        return (await honest(asked))[1:] if len(wanted) == 1 else await honest(asked)

    async def whole() -> None:
        async with ada_home.memory() as ada, bo_home.memory() as bo:
            await ada.store_facts([said(f"Pump number {n} is red.") for n in range(5)], "ines")
            before = await found(bo, "pump red", 3)
            hive.fetch = lossy
            assert await found(bo, "pump red", 3) == before
            assert [len(asked) for asked in wanted] == [3, 1]
            assert wanted[1] == [(wanted[0][0][0], "")]

    run(whole())


def test_lists_are_newest_first_and_as_long_as_asked_for():
    ada_home, bo_home = two(SmallHive())

    async def whole() -> None:
        async with ada_home.memory() as ada, bo_home.memory() as bo:
            for n in range(12):
                await (ada, bo)[n % 2].store_fact("pump", f"Pump number {n} is red.")
            await ada.store_fact("pump", "Pump number 1 is red.", source="otto")
            for limit in (1, 5, 12, None):
                assert len(await ada.get_all_facts(limit)) == min(limit or 12, 12)
                assert len({fact.id for fact in await bo.search_by_concept("pump", limit or 99)}) == min(limit or 12, 12)
            own = [fact for fact in await bo.get_all_facts() if fact.content[12] in "13579"]
            assert own == sorted(own, key=lambda fact: -fact.learned_at_us)

    run(whole())


def test_embedding_again_tells_the_hive_the_vectors_it_lacks():
    ada_home, bo_home = two(SmallHive())

    async def whole() -> None:
        async with ada_home.memory(embedder := BagOfWords()) as ada, bo_home.memory() as bo:
            embedder.failure = AWAY
            await ada.store_fact("pump", RED)
            assert await found(bo, Query("red", method="vector")) == []
            embedder.failure = None
            await ada.reembed()
            assert await found(bo, Query("red", method="vector")) == [RED]

    run(whole())


WORDS = st.lists(st.sampled_from("red blue pump door D40 hall Ines old is the".split()), min_size=2, max_size=6)
DEALT = st.lists(
    st.tuples(WORDS.map(" ".join), st.sampled_from([0.2, 0.8]), st.sampled_from("xyz"), st.integers(0, 2)), max_size=14
)
QUESTIONS = ["the red pump", "D40", "Ines", "tell me about D40", "old door in the hall", "D41", "blue"]


@settings(deadline=None, max_examples=40)
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
