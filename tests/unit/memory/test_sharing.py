"""How far a fact goes: every step, and what is written down of it."""

import json

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.hive.effects import Held
from hive_mind.memory.intake import confirmed, retracting
from hive_mind.memory.sharing import answered, fact_of, is_due, is_too_much, promotions_of, proposed, roots_to_offer, taken_back
from hive_mind.memory.transfer import read_records
from hive_mind.model.evidence import HiveFact, Provenance, Stamp
from hive_mind.model.fact import KEPT_HOME, Sharing
from tests.builders import Home, fact, lines_of

NEW = fact(sources=("ines", "otto"))
PROPOSED = proposed(NEW, NEW.sources)
SHARED = answered(PROPOSED, [Held(NEW.id, is_shared=True), Held(NEW.id, is_shared=True)])


def test_a_fact_goes_out_step_by_step_and_is_due_until_the_hive_has_it():
    held = answered(PROPOSED, [Held(NEW.id, is_shared=True), Held(NEW.id)])

    assert [f.sharing for f in (PROPOSED, held, SHARED)] == [Sharing.PROPOSED, Sharing.HELD, Sharing.SHARED]
    assert [is_due(f) for f in (NEW, PROPOSED, held, SHARED)] == [True, True, False, False]
    assert [roots_to_offer(f) for f in (NEW, held, SHARED)] == [("ines", "otto"), ("ines", "otto"), ()]


@pytest.mark.parametrize(
    ("now", "refusals"),
    [
        (retracting(SHARED, []).facts[0], {}),
        (fact(sources=SHARED.sources, offered=SHARED.offered, sharing=Sharing.SHARED, superseded_by="f" * 32), {}),
        (SHARED, {SHARED.id: "its text is small talk"}),
        (confirmed(retracting(SHARED, []).facts[0], fact(sources=("zoe",))), {SHARED.id: ""}),
    ],
    ids=["retracted", "superseded", "no longer let through", "said again by another after a retraction"],
)
def test_what_should_not_be_in_the_hive_is_taken_back(now, refusals):
    assert is_too_much(now, refusals)
    assert not is_too_much(taken_back(now), refusals)
    assert taken_back(now).sharing is (Sharing.RETRACTED if now.is_retracted else Sharing.PRIVATE)


def test_an_answer_that_comes_after_the_fact_was_taken_back_does_not_bring_it_back():
    gone = retracting(PROPOSED, []).facts[0]

    assert answered(gone, [Held(NEW.id, is_shared=True)]) == gone
    assert is_due(gone)


def test_another_source_makes_a_shared_fact_due_again():
    again = confirmed(SHARED, fact(sources=("zoe",)))

    assert is_due(again)
    assert not is_too_much(again, {again.id: ""})
    assert proposed(again, again.sources).offered == ("ines", "otto", "zoe")


def test_only_being_stored_for_all_releases_what_was_stored_for_the_agent_alone():
    alone = fact(held_back=KEPT_HOME)

    assert confirmed(alone, fact(sources=("otto",), held_back=KEPT_HOME)).held_back == KEPT_HOME
    assert confirmed(alone, alone) == alone
    assert confirmed(alone, fact()).held_back == ""


def test_what_travels_comes_out_as_it_went_in():
    sent = fact(before="Which?", speaker="Ines", said_at="2023", entities=("Ada",), labels=("x",), concept="pump")
    first, second = promotions_of(sent, ("ines", "otto"), "ada", "", None)
    vouched = tuple(Provenance("ada", one.root, 0.8, Stamp(5 + n)) for n, one in enumerate((first, second)))

    came = fact_of(HiveFact(sent.id, first.statement, vouched, 0.8, 1, 1.0))

    assert (came.content, came.before, came.speaker, came.said_at) == (sent.content, "Which?", "Ines", "2023")
    assert (came.entities, came.labels, came.concept) == (("Ada",), ("x",), "pump")
    assert (came.sources, came.learned_at_us, came.sharing) == (("ines", "otto"), 5_000, Sharing.SHARED)


async def test_lines_say_why_a_fact_stayed_home_and_not_what_a_hive_was_told():
    line = {"type": "fact", "content": "The pump is red.", "confidence": 0.8, "sources": ["ines"], "learned_at_us": 5}

    (older,) = read_records([json.dumps(line)]).facts
    (newer,) = read_records([json.dumps(line | {"held_back": "its text is small talk"})]).facts
    assert (older.held_back, newer.held_back) == ("", "its text is small talk")
    with pytest.raises(InvalidInput, match="offered"):
        read_records([json.dumps(line | {"offered": ["ines"]})])

    async with Home().memory() as memory:
        kept = await memory.store_fact("pump", "The pump is red.")
        async with memory.awake() as awake:
            await memory.revise(awake, [kept.id], lambda one: proposed(one, one.sources))
        assert (await memory.get_fact(kept.id)).sharing is Sharing.PROPOSED
        assert "offered" not in (await lines_of(memory))[0]
        assert "sharing" not in (await lines_of(memory))[0]
