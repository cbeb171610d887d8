"""A concept with very many facts: what a listing does is bounded for each fact, and for each turn. Counts work, not time."""

from random import Random

import pytest

from hive_mind.hive import replica as replica_module
from hive_mind.hive.query.listing import FACTS_MAX
from hive_mind.hive.trust import contradiction
from hive_mind.hive.trust.contradiction import COMPARED_MAX, Concepts
from hive_mind.model.evidence import Statement
from hive_mind.model.messages import ListReply
from tests.hives import Hive, flat


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often two statements are compared."""
    times, excludes = [0], contradiction._may

    def counting(*words: object) -> bool:
        times[0] += 1
        return excludes(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(contradiction, "_may", counting)
    return times


@pytest.mark.parametrize("nodes", [("n0",), ("n0", "n1")])
def test_a_listing_of_one_concept_is_complete_page_by_page_and_compares_each_fact_with_a_few(
    nodes: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    hive = Hive(flat(*nodes))
    contents = [f"Pump {number} shows {number * 7 % 1000} bar." for number in range(3 * FACTS_MAX + 5)]
    for start in range(0, len(contents), 200):
        hive.say("n0", *contents[start : start + 200], concept="pump")
    pages: list[int] = []
    answer = type(hive.nodes["n0"].questions).answer

    def seen(self: object, request: object, at: object) -> object:
        reply = answer(self, request, at)  # type: ignore[arg-type]
        if isinstance(reply, ListReply):
            pages.append(len(reply.facts))
        return reply

    monkeypatch.setattr(type(hive.nodes["n0"].questions), "answer", seen)
    compared = counted(monkeypatch)

    listed = hive.listed("n0", "pump", limit=1 << 31)

    assert {fact.content for fact in listed.facts} == set(contents)
    assert not listed.missing
    assert max(pages) <= FACTS_MAX
    # Each page looks at one more than it gives, to know whether there is more.
    assert 0 < compared[0] <= (len(contents) + len(pages)) * COMPARED_MAX


def test_a_page_does_not_put_everything_in_order_again(monkeypatch: pytest.MonkeyPatch) -> None:
    hive = Hive(flat("n0"))
    for start in range(0, 4 * FACTS_MAX, 256):
        hive.say("n0", *[f"Hall {number} is clean." for number in range(start, start + 256)], concept="hall")
    made: list[str] = []
    order_of = replica_module._Order
    monkeypatch.setattr(replica_module, "_Order", lambda concept, places: made.append(concept) or order_of(concept, places))

    assert len(hive.listed("n0", "hall", limit=1 << 31).facts) == 4 * FACTS_MAX
    assert made == ["hall"]
    hive.say("n0", "Hall 0 is dirty.", concept="hall")
    assert hive.listed("n0", "hall", limit=1).facts[0].content == "Hall 0 is dirty."
    assert made == ["hall", "hall"]


def test_the_first_of_a_concept_are_those_with_the_smallest_ids_whatever_came_and_went() -> None:
    chance = Random(3)
    concepts, ids = Concepts(), set[str]()
    for _ in range(4_000):
        id = f"{chance.randrange(600):04d}"
        if id in ids and chance.random() < 0.6:
            concepts.remove(id, "Pump")
            ids.discard(id)
        else:
            concepts.add(id, "pump")
            ids.add(id)
        assert concepts._first.get("pump", [])[: COMPARED_MAX + 1] == sorted(ids)[: COMPARED_MAX + 1]


def test_rivals_are_those_that_conflict() -> None:
    concepts = Concepts()
    said = {
        id: Statement(text, "pump")
        for id, text in [("a", "The pump shows 3 bar."), ("b", "The pump shows 5 bar."), ("c", "Pump it.")]
    }
    for id in said:
        concepts.add(id, "pump")
    wanted = {id: [o for o in said if o != id and contradiction.conflicts(said[id], said[o])] for id in said}
    assert {id: concepts.rivals(id, said[id], said.__getitem__) for id in said} == wanted
    assert wanted["a"] == ["b"]
