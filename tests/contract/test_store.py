"""What every file of `hive_mind/store/` must do. A new back end is judged here the moment it exists."""

import asyncio
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hive_mind import backends
from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.model.fact import Fact, Relation, Sharing
from hive_mind.model.ids import fact_id
from hive_mind.store import AddEntity, AddEpisode, AddFact, Change, DropVectors, FactStore, Link, PutVector, ReviseFact, SetMeta
from tests.contract.store_builders import all_facts, all_vectors, episode, fact, facts, vector
from tests.loops import InLoop, opened

FULL = fact(
    "Ada wrote it in 1843.",
    sources=("letter", "biography"),
    said_at="1843-10",
    speaker="Ada",
    before="Who wrote it?",
    entities=("Ada", "Analytical Engine"),
    labels=("history",),
    sharing=Sharing.HELD,
    superseded_by="f" * 32,
    confidence=0.123456789,
    learned_at_us=-5,
)


@pytest.fixture(params=backends.known("store"))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> InLoop:
    return InLoop(lambda: opened("store", request.param, tmp_path / "facts.sqlite"))


async def test_a_fact_comes_back_as_it_was_written(store: FactStore) -> None:
    await store.write([AddFact(FULL), AddFact(fact())])
    assert await all_facts(store) == [FULL, fact()]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "naïve café",
        "שלום עולם",
        "日本語",
        "🐝🧠",
        "a\0b",
        "'; MATCH (m) DETACH DELETE m; //",
        '{"$id": 1}',
        "\\'\"`$x",
        "long " * 200_000,
    ],
    ids=lambda text: text[:12].encode("unicode_escape").decode(),
)
async def test_any_text_is_kept_as_it_is_and_never_parsed(text: str, store: FactStore) -> None:
    texts = {"content": text, "concept": text[:50], "speaker": text[:50]}
    odd = replace(FULL, id=fact_id(text), sources=(text[:50], "b"), entities=(text[:50],), **texts)

    await store.write([AddFact(odd), AddEpisode(episode(text)), SetMeta("note", text), AddEntity("e", text)])

    assert await all_facts(store) == [odd]
    assert await store.episodes([episode(text).id]) == {episode(text).id: episode(text)}
    assert await store.meta() == {"note": text}


async def test_facts_come_in_the_order_they_were_added(store: FactStore) -> None:
    some = facts(300)

    for start in (0, 1, 2, 3, 50, 299):
        await store.write([AddFact(f) for f in some[start : {0: 1, 1: 2, 2: 3, 3: 50, 50: 299, 299: 300}[start]]])
    await store.write([ReviseFact(replace(some[0], confidence=0.1))])

    assert [f.content for f in await all_facts(store)] == [f.content for f in some]


async def test_a_revision_replaces_all_but_id_and_content_also_in_one_write(store: FactStore) -> None:
    revised = replace(FULL, id=fact().id, content="Something else.")
    await store.write([AddFact(fact())])
    await store.write([ReviseFact(revised)])
    assert await all_facts(store) == [replace(revised, content=fact().content)]
    await store.write([AddFact(fact("New.")), ReviseFact(fact("New.", sharing=Sharing.SHARED))])
    assert (await all_facts(store))[1:] == [fact("New.", sharing=Sharing.SHARED)]


@pytest.mark.parametrize(
    "bad",
    [
        AddFact(fact()),
        ReviseFact(fact("Nobody knows this.")),
        Link(Relation.SUPERSEDES, fact().id, "absent"),
        Link(Relation.MENTIONS, "absent", fact().id),
        AddFact(fact("half a pair \ud800")),
        AddFact(fact("x", labels=("\udfff",))),
        AddFact(fact("x", confidence=float("nan"))),
        AddFact(fact("x", confidence=8100.0)),
        AddFact(fact("x", learned_at_us=1 << 63)),
        AddEpisode(episode("\ud800")),
        AddEntity("e", "\ud800"),
        SetMeta("k", "\ud800"),
        PutVector("m", "k", np.array([1.0, np.nan], np.float32)),
        PutVector("m", "k", np.array([1.0, -np.inf], np.float32)),
        PutVector("m", "k", np.array([1.0, 70000.0], np.float32)),
        PutVector("m", "k", np.zeros((2, 2), np.float32)),
        PutVector("m", "k", np.zeros(0, np.float32)),
        PutVector("", "k", np.ones(2, np.float32)),
    ],
    ids=lambda bad: type(bad).__name__,
)
async def test_a_write_with_one_bad_change_changes_nothing(bad: Change, store: FactStore) -> None:
    await store.write([AddFact(fact())])

    with pytest.raises(InvalidInput):
        await store.write([AddFact(fact("New.")), SetMeta("a", "b"), PutVector("m", "good", vector(1)), bad])

    assert await all_facts(store) == [fact()]
    assert await store.meta() == {}
    assert await store.counts() == {"facts": 1, "episodes": 0, "entities": 0, "vectors": 0}
    await store.write([AddFact(fact("The store goes on."))])


async def test_an_episode_or_entity_added_again_is_kept_once_as_it_was(store: FactStore) -> None:
    again = episode(title="Another title")
    await store.write([AddEpisode(episode()), AddEpisode(again), AddEntity("e", "Ada")])
    await store.write([AddEpisode(again), AddEntity("e", "ADA")])
    assert await store.episodes([again.id, "absent"]) == {again.id: episode()}
    assert await store.counts() == {"facts": 0, "episodes": 1, "entities": 1, "vectors": 0}


async def test_the_same_edge_twice_is_one_edge_seen_from_both_ends(store: FactStore) -> None:
    mentions = [Link(Relation.MENTIONS, fact().id, f"e{n}") for n in range(11)]
    entities = [AddEntity(f"e{n}", f"Entity {n}") for n in range(11)]
    derives = Link(Relation.DERIVES_FROM, fact().id, episode().id)

    await store.write([derives, *mentions, *mentions, *entities, AddFact(fact()), AddEpisode(episode())])
    await store.write([derives, *mentions])

    assert sorted(await store.linked(Relation.MENTIONS, fact().id)) == sorted(link.to_id for link in mentions)
    assert await store.linked(Relation.MENTIONS, "e3", backwards=True) == [fact().id]
    assert await store.linked(Relation.DERIVES_FROM, episode().id, backwards=True) == [fact().id]
    assert await store.linked(Relation.DERIVES_FROM, episode().id) == []
    assert await store.linked(Relation.SUPERSEDES, "absent") == []


async def test_every_episode_and_every_edge_can_be_listed(store: FactStore) -> None:
    episodes = [episode(f"Episode {n}.") for n in range(30)]
    links = [Link(Relation.DERIVES_FROM, fact().id, e.id) for e in episodes]
    await store.write([AddFact(fact()), *(AddEpisode(e) for e in episodes), *links])
    assert [e async for batch in store.all_episodes() for e in batch] == episodes
    assert sorted([x.to_id async for batch in store.links() for x in batch]) == sorted(e.id for e in episodes)


async def test_vectors_come_back_as_the_float16_that_was_kept(store: FactStore) -> None:
    rough = np.array([1 / 3, -2e-8, 65504.0], np.float32)

    await store.write(
        [PutVector("a:b", "k", vector(1)), PutVector("a", "b:k", rough), PutVector("a", "z", np.zeros(3, np.float32))]
    )

    found = await all_vectors(store, "a")
    assert found.keys() == {"b:k", "z"}
    assert found["b:k"].dtype == np.float16
    assert found["b:k"].tolist() == rough.astype(np.float16).tolist()
    assert (await all_vectors(store, "a:b"))["k"].tolist() == vector(1).tolist()
    assert await all_vectors(store, "absent") == {}


async def test_a_vector_put_again_replaces_the_first(store: FactStore) -> None:
    await store.write([PutVector("m", "k", vector(1)), PutVector("m", "other", vector(3))])
    await store.write([PutVector("m", "new", vector(4)), PutVector("m", "k", vector(2))])

    found = await all_vectors(store, "m")
    assert {key: v.tolist() for key, v in found.items()} == {
        "k": vector(2).tolist(),
        "other": vector(3).tolist(),
        "new": vector(4).tolist(),
    }


async def test_dropping_vectors_forgets_one_model_and_it_may_come_back(store: FactStore) -> None:
    await store.write([PutVector("old", f"k{n}", vector(n)) for n in range(20)] + [PutVector("new", "k", vector(1))])
    await store.write([PutVector("old", "x", vector(1)), DropVectors("old"), PutVector("old", "k3", vector(99))])
    assert {key: v.tolist() for key, v in (await all_vectors(store, "old")).items()} == {"k3": vector(99).tolist()}
    assert (await all_vectors(store, "new")).keys() == {"k"}
    assert (await store.counts())["vectors"] == 2


async def test_named_values_and_what_is_put_aside_are_kept_and_replaced_and_an_empty_write_is_nothing(store: FactStore) -> None:
    await store.write([])
    await store.write([SetMeta("model", "a"), SetMeta("model", "b"), SetMeta("schema:version", "mine")])
    await store.write([SetMeta("model", "c")])
    assert await store.meta() == {"model": "c", "schema:version": "mine"}
    assert await store.aside() == b""
    await store.put_aside(b"first")
    await store.put_aside(b"second \x00")
    assert await store.aside() == b"second \x00"
    assert await all_facts(store) == []
    assert await store.counts() == {"facts": 0, "episodes": 0, "entities": 0, "vectors": 0}


async def test_one_bad_write_among_many_fails_alone(store: FactStore) -> None:
    good = [AddFact(f) for f in facts(60)]
    bad = [
        Link(Relation.SUPERSEDES, "absent", "absent"),
        AddFact(fact("Number 7 again.", id=good[7].fact.id)),
        ReviseFact(fact("Unknown.")),
    ]

    changes: list[Change] = [*good[:20], bad[0], *good[20:40], bad[1], *good[40:], bad[2]]
    results = await asyncio.gather(*(store.write([change]) for change in changes), return_exceptions=True)

    assert [type(r) for c, r in zip(changes, results, strict=True) if c in bad] == [InvalidInput] * 3
    assert [r for c, r in zip(changes, results, strict=True) if c not in bad] == [None] * 60
    assert await all_facts(store) == [change.fact for change in good]


async def test_a_writer_who_stops_waiting_leaves_a_whole_write_or_none(store: FactStore) -> None:
    groups = [facts(10, f"Writer {n}") for n in range(20)]
    tasks = [asyncio.create_task(store.write([AddFact(f) for f in group])) for group in groups]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    kept = {f.id for f in await all_facts(store)}
    for number, group in enumerate(groups):
        here = [f.id in kept for f in group]
        assert all(here) if number % 2 or any(here) else not any(here)


async def test_reading_goes_on_while_others_write(store: FactStore) -> None:
    first = facts(2500)
    await store.write([AddFact(f) for f in first])
    seen: list[Fact] = []
    async for batch in store.facts():
        seen += batch
        await store.write([AddFact(fact(f"Written after {len(seen)}."))])

    assert seen[:2500] == first
    assert len({f.id for f in seen}) == len(seen)


async def test_tidying_changes_nothing_that_is_kept_and_disturbs_no_write(store: FactStore) -> None:
    await store.tidy()
    await store.write([AddFact(FULL), PutVector("model", "key", vector(1))])
    writes = [asyncio.create_task(store.write([AddFact(f)])) for f in facts(40)]
    await asyncio.gather(store.tidy(), *writes, store.tidy())
    await store.write([AddFact(fact("Said last."))])
    await store.tidy()

    assert await all_facts(store) == [FULL, *facts(40), fact("Said last.")]
    assert list(await all_vectors(store, "model")) == ["key"]
    await store.close()
    with pytest.raises(BackendUnavailable, match="closed"):
        await store.tidy()


async def test_closing_finishes_what_was_handed_in_and_leaves_no_thread(store: FactStore) -> None:
    before = threading.active_count()

    writes = [asyncio.create_task(store.write([AddFact(f)])) for f in facts(40)]
    await asyncio.sleep(0)
    await asyncio.gather(store.close(), store.close())
    await store.close()

    assert await asyncio.gather(*writes) == [None] * 40
    assert threading.active_count() <= before
    with pytest.raises(BackendUnavailable, match="closed"):
        await store.write([AddFact(fact())])
    with pytest.raises(BackendUnavailable, match="closed"):
        await store.counts()
