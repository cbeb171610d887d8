"""What an agent's memory promises, over every store there is."""

from pathlib import Path

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.aggregation import Aggregation, Kind
from hive_mind.model.content import Content
from hive_mind.model.fact import Relation
from hive_mind.model.query import Query
from tests.builders import BagOfWords, Home, found, lines_of, said
from tests.contract.fleets import ALL_HOMES, BETWEEN_PROCESSES, home_for


@pytest.fixture(params=ALL_HOMES)
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    return home_for(request.param, tmp_path)


@BETWEEN_PROCESSES
async def test_what_was_stored_is_found_at_once(memory: CognitiveMemory):
    kept = await memory.store_fact("pump", "The pump in hall 3 is red.", 0.9, source="ines", said_at="2023-05")
    (hit,) = await memory.search_facts("what colour has the pump?")
    assert hit.fact == kept == await memory.get_fact(kept.id)
    assert (kept.concept, kept.confidence, kept.sources, kept.said_at) == ("pump", 0.9, ("ines",), "2023-05")


async def test_labels_find_a_fact_whose_words_do_not(memory: CognitiveMemory):
    kept = await memory.store_fact("pump", "The pump in hall 3 is red.", labels=("hydraulics", "night shift"))
    await memory.store_fact("door", "The door is blue.")
    assert kept.labels == ("hydraulics", "night shift")
    assert [hit.fact for hit in await memory.search_facts("hydraulics", 1)] == [kept]


async def test_the_same_source_adds_nothing_and_another_one_confirms(memory: CognitiveMemory):
    first = await memory.store_fact("pump", "The pump is red.", 0.5, source="ines")
    assert await memory.store_fact("colour", " The  pump is red. ", 0.9, source="ines") == first
    again = await memory.store_fact("pump", "The pump is red.", 0.9, source="otto")
    assert (again.id, again.sources, again.confidence, again.concept) == (first.id, ("ines", "otto"), 0.9, "pump")
    assert await memory.get_all_facts() == [again]


async def test_many_statements_come_back_in_their_order_with_their_episode(memory: CognitiveMemory):
    episode = await memory.store_episode(Content("Red pump. Blue door.", "ines", "2023", "Ines", "Tour"), "A tour.")
    facts = await memory.store_facts([said("A red pump."), said("A blue door."), said("A red pump.")], "ines", episode)

    assert [fact.content for fact in facts] == ["A red pump.", "A blue door.", "A red pump."]
    assert await memory.episodes_of(facts[1].id) == [episode]
    assert (await memory.get_statistics()).facts == 2
    assert await memory.store_facts([], "ines", episode) == []


async def test_a_retracted_fact_is_found_by_id_only_until_a_source_vouches_for_it_that_never_did(memory: CognitiveMemory):
    kept = await memory.store_fact("pump", "The pump is red.", source="ines")
    taken_back = await memory.retract_fact(kept.id)

    assert taken_back.is_retracted
    assert await memory.get_fact(kept.id) == taken_back == await memory.retract_fact(kept.id)
    assert await found(memory, Query("red pump", with_superseded=True)) == await memory.get_all_facts() == []
    assert await memory.search_by_concept("pump") == []
    assert (await memory.store_fact("pump", "The pump is red.", source="ines")).is_retracted
    assert await found(memory, "pump") == []
    assert (await memory.store_fact("pump", "The pump is red.", source="otto")).is_current
    assert await found(memory, "pump") == ["The pump is red."]


@BETWEEN_PROCESSES
async def test_a_newer_statement_hides_the_older_one_except_from_who_asks_for_the_past_until_it_is_taken_back(
    memory: CognitiveMemory,
):
    old = await memory.store_fact("pump", "The pump is red.")
    new = await memory.supersede(old.id, said("The pump is blue."), "otto")

    assert await found(memory, "what colour is the pump") == ["The pump is blue."]
    assert set(await found(memory, Query("pump", with_superseded=True))) == {"The pump is red.", "The pump is blue."}
    assert await memory.get_all_facts() == await memory.search_by_concept("pump") == [new]
    assert (await memory.get_fact(old.id)).superseded_by == new.id
    assert await memory.related(new.id, Relation.SUPERSEDES) == [old.id]
    assert await memory.related(old.id, Relation.SUPERSEDES, backwards=True) == [new.id]

    await memory.retract_fact(new.id)
    await memory.sleep()
    assert await found(memory, "pump") == ["The pump is red."]
    assert (await memory.get_fact(old.id)).is_current


async def test_what_was_true_before_can_be_true_again(memory: CognitiveMemory):
    on = await memory.store_fact("light", "The light is on.")
    off = await memory.supersede(on.id, said("The light is off."), "user")
    await memory.supersede(off.id, said("The light is on."), "user")
    assert await found(memory, "light") == ["The light is on."]
    assert (await memory.get_fact(off.id)).superseded_by == on.id


@pytest.mark.parametrize("past", ["self", "absent", "retracted replacement"])
async def test_a_fact_is_not_replaced_by_what_can_not_replace_it(past: str, memory: CognitiveMemory):
    red = await memory.store_fact("pump", "The pump is red.")
    await memory.retract_fact((await memory.store_fact("pump", "The pump is blue.")).id)
    replacement = said("The pump is red." if past == "self" else "The pump is blue." if past != "absent" else "Green pump.")

    with pytest.raises(InvalidInput):
        await memory.supersede("0" * 32 if past == "absent" else red.id, replacement, "user")

    assert await memory.get_all_facts() == [red]
    assert (await memory.get_statistics()).superseded == 0


async def test_facts_that_contradict_both_stay(memory: CognitiveMemory):
    red, blue = await memory.store_facts([said("The pump is red."), said("The pump is blue.")], "ines")
    await memory.contradict(red.id, blue.id)

    assert await memory.related(red.id, Relation.CONTRADICTS) == [blue.id]
    assert len(await memory.get_all_facts()) == 2
    for wrong in (red.id, "0" * 32):
        with pytest.raises(InvalidInput):
            await memory.contradict(red.id, wrong)


@BETWEEN_PROCESSES
async def test_facts_are_found_by_concept_or_entity_newest_first(memory: CognitiveMemory):
    await memory.store_fact("Pump room", "It is in hall 3.")
    await memory.store_facts([said("Otto built it.", "history", entities=("Café Pump", "Otto", " "))], "ines")
    await memory.store_fact("door", "It is blue.")

    assert [fact.content for fact in await memory.search_by_concept("PUMP")] == ["It is in hall 3."]
    assert [fact.content for fact in await memory.search_by_concept("cafe\u0301 pump")] == ["Otto built it."]
    assert [fact.content for fact in await memory.search_by_concept("otto", 1)] == ["Otto built it."]
    newest_first = ["It is blue.", "Otto built it.", "It is in hall 3."]
    assert [fact.content for fact in await memory.get_all_facts()] == newest_first
    assert [fact.content for fact in await memory.get_all_facts(2)] == newest_first[:2]


async def test_a_fact_stored_by_hand_is_found_by_the_names_it_mentions_and_a_longer_name_is_another(memory: CognitiveMemory):
    kept = await memory.store_fact("outage", "Otto closed INC-7 at nine.")
    await memory.store_fact("outage of INC-70", "INC-70 is open.")
    assert await memory.search_by_concept("INC-7") == [kept]
    assert "INC-7" in kept.entities


@BETWEEN_PROCESSES
async def test_aggregations_are_over_all_that_holds_now(memory: CognitiveMemory):
    for month in range(1, 13):
        await memory.store_fact("Pump D4", f"Pump D4 moved {month} litres.", said_at=f"2025-{month:02}")
    await memory.store_fact("Pump D40", "Pump D40 is new.", said_at="2026-01-01")
    await memory.retract_fact((await memory.store_fact("Pump D4", "Pump D4 is gone.", said_at="2027")).id)

    async def told(kind: Kind, about: str, limit: int = 2) -> tuple[int, list[str]]:
        found = await memory.aggregate(Aggregation(kind, about, limit))
        assert found.completeness == 1.0
        return found.count, [fact.said_at for fact in found.facts]

    assert await told("count", "d4") == (12, [])
    assert await told("list", "D4", 99) == (12, [f"2025-{month:02}" for month in range(12, 0, -1)])
    assert await told("latest", "D4") == (12, ["2025-12", "2025-11"])
    assert await told("earliest", "D4") == (12, ["2025-01", "2025-02"])
    assert await told("latest", "", 1) == (13, ["2026-01-01"])
    assert await told("latest", "D5") == (0, [])
    with pytest.raises(InvalidInput, match="limit"):
        await memory.aggregate(Aggregation("list", "", 0))


async def test_statistics_count_what_is_there(memory: CognitiveMemory):
    episode = await memory.store_episode(Content("Four facts.", "ines"))
    some = [said(f"Fact {n}.", "ab"[n % 2], entities=("Ada", "Otto")) for n in range(4)]
    facts = await memory.store_facts(some, "ines", episode)
    await memory.store_facts(some[:1], "otto")
    await memory.retract_fact(facts[1].id)
    await memory.supersede(facts[2].id, said("Fact 2 is another.", "a"), "zoe")

    held = await memory.get_statistics()
    assert (held.facts, held.superseded, held.retracted, held.confirmed) == (3, 1, 1, 1)
    assert (held.episodes, held.entities, held.sources, held.vectors, held.without_vector) == (1, 2, 3, 5, 0)
    assert (held.embedding, held.dimension) == ("bag-of-words", 64)
    assert held.concepts == (("a", 2), ("b", 1))


async def test_a_least_confidence_filters_and_never_hides_what_passes(memory: CognitiveMemory):
    await memory.store_facts([said(f"pump red {n}", confidence=0.2) for n in range(150)], "ines")
    sure = await memory.store_fact("pump", "somewhere in a long sentence there is also a red pump to be seen", 0.9)
    assert [hit.fact for hit in await memory.search_facts(Query("red pump", 10, min_confidence=0.5))] == [sure]
    assert len(await memory.search_facts(Query("red pump", 400))) == 151


async def test_a_memory_that_slept_or_was_opened_again_holds_and_finds_the_same(home: Home):
    async def everything(memory: CognitiveMemory) -> object:
        hits = [await memory.search_facts(Query(text, 20, with_superseded=True)) for text in ("pump 1", "which is red", "blue")]
        return await lines_of(memory), await memory.get_statistics(), hits

    async with home.memory(BagOfWords()) as memory:
        episode = await memory.store_episode(Content("Hall 3.", "ines"))
        facts = await memory.store_facts([said(f"Pump {n} is red.", before="Which?") for n in range(9)], "ines", episode)
        await memory.retract_fact(facts[0].id)
        await memory.supersede(facts[1].id, said("Pump 1 is blue."), "otto")
        await memory.store_fact("pump", "Pump 2 is red.", source="otto")
        before = await everything(memory)
        await memory.sleep()
        assert await everything(memory) == before
        await memory.sleep()
    async with home.memory(BagOfWords()) as memory:
        assert await everything(memory) == before


async def test_what_one_kind_of_store_gives_out_another_takes_in_and_gives_out_alike(home: Home):
    async with home.memory() as memory, Home().memory() as copy:
        for episode in [await memory.store_episode(Content(f"Text {n}.", "ines")) for n in range(4)][::-1]:
            facts = await memory.store_facts([said(f"Pump {n}.", entities=("Ada",)) for n in range(5)], "ines", episode)
        for fact in facts[:-1]:
            await memory.contradict(facts[-1].id, fact.id)
        await memory.supersede(facts[2].id, said("No pump 2."), "otto")

        await copy.import_lines(await lines_of(memory))
        assert await lines_of(copy) == await lines_of(memory)
