"""An agent's memory with a hive that is away or refuses, or killed between two steps: nothing is lost on the way."""

import asyncio

import pytest

from hive_mind.model.fact import Sharing
from hive_mind.model.ids import fact_id
from tests.builders import found, said
from tests.unit.memory.hives import AWAY, BLUE, RED, SharedHome, SmallHive, states, warnings_in


async def test_while_the_hive_is_away_facts_are_kept_and_told_with_the_next_write(caplog):
    home = SharedHome()

    async with home.memory() as memory:
        home.hive.failure = AWAY
        for text in (RED, BLUE):
            await memory.store_fact("pump", text)
        assert await states(memory) == {RED: Sharing.PROPOSED, BLUE: Sharing.PROPOSED}
        assert len([line for line in warnings_in(caplog) if "sent" in line]) == 1
        assert set(await found(memory, "pump")) == {RED, BLUE}
        assert memory.completeness == 0.0

        home.hive.failure = None
        await memory.store_fact("door", "The door is green.")
        assert home.hive.contents == {RED, BLUE, "The door is green."}
        assert set((await states(memory)).values()) == {Sharing.SHARED}
        assert len(await found(memory, "the pump and the door")) == 3
        assert memory.completeness == 1.0


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", ["promote", "retract"])
async def test_what_a_kill_interrupts_is_done_on_waking_and_nothing_is_there_twice(moment: str, step: str):
    home = SharedHome()

    def kill(call: str) -> None:
        if call == step:
            setattr(home.hive, moment, lambda _: None)
            raise Killed

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


@pytest.mark.parametrize("step", range(12))
async def test_a_store_that_fails_between_two_steps_leaves_what_waking_completes(step: int):
    home = SharedHome()

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


async def test_a_retraction_the_hive_did_not_hear_of_is_told_on_waking_also_when_somebody_else_says_it_again():
    home = SharedHome()

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


async def test_a_write_given_up_while_the_hive_is_told_is_told_with_the_next_one():
    home = SharedHome()

    class Slow(SmallHive):
        async def promote(self, promotions):
            await gate.wait()
            return await super().promote(promotions)

    gate = asyncio.Event()
    home.hive = hive = Slow()
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


async def test_what_the_hive_refuses_stays_home_with_its_reason_and_is_offered_again_on_waking():
    home = SharedHome()

    async with home.memory() as memory:
        home.hive.refusal = "its agent has shared too much today"
        kept = await memory.store_fact("pump", RED)
        assert (kept.sharing, kept.held_back, kept.offered) == (Sharing.PRIVATE, home.hive.refusal, ())
        assert await found(memory, "pump") == [RED]
    home.hive.refusal = ""
    async with home.memory() as memory:
        assert (await memory.get_fact(kept.id)).sharing is Sharing.SHARED


async def test_a_fact_is_held_until_a_node_that_others_ask_has_it():
    home = SharedHome()
    home.hive.reaches_others = False

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


async def test_a_receipt_that_is_quicker_than_the_disk_is_not_lost():
    home = SharedHome()
    home.hive.reaches_others = False

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
