"""What a graph answers, compared with the same questions answered from the record by hand."""

import asyncio
import random
import sqlite3
from collections import deque
from contextlib import closing
from itertools import pairwise

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.model.ids import entity_id, fact_id
from hive_mind.store import AddEpisode, AddFact, Link
from hive_mind.store.graph import Edge, Graph, Thing
from tests.chance import seed_of_this_run
from tests.unit.store.graph_builders import DERIVES, MENTIONS, REPLACES, a_fact, an_episode, facts, mentions, named, pump, written

COOLS, SEALED, OLD = (Thing("Fact", fact_id(content), content, "current") for content in ("cools", "sealed", "old seal"))
PUMP, INES = Thing("Entity", entity_id("Pump D4"), "Pump D4"), Thing("Entity", entity_id("Ines"), "Ines")
NOTES = Thing("Episode", "e1", "Notes")


def asked(folder, changes, ask):
    async def run():
        async with Graph(await written(folder, changes)) as graph:
            return await ask(graph)

    return asyncio.run(run())


def test_around_a_fact_lie_its_episode_its_entities_and_what_it_replaced(tmp_path):
    found = asked(tmp_path, pump(), lambda graph: graph.neighbourhood(SEALED.id))

    assert (found.centre, set(found.things)) == (SEALED, {SEALED, NOTES, PUMP, INES, OLD})
    assert set(found.edges) == {
        Edge("DERIVES_FROM", SEALED.id, "e1"),
        Edge("MENTIONS", SEALED.id, PUMP.id),
        Edge("MENTIONS", SEALED.id, INES.id),
        Edge("SUPERSEDES", SEALED.id, OLD.id),
    }


def test_an_entity_is_found_by_its_name_in_any_letter_case_and_a_fact_by_the_beginning_of_its_id(tmp_path):
    async def ask(graph):
        return [(await graph.neighbourhood(name)).centre for name in ("pump  d4", SEALED.id[:8], "e1")]

    assert asked(tmp_path, pump(), ask) == [PUMP, SEALED, NOTES]


def test_what_is_not_there_is_refused_with_a_word_on_what_to_give(tmp_path):
    with pytest.raises(InvalidInput, match="no 'Pump D5': give the name of an entity"):
        asked(tmp_path, pump(), lambda graph: graph.neighbourhood("Pump D5"))


def test_a_limit_cuts_a_neighbourhood_and_says_so(tmp_path):
    changes = [named("hub"), *(change for n in range(30) for change in (*facts(f"f{n}"), *mentions(f"f{n}", "hub")))]
    found = asked(tmp_path, changes, lambda graph: graph.neighbourhood("hub", limit=10))
    assert (len(found.things), found.is_cut) == (11, True)


def test_a_path_between_two_entities_goes_through_the_fact_that_names_both(tmp_path):
    (path,) = asked(tmp_path, pump(), lambda graph: graph.path("Ines", "Pump D4"))
    assert path.things == (INES, SEALED, PUMP)
    assert path.edges == (Edge("MENTIONS", SEALED.id, INES.id), Edge("MENTIONS", SEALED.id, PUMP.id))


def test_a_damaged_fact_is_in_no_answer_and_no_path_leads_over_it(tmp_path):
    record = asyncio.run(written(tmp_path, pump()))
    with closing(sqlite3.connect(record, isolation_level=None)) as connection:
        change = "UPDATE node SET body = CAST(replace(CAST(body AS TEXT), 'sealed', 'seeled') AS BLOB) WHERE id = ?"
        assert connection.execute(change, (SEALED.id,)).rowcount == 1

    async def ask():
        async with Graph(record) as graph:
            return await graph.neighbourhood("Pump D4", depth=2), await graph.path("Ines", "Pump D4")

    around, paths = asyncio.run(ask())

    assert set(around.things) == {PUMP, COOLS, NOTES}
    assert all(SEALED.id not in (edge.from_id, edge.to_id) for edge in around.edges)
    assert paths == ()


def test_what_derives_from_an_episode_or_a_source_and_what_a_fact_derives_from(tmp_path):
    async def ask(graph):
        return [await graph.derived_from("e1"), await graph.derived_from("rumour"), await graph.sources_of(COOLS.id)]

    changes = [*pump(), AddFact(a_fact("heard", sources=("ines", "rumour")))]
    of_episode, of_source, sources = asked(tmp_path, changes, ask)

    assert set(of_episode) == {COOLS, SEALED}
    assert [thing.text for thing in of_source] == ["heard"]
    assert sources == (NOTES,)


def test_a_chain_of_replacements_is_told_from_any_of_its_facts_the_oldest_first(tmp_path):
    names = [f"seal {n}" for n in range(5)]
    links = [Link(REPLACES, fact_id(new), fact_id(old)) for old, new in pairwise(names)]

    async def ask(graph):
        return [[thing.text for thing in await graph.history(fact_id(name))] for name in names]

    assert asked(tmp_path, [*facts(*names), *links], ask) == [names] * 5


def test_facts_that_replace_each_other_in_a_ring_end_the_chain(tmp_path):
    links = [Link(REPLACES, fact_id("a"), fact_id("b")), Link(REPLACES, fact_id("b"), fact_id("a"))]
    assert len(asked(tmp_path, [*facts("a", "b"), *links], lambda graph: graph.history(fact_id("a")))) == 2


def test_paths_and_neighbourhoods_are_those_found_by_walking_every_edge(tmp_path):
    seed = seed_of_this_run()
    rng = random.Random(seed)
    changes, beside = drawn(rng)
    ids = sorted(beside)
    pairs = [(rng.choice(ids), rng.choice(ids)) for _ in range(60)]

    async def ask(graph):
        paths = [await graph.path(start, end, max_length=longest) for longest in (4, 3, 6, 1) for start, end in pairs]
        around = [await graph.neighbourhood(start, depth=2, limit=1000) for start, _ in pairs[:20]]
        return paths, around

    paths, around = asked(tmp_path, changes, ask)

    for number, found in enumerate(paths):
        longest, (start, end) = (4, 3, 6, 1)[number // len(pairs)], pairs[number % len(pairs)]
        distance = distances(beside, start).get(end, 99)
        assert (len(found) > 0) == (distance <= longest), (seed, start, end, longest, distance)
        assert len(set(found)) == len(found)
        for path in found:
            assert (path.things[0].id, path.things[-1].id, len(path.edges)) == (start, end, distance)
            for edge, one, other in zip(path.edges, path.things, path.things[1:], strict=False):
                assert {edge.from_id, edge.to_id} == {one.id, other.id}
                assert edge.to_id in beside[edge.from_id]
    for (start, _), found in zip(pairs, around, strict=False):
        assert {thing.id for thing in found.things} == {id for id, far in distances(beside, start).items() if far <= 2}, seed


def drawn(rng: random.Random):
    """Forty facts, eight episodes, twelve entities and edges among them; who is beside whom."""
    contents = [f"f{n}" for n in range(40)]
    episodes, names = [f"e{n}" for n in range(8)], [f"n{n}" for n in range(12)]
    links = {(DERIVES, fact_id(content), rng.choice(episodes)) for content in contents if rng.random() < 0.5}
    links |= {(MENTIONS, fact_id(rng.choice(contents)), entity_id(rng.choice(names))) for _ in range(40)}
    links |= {(REPLACES, fact_id(rng.choice(contents)), fact_id(rng.choice(contents))) for _ in range(8)}
    ids = [*map(fact_id, contents), *episodes, *map(entity_id, names)]
    beside = {id: {end for _, start, end in links if start == id} | {start for _, start, end in links if end == id} for id in ids}
    things = [*facts(*contents), *(AddEpisode(an_episode(id)) for id in episodes), *map(named, names)]
    return [*things, *(Link(*link) for link in sorted(links))], beside


def distances(beside: dict[str, set[str]], start: str) -> dict[str, int]:
    found, waiting = {start: 0}, deque([start])
    while waiting:
        near = waiting.popleft()
        for id in beside[near] - found.keys():
            found[id] = found[near] + 1
            waiting.append(id)
    return found
